//! Fuzzes levels. Two bytes are the maximum levels, the third is the offset at which the definition
//! levels start. Decoded levels must not exceed their maximum, and the list slots derived from them
//! must lie within the elements.

#![no_main]

use format_parquet::levels::LevelDecoder;
use format_parquet::levels::nested::{ListLevels, list_slots, slot_validity};
use libfuzzer_sys::fuzz_target;
use vector::{BitmapMut, Buffer, MemoryPool};

/// Maximum number of levels read.
const MAX_LEVELS: usize = 1 << 12;

fn decoder(bytes: &[u8], max: u8, is_old: bool) -> Option<LevelDecoder> {
    let bytes = Buffer::from_slice(bytes);
    if is_old {
        Some(LevelDecoder::bit_packed(bytes, max))
    } else {
        LevelDecoder::rle(bytes, max).ok()
    }
}

/// Reads all levels in steps of doubling size.
fn read(bytes: &[u8], max: u8, is_old: bool) -> Vec<u8> {
    let mut levels = Vec::new();
    let Some(mut decoder) = decoder(bytes, max, is_old) else { return levels };
    let mut step = 1;
    while levels.len() < MAX_LEVELS {
        let mut out = vec![0; step];
        if decoder.read(&mut out).is_err() {
            break;
        }
        levels.extend(out);
        step = (step * 2).min(512);
    }
    assert!(levels.iter().all(|level| *level <= max));
    levels
}

/// Checks that reading levels as bits returns the same levels as reading them as bytes.
fn bits(bytes: &[u8], is_old: bool, levels: &[u8]) {
    let Some(mut decoder) = decoder(bytes, 1, is_old) else { return };
    let mut out = BitmapMut::new();
    let ones = decoder.read_bits(levels.len(), &mut out).expect("levels that were read before");
    assert_eq!(ones, levels.iter().filter(|level| **level == 1).count());
}

fuzz_target!(|data: &[u8]| {
    let [max_def, max_rep, cut, rest @ ..] = data else { return };
    let is_old = cut & 1 == 1;
    let (max_def, max_rep) = (max_def % 9, max_rep % 5);
    let (rep_bytes, def_bytes) = rest.split_at(rest.len().min(usize::from(*cut)));
    let mut rep = read(rep_bytes, max_rep, is_old);
    let mut def = read(def_bytes, max_def, is_old);
    if max_def == 1 {
        bits(def_bytes, is_old, &def);
    }
    let len = rep.len().min(def.len());
    rep.truncate(len);
    def.truncate(len);
    // A row starts with repetition level 0, which the page reader ensures.
    let Some(first) = rep.first_mut() else { return };
    *first = 0;
    for element_def in 1..=max_def {
        for element_rep in 1..=max_rep {
            let levels = ListLevels {
                slot_def: element_def.saturating_sub(2),
                list_def: element_def - 1,
                element_def,
                element_rep,
            };
            let Ok(slots) = list_slots(&rep, &def, levels, &MemoryPool::unlimited()) else {
                continue;
            };
            assert_eq!(slots.offsets.len(), slots.lengths.len());
            let spans = slots.offsets.iter().zip(slots.lengths.iter());
            for (offset, length) in spans {
                let end = u64::from(*offset) + u64::from(*length);
                assert!(end <= slots.num_elements as u64);
            }
            if let Some(validity) = &slots.validity {
                assert_eq!(validity.len(), slots.offsets.len());
            }
            let (num_slots, validity) =
                slot_validity(Some(&rep), &def, element_rep - 1, levels.slot_def, levels.list_def);
            assert!(num_slots <= rep.len());
            if let Some(validity) = validity {
                assert_eq!(validity.len(), num_slots);
            }
        }
    }
});
