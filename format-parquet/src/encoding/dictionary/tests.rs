//! Tests of `dictionary`: pages read, skipped, selected and filtered against lists of indices.

use super::*;
use crate::encoding::plain::{Fixed, Int32};

fn dictionary(values: &[i32]) -> Dictionary<i32> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let memory = BufferMut::new();
    Dictionary::decode(&Fixed::<4, Int32>::new(), &bytes, values.len(), memory).unwrap()
}

fn indices(width: u8, values: &[u32]) -> Buffer<u8> {
    let groups = values.len().div_ceil(8);
    let mut padded = values.to_vec();
    padded.resize(groups * 8, 0);
    let mut bytes = vec![width];
    assert!(groups < 64);
    bytes.push((groups << 1 | 1) as u8);
    bytes.extend(bit_pack::pack(&padded, width));
    Buffer::from_slice(&bytes)
}

#[test]
fn values_are_looked_up_in_packed_and_repeat_runs() {
    let dictionary = dictionary(&[10, 20, 30, 40, 50]);
    let picked: Vec<u32> = (0..300).map(|i| i % 5).collect();
    let mut page = DictionaryIndices::new(&indices(3, &picked)).unwrap();
    let mut out = vec![0; 300];
    page.gather(&dictionary, &mut out[..77]).unwrap();
    page.skip(100).unwrap();
    page.gather(&dictionary, &mut out[177..]).unwrap();
    for i in (0..77).chain(177..300) {
        assert_eq!(out[i], (i as i32 % 5 + 1) * 10);
    }
    let mut repeat = DictionaryIndices::new(&Buffer::from_slice(&[3, 0x14, 4])).unwrap();
    let mut out = [0; 10];
    repeat.gather(&dictionary, &mut out).unwrap();
    assert_eq!(out, [50; 10]);
}

#[test]
fn an_index_outside_of_the_dictionary_is_corrupt_in_every_kind_of_run() {
    let dictionary = dictionary(&[1, 2, 3, 4, 5]);
    for bytes in [indices(3, &[0, 1, 5]), Buffer::from_slice(&[3, 0x14, 5])] {
        let error =
            DictionaryIndices::new(&bytes).unwrap().gather(&dictionary, &mut [0; 3]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "corrupt: a dictionary index is outside of the dictionary \
             (index=5 dictionary_values=5)"
        );
        let mut page = DictionaryIndices::new(&bytes).unwrap();
        assert!(page.read(5, &mut [0; 3]).is_err());
    }
    let mut empty = DictionaryIndices::new(&Buffer::from_slice(&[0, 0x14])).unwrap();
    assert!(empty.gather(&self::dictionary(&[]), &mut [0; 3]).is_err());
}

#[test]
fn a_selection_reads_tests_and_looks_up_as_reading_all_does() {
    let dictionary = dictionary(&[10, 20, 30, 40, 50]);
    let picked: Vec<u32> = (0..300).map(|i| i * i % 5).collect();
    let mut mixed = indices(3, &picked).to_vec();
    mixed.extend([0x90, 0x01, 3, 0xc8, 0x01, 1]);
    let all: Vec<u32> =
        picked.iter().copied().chain([0; 4]).chain([3; 72]).chain([1; 100]).collect();
    let n = all.len();
    let page = DictionaryIndices::new(&Buffer::from_slice(&mixed)).unwrap();
    for step in [1, 2, 7, 30, 100] {
        for skipped in [0, 1, 65, 304] {
            let wanted = |i: usize| i.is_multiple_of(step) || (310..320).contains(&i);
            let words: Bitmap = (skipped..n).map(wanted).collect();
            let words = words.words();
            let n = n - skipped;
            let mut page = page.clone();
            page.skip(skipped).unwrap();
            let expected: Vec<u32> = bits::ones(words, n).map(|i| all[skipped + i]).collect();
            let mut found = BufferMut::new();
            page.clone().read_selected(5, n, words, &mut found).unwrap();
            assert_eq!(found.as_slice(), expected, "{step} {skipped}");
            let mut values = BufferMut::new();
            page.clone().gather_selected(&dictionary, n, words, &mut values).unwrap();
            assert!(values.iter().zip(&expected).all(|(v, i)| *v == (*i as i32 + 1) * 10));
            assert_eq!(values.len(), expected.len());
            for passing in [vec![], vec![0, 1, 2, 3, 4], vec![3], vec![1, 2], vec![0, 3]] {
                let bitmap: Bitmap = (0..5).map(|i| passing.contains(&i)).collect();
                let mut left = words.to_vec();
                let answers = DictionaryFilterCache::new(&bitmap);
                page.clone().filter(&answers, n, &mut left).unwrap();
                let (mut both, mut found) = (words.to_vec(), BufferMut::new());
                page.clone().filter_and_read(&answers, n, &mut both, &mut found).unwrap();
                assert_eq!(both, left);
                let kept: Vec<u32> = bits::ones(&left, n).map(|i| all[skipped + i]).collect();
                assert_eq!(found.as_slice(), kept);
                let (mut both, mut values) = (words.to_vec(), BufferMut::new());
                let asked = (&answers, &dictionary);
                page.clone().filter_and_gather(asked, n, &mut both, &mut values).unwrap();
                assert_eq!(both, left);
                assert!(values.iter().zip(&kept).all(|(v, i)| *v == (*i as i32 + 1) * 10));
                assert_eq!(values.len(), kept.len());
                let stays = |i: usize| bits::get(words, i) && passing.contains(&all[skipped + i]);
                assert!((0..n).all(|i| bits::get(&left, i) == stays(i)), "{passing:?}");
            }
        }
    }
}

#[test]
fn an_index_that_is_not_wanted_may_be_anything() {
    let dictionary = dictionary(&[1, 2, 3, 4, 5]);
    let mut broken = vec![0; 256];
    broken[100] = 7;
    let page = DictionaryIndices::new(&indices(3, &broken)).unwrap();
    let gather = |words: &[u64]| {
        page.clone().gather_selected(&dictionary, 256, words, &mut BufferMut::new())
    };
    assert!(gather(&[1, 1, 0, 0]).is_ok());
    assert!(gather(&[1, 1 << 36, 0, 0]).is_err());
    assert!(gather(&[u64::MAX; 4]).is_err());
}

#[test]
fn width_zero_means_the_first_value_with_or_without_runs() {
    let dictionary = dictionary(&[7]);
    for bytes in [&[0u8, 0x14][..], &[0]] {
        let mut page = DictionaryIndices::new(&Buffer::from_slice(bytes)).unwrap();
        let mut out = [0; 10];
        page.gather(&dictionary, &mut out).unwrap();
        assert_eq!(out, [7; 10]);
    }
    let mut none = DictionaryIndices::new(&Buffer::empty()).unwrap();
    none.gather(&dictionary, &mut []).unwrap();
    assert!(none.gather(&dictionary, &mut [0]).is_err());
}
