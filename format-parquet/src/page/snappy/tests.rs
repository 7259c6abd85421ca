//! The decoder compared with the `snap` crate: the same blocks are valid and decompress to the same
//! bytes.

use vector::testing::Random;

use super::*;

/// Returns the result of the other decoder for a block that is to fill `len` bytes.
fn oracle(input: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; len];
    let found = snap::raw::Decoder::new().decompress(input, &mut out).ok()?;
    (found == len).then_some(out)
}

/// Decodes with both decoders and returns whether the block is valid.
fn same(input: &[u8], len: usize) -> bool {
    let mut out = vec![0xee; len];
    let found = decompress(input, &mut out).is_ok().then_some(out);
    let expected = oracle(input, len);
    assert!(found == expected, "{} bytes to {len}: {:?}", input.len(), expected.is_some());
    expected.is_some()
}

fn preamble_of(len: usize) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), len);
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

fn literal(bytes: &[u8]) -> Vec<u8> {
    let n = bytes.len() - 1;
    let mut out = match n {
        0..60 => vec![(n as u8) << 2],
        60..256 => vec![60 << 2, n as u8],
        _ => vec![61 << 2, n as u8, (n >> 8) as u8],
    };
    out.extend_from_slice(bytes);
    out
}

fn copy(kind: u8, offset: usize, len: usize) -> Vec<u8> {
    match kind {
        1 => vec![1 | (len as u8 - 4) << 2 | ((offset >> 8) as u8) << 5, offset as u8],
        2 => vec![2 | (len as u8 - 1) << 2, offset as u8, (offset >> 8) as u8],
        _ => [&[3 | (len as u8 - 1) << 2][..], &(offset as u32).to_le_bytes()].concat(),
    }
}

/// Returns a block of random elements, valid except for `errors` in a thousand, and its length.
fn random_block(rng: &mut Random, num_elements: usize, errors: usize) -> (Vec<u8>, usize) {
    let (mut elements, mut made) = (Vec::new(), 0usize);
    for _ in 0..num_elements {
        let wants_error = rng.below(1000) < errors;
        if made == 0 && !wants_error || rng.below(3) == 0 {
            let len = match rng.below(10) {
                0 => 1 + rng.below(400),
                1..4 => 1 + rng.below(70),
                _ => 1 + rng.below(6),
            };
            let bytes: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
            elements.extend(literal(&bytes));
            made += len;
            continue;
        }
        let kind = 1 + rng.below(3) as u8;
        let len = if kind == 1 { 4 + rng.below(8) } else { 1 + rng.below(64) };
        let max = [2047, 65_535, 1 << 20][usize::from(kind - 1)].min(made.max(1));
        let offset = match rng.below(3) {
            _ if wants_error => [0, made + 1][rng.below(2)].min(2047),
            0 => 1 + rng.below(max.min(64)),
            _ => 1 + rng.below(max),
        };
        elements.extend(copy(kind, offset, len));
        made += len;
    }
    ([preamble_of(made), elements].concat(), made)
}

/// Returns data as columns have it: numbers that share bytes, text, runs, noise.
fn columns(rng: &mut Random) -> Vec<Vec<u8>> {
    let n = 3000;
    let words = ["carefully", "final", "deposits", "sleep", "quickly", "the", "a", "ironic"];
    vec![
        (0..n).flat_map(|_| (rng.below(200_000) as u64).to_le_bytes()).collect(),
        (0..n).flat_map(|i| ((i / 3) as u32).to_le_bytes()).collect(),
        (0..n).flat_map(|i| (i as u64 * 3).to_le_bytes()).collect(),
        (0..n).flat_map(|i| (i as u64 * i as u64 / 5_000).to_le_bytes()).collect(),
        (0..n).flat_map(|_| (rng.below(1_000_000) as f64 / 100.0).to_le_bytes()).collect(),
        (0..n).flat_map(|_| format!("{} ", words[rng.below(8)]).into_bytes()).collect(),
        vec![0; 10_000],
        (0..n).map(|_| rng.below(256) as u8).collect(),
        (0..n).flat_map(|i| [(i % 7) as u8; 9]).collect(),
    ]
}

#[test]
fn what_a_compressor_writes_comes_back() {
    let mut rng = Random::new(5);
    let mut encoder = snap::raw::Encoder::new();
    for data in columns(&mut rng) {
        for len in (0..300.min(data.len())).chain([1000, data.len()]) {
            let packed = encoder.compress_vec(&data[..len]).unwrap();
            assert!(same(&packed, len));
            assert_eq!(declared_len(&packed).unwrap(), len);
            assert!(!same(&packed, len + 1));
        }
    }
}

#[test]
fn copies_of_every_offset_and_length_equal_the_other_decoder() {
    let seed: Vec<u8> = (0..200u8).collect();
    for offset in (1..=70).chain([199, 200]) {
        for len in 1..=64 {
            for kind in [1, 2, 4] {
                if kind == 1 && !(4..12).contains(&len) {
                    continue;
                }
                // Once with enough output for the wide moves and once at the very end.
                for tail in [0, 5, 200] {
                    let mut block = preamble_of(200 + len + tail);
                    block.extend(literal(&seed));
                    block.extend(copy(kind, offset, len));
                    if tail > 0 {
                        block.extend(literal(&seed[..tail]));
                    }
                    assert!(same(&block, 200 + len + tail), "{offset} {len} {kind} {tail}");
                }
            }
        }
    }
}

#[test]
fn random_elements_good_or_bad_are_judged_alike() {
    let mut rng = Random::new(7);
    let (mut good, mut bad) = (0, 0);
    for round in 0..1500 {
        let num_elements = 1 + rng.below(300);
        let (block, len) = random_block(&mut rng, num_elements, round % 3);
        if same(&block, len) {
            good += 1;
        } else {
            bad += 1;
        }
    }
    assert!(good > 500 && bad > 50, "{good} {bad}");
}

/// Returns a block of 8-byte numbers as sorted columns have them, valid except for `errors` in a
/// thousand.
fn block_of_numbers(rng: &mut Random, num_elements: usize, errors: usize) -> (Vec<u8>, usize) {
    let mut elements = literal(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut made = 9;
    for _ in 0..num_elements {
        let random = rng.below(1000) < errors;
        let offset = match rng.below(20) {
            _ if random => rng.below(300),
            0..10 => 8,
            _ => 8 * (1 + rng.below(made.min(80) / 8)),
        };
        if rng.below(3) == 0 {
            let len = if random { 1 + rng.below(64) } else { 8 * (1 + rng.below(8)) };
            elements.extend(copy(2, 8, len));
            made += len;
        } else {
            let new = 1 + rng.below(4);
            let bytes: Vec<u8> = (0..new).map(|_| rng.below(256) as u8).collect();
            let len = if random { 4 + rng.below(8) } else { 8 - new };
            elements.extend([literal(&bytes), copy(1, offset, len)].concat());
            made += new + len;
        }
    }
    elements.extend(literal(&[0; 200]));
    ([preamble_of(made + 200), elements].concat(), made + 200)
}

#[test]
fn numbers_that_ascend_or_repeat_are_judged_alike() {
    let mut rng = Random::new(13);
    let (mut good, mut bad) = (0, 0);
    for round in 0..1500 {
        let num_elements = 1 + rng.below(200);
        let (block, len) = block_of_numbers(&mut rng, num_elements, [0, 5, 100][round % 3]);
        if same(&block, len) {
            good += 1;
        } else {
            bad += 1;
        }
    }
    assert!(good > 500 && bad > 50, "{good} {bad}");
}

#[test]
fn cut_and_changed_blocks_are_judged_alike() {
    let mut rng = Random::new(9);
    let mut blocks: Vec<(Vec<u8>, usize)> =
        (0..20).map(|_| random_block(&mut rng, 120, 0)).collect();
    let mut encoder = snap::raw::Encoder::new();
    for data in columns(&mut rng) {
        let data = &data[..1200];
        blocks.push((encoder.compress_vec(data).unwrap(), data.len()));
    }
    for (block, len) in blocks {
        for cut in 0..block.len() {
            assert!(!same(&block[..cut], len));
        }
        for _ in 0..400 {
            let mut changed = block.clone();
            for _ in 0..=rng.below(3) {
                let at = rng.below(changed.len());
                changed[at] ^= 1 << rng.below(8);
            }
            same(&changed, len);
        }
    }
}

#[test]
fn lengths_that_are_none_are_refused() {
    for bytes in [&[][..], &[0x80], &[0x80; 12], &[0xff, 0xff, 0xff, 0xff, 0x7f, 0]] {
        assert!(declared_len(bytes).is_err(), "{bytes:?}");
        assert!(snap::raw::decompress_len(bytes).is_err() || bytes.is_empty());
    }
    let error = decompress(&[4, 0x01, 0x01], &mut [0; 4]).unwrap_err().to_string();
    assert_eq!(error, "corrupt: a copy from in front of the block (at=0 offset=1)");
}

#[test]
fn two_blocks_at_once_are_the_same_as_one_after_the_other() {
    let mut rng = Random::new(11);
    for _ in 0..3_000 {
        let errors = [0, 0, 3][rng.below(3)];
        let blocks: [_; 2] = std::array::from_fn(|_| {
            let num_elements = 1 + rng.below(120);
            let make = [random_block, block_of_numbers][rng.below(2)];
            make(&mut rng, num_elements, errors)
        });
        let [(a, a_len), (b, b_len)] = &blocks;
        let (mut out_a, mut out_b) = (vec![0xee; *a_len], vec![0xee; *b_len]);
        let (of_a, of_b) = decompress_two((a, &mut out_a), (b, &mut out_b));
        assert!(of_a.is_ok().then_some(out_a) == oracle(a, *a_len));
        assert!(of_b.is_ok().then_some(out_b) == oracle(b, *b_len));
    }
}

#[test]
fn one_of_two_blocks_may_be_broken_or_empty() {
    let good = [preamble_of(70), literal(&[7; 60]), copy(1, 8, 10)].concat();
    for (other, len) in [(vec![0], 0), (vec![], 3), (vec![9, 0], 9), (vec![5, 0, 1], 4)] {
        for good_first in [true, false] {
            let (mut out, mut rest) = ([0; 70], vec![0; len]);
            let (of_good, of_other) = match good_first {
                true => decompress_two((&good, &mut out), (&other, &mut rest)),
                false => {
                    let (of_other, of_good) =
                        decompress_two((&other, &mut rest), (&good, &mut out));
                    (of_good, of_other)
                }
            };
            assert!(of_good.is_ok() && out == [7; 70]);
            assert_eq!(of_other.is_ok(), oracle(&other, len).is_some());
        }
    }
}
