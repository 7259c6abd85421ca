//! The compact protocol and the structs: sample bytes, every truncation, forged sizes.

use super::*;
use vector::ErrorKind;

const FIELD: fn(WireType) -> Field = |wire| Field { id: 1, wire };

#[test]
fn numbers_are_zigzag_varints_of_at_most_ten_bytes() {
    let zigzag = |bytes: &[u8]| ThriftReader::new(bytes).zigzag();
    assert_eq!(zigzag(&[0]).unwrap(), 0);
    assert_eq!(zigzag(&[1]).unwrap(), -1);
    assert_eq!(zigzag(&[0x80, 0x01]).unwrap(), 64);
    let mut max = [0xff; 10];
    max[9] = 1;
    assert_eq!(zigzag(&max).unwrap(), i64::MIN);
    max[9] = 2;
    assert_eq!(
        zigzag(&max).unwrap_err().to_string(),
        "corrupt: thrift number has more than 64 bits (offset=0 expected=at most 10 bytes)"
    );
    assert!(zigzag(&[0xff; 30]).is_err());
    assert_eq!(zigzag(&[0xff; 3]).unwrap_err().message(), ENDS_EARLY);
}

#[test]
fn a_number_beyond_its_width_is_refused_not_cut() {
    let error = ThriftReader::new(&[0x80, 0x80, 0x80, 0x80, 0x10]).zigzag_i32().unwrap_err();
    assert_eq!(
        error.to_string(),
        "corrupt: thrift number is out of range (offset=0 expected=i32 found=2147483648)"
    );
}

#[test]
fn field_numbers_add_up_and_may_not_overflow() {
    let mut r = ThriftReader::new(&[0x15, 0x02, 0x05, 0x14, 0x04, 0x12, 0x00]);
    let mut seen = Vec::new();
    r.read_struct("S", |r, field| {
        seen.push(field.id);
        r.skip(field)
    })
    .unwrap();
    assert_eq!(seen, [1, 10, 11]);
    assert_eq!(r.remaining(), 0);
    // Field number 32767 is skipped; one more is out of range.
    let slot = [0x08, 0xff, 0xff, 0x01, 0x01, 0xaa, 0x00];
    ThriftReader::new(&slot).read_struct("S", |r, field| r.skip(field)).unwrap();
    let beyond = [0x08, 0xfe, 0xff, 0x03, 0x01, 0xaa, 0x15, 0x00, 0x00];
    let error = ThriftReader::new(&beyond).read_struct("S", |r, f| r.skip(f)).unwrap_err();
    assert_eq!(error.message(), "thrift field number overflows");
}

#[test]
fn forged_list_sizes_are_refused_before_anything_is_reserved() {
    // Binary elements, 2^31 of them, in seven bytes.
    let bytes = [0xf8, 0x80, 0x80, 0x80, 0x80, 0x08, 0x00];
    let mut r = ThriftReader::new(&bytes);
    let error =
        r.read_list(FIELD(WireType::List), WireType::Binary, 1, |r| r.binary()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "corrupt: thrift list is longer than the data \
         (offset=0 expected=at most 1 elements found=2147483648)"
    );
    let error = ThriftReader::new(&bytes).skip(FIELD(WireType::List)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    // Ten elements of three bytes cannot fit into twelve bytes.
    let mut short = [0u8; 13];
    short[0] = 0xa8;
    assert!(
        ThriftReader::new(&short)
            .read_list(FIELD(WireType::List), WireType::Binary, 3, |r| r.binary())
            .is_err()
    );
    assert!(ThriftReader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).binary().is_err());
}

#[test]
fn an_empty_list_may_have_any_element_type() {
    let mut r = ThriftReader::new(&[0x00]);
    let none = r.read_list(FIELD(WireType::List), WireType::Struct, 2, |r| r.byte()).unwrap();
    assert!(none.is_empty());
}

#[test]
fn booleans_are_in_the_field_header_and_a_byte_in_lists() {
    let mut r = ThriftReader::new(&[0x31, 1, 2, 0]);
    assert!(r.read_bool(FIELD(WireType::True)).unwrap());
    assert!(!r.read_bool(FIELD(WireType::False)).unwrap());
    assert_eq!(r.offset(), 0);
    let list = r.read_list(FIELD(WireType::List), WireType::True, 1, |r| r.bool_element()).unwrap();
    assert_eq!(list, [true, false, false]);
    assert!(ThriftReader::new(&[7]).bool_element().is_err());
}

#[test]
fn unknown_fields_of_every_type_are_skipped() {
    let bytes = [
        0x11, 0x12, 0x13, 0xaa, 0x14, 0x80, 0x01, 0x15, 0x02, 0x16, 0x04, // bools, integers
        0x17, 1, 2, 3, 4, 5, 6, 7, 8, // double
        0x18, 0x02, 0xaa, 0xbb, // binary
        0x19, 0x21, 0x01, 0x02, // list of two booleans
        0x1a, 0x15, 0x02, // set of one i32
        0x1b, 0x01, 0x85, 0x01, b'k', 0x06, // map of binary to i32
        0x1b, 0x00, // empty map
        0x1c, 0x11, 0x00, // struct with a boolean
        0x1d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // uuid
        0x00,
    ];
    let mut r = ThriftReader::new(&bytes);
    let mut num_fields = 0;
    r.read_struct("S", |r, field| {
        num_fields += 1;
        r.skip(field)
    })
    .unwrap();
    assert_eq!((num_fields, r.remaining()), (14, 0));
    for len in 0..bytes.len() {
        let cut = ThriftReader::new(&bytes[..len]).read_struct("S", |r, f| r.skip(f));
        assert_eq!(cut.unwrap_err().kind(), ErrorKind::Corrupt, "{len}");
    }
    assert!(ThriftReader::new(&[0x1e]).read_struct("S", |r, f| r.skip(f)).is_err());
}

#[test]
fn nesting_in_unknown_fields_is_bounded() {
    let nested = |depth: usize| {
        let mut bytes = vec![0x1c; depth];
        bytes.resize(2 * depth + 1, 0);
        ThriftReader::new(&bytes).read_struct("S", |r, f| r.skip(f))
    };
    nested(64).unwrap();
    assert_eq!(nested(65).unwrap_err().message(), "thrift data is nested too deep");
    let lists = vec![0x19; 1 << 20];
    let error = ThriftReader::new(&lists).skip(FIELD(WireType::List)).unwrap_err();
    assert_eq!(error.message(), "thrift data is nested too deep");
}

#[test]
fn memory_for_elements_is_bounded_by_the_input() {
    let mut bytes = vec![0xf3, 0x80, 0x80, 0x04];
    bytes.resize(4 + (1 << 16), 0);
    let error = ThriftReader::new(&bytes)
        .read_list(FIELD(WireType::List), WireType::Byte, 1, |r| r.byte().map(|_| [0u64; 256]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn errors_name_struct_field_offset_and_both_sides() {
    let error = ThriftReader::new(&[0x18, 0x00, 0x00])
        .read_struct("KeyValue", |r, field| r.read_i32(field).map(drop))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "corrupt: thrift value has the wrong type (offset=1 expected=i32 found=binary)\n  \
         in field 1, struct \"KeyValue\""
    );
}
