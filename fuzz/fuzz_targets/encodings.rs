//! Fuzzes value decoders. The first two bytes choose the encoding and the physical type, the rest
//! is the value bytes of a page. Decoded values must be valid for the request, and values that can
//! be read can also be skipped, in steps of various sizes.

#![no_main]

use format_parquet::encoding::dictionary::DictionaryIndices;
use format_parquet::encoding::plain::{each_byte_array, fixed_bytes, skip_byte_arrays};
use format_parquet::encoding::recoded::{Recoded, Storage};
use format_parquet::encoding::rle_hybrid::RleHybrid;
use format_parquet::encoding::{ValueEncoding, value_encoding};
use format_parquet::thrift::structs::{Encoding, PhysicalType};
use libfuzzer_sys::fuzz_target;
use vector::{Buffer, BufferMut, Result};

/// Maximum number of values read from a page.
const MAX_VALUES: usize = 1 << 14;

/// Numbers of values read per call, used in rotation.
const STEPS: [usize; 4] = [1, 7, 100, 1024];

const ENCODINGS: [Encoding; 9] = [
    Encoding::Plain,
    Encoding::PlainDictionary,
    Encoding::Rle,
    Encoding::DeltaBinaryPacked,
    Encoding::DeltaLengthByteArray,
    Encoding::DeltaByteArray,
    Encoding::RleDictionary,
    Encoding::ByteStreamSplit,
    Encoding::Alp,
];

const STORAGES: [PhysicalType; 8] = [
    PhysicalType::Boolean,
    PhysicalType::Int32,
    PhysicalType::Int64,
    PhysicalType::Int96,
    PhysicalType::Float,
    PhysicalType::Double,
    PhysicalType::ByteArray,
    PhysicalType::FixedLenByteArray,
];

/// Calls `step` with these numbers until it fails or enough values have been read.
fn in_steps(mut step: impl FnMut(usize) -> Result<()>) {
    let mut left = MAX_VALUES;
    for n in STEPS.into_iter().cycle() {
        if left == 0 || step(n.min(left)).is_err() {
            return;
        }
        left -= n.min(left);
    }
}

fn recoded(encoding: ValueEncoding, storage: Storage, bytes: &Buffer<u8>) {
    let open = || Recoded::open(encoding, storage, bytes.clone(), None);
    let (Ok(mut reading), Ok(mut skipping)) = (open(), open()) else { return };
    in_steps(|n| {
        let mut values = BufferMut::<u8>::new();
        reading.read(n, &mut values)?;
        if let Some(width) = storage.width() {
            assert_eq!(values.len(), n * width);
        } else {
            let mut count = 0;
            let used = each_byte_array(&values, n, |_| count += 1)?;
            assert_eq!((used, count), (values.len(), n));
        }
        // Values that can be read can be skipped.
        skipping.skip(n).expect("values that were read are not passed over");
        Ok(())
    });
}

fn plain(storage: Storage, bytes: &[u8]) {
    let Some(width) = storage.width() else {
        for n in STEPS {
            let walked = each_byte_array(bytes, n, |value| assert!(value.len() <= bytes.len()));
            assert_eq!(walked.ok(), skip_byte_arrays(bytes, n).ok());
        }
        return;
    };
    for n in STEPS {
        if let Ok(used) = fixed_bytes(bytes, n, width) {
            assert!(used <= bytes.len());
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [first, second, rest @ ..] = data else { return };
    let encoding = ENCODINGS[usize::from(*first) % ENCODINGS.len()];
    let physical = STORAGES[usize::from(*second) % STORAGES.len()];
    let storage = Storage { physical, type_length: 1 + usize::from(*second) / STORAGES.len() };
    let bytes = Buffer::from_slice(rest);
    let Ok(way) = value_encoding(encoding, physical) else { return };
    match way {
        ValueEncoding::Plain => plain(storage, rest),
        ValueEncoding::Dictionary => {
            let Ok(mut indices) = DictionaryIndices::new(&bytes) else { return };
            let len = 1 + usize::from(*first);
            in_steps(|n| {
                let mut out = vec![u32::MAX; n];
                indices.read(len, &mut out)?;
                assert!(out.iter().all(|index| (*index as usize) < len));
                Ok(())
            });
        }
        ValueEncoding::BooleanRle => {
            let Ok(mut bits) = RleHybrid::new(bytes, 1) else { return };
            in_steps(|n| {
                let mut out = vec![9u8; n];
                bits.read(&mut out)?;
                assert!(out.iter().all(|bit| *bit <= 1));
                Ok(())
            });
        }
        _ => recoded(way, storage, &bytes),
    }
});
