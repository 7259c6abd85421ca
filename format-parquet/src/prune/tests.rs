//! Filters on row groups and pages with handwritten statistics.

use dwio::filter::Bound;
use vector::sync::Arc;

use super::*;
use crate::page_index::tests::Indexes;
use crate::statistics::Statistics;
use crate::statistics::tests::{bounds, converted, fixed, footer, leaf, logical};
use crate::thrift::structs::{
    ConvertedType, LogicalType, PageEncodingStats, PhysicalType, Repetition, SchemaElement,
};
use PhysicalType::{ByteArray, Double, FixedLenByteArray, Int32};

fn int(min: i32, max: i32) -> Option<Statistics> {
    Some(bounds(min.to_le_bytes(), max.to_le_bytes()))
}

fn range(lower: i64, upper: i64) -> Filter {
    Filter::bigint_range(lower, upper, false)
}

/// Returns the result for the only column, with the kind of metadata that pruned it.
fn ask(footer: &Footer, filter: &Filter, ty: Option<&Type>) -> (Match, Option<PrunedBy>) {
    let ty = ty.unwrap_or(&footer.schema.leaves()[0].ty);
    let filters = [LeafFilter { leaf: 0, filter, ty }];
    let answer = may_row_group_match(footer, 0, &filters, None, TrustOptions::default()).unwrap();
    (answer.matched, answer.pruned.map(|(_, by)| by))
}

#[test]
fn statistics_say_none_some_or_all_and_why() {
    let footer = footer(vec![leaf(Int32)], vec![int(10, 20)]);
    assert_eq!(ask(&footer, &range(21, 30), None), (Match::None, Some(PrunedBy::MinMax)));
    assert_eq!(ask(&footer, &range(20, 30), None), (Match::Some, None));
    assert_eq!(ask(&footer, &range(10, 20), None), (Match::All, None));
    assert_eq!(ask(&footer, &Filter::IsNull, None), (Match::None, Some(PrunedBy::NullCount)));
    // The filter has the type as which the column is read.
    let decimal = Type::decimal(12, 1).unwrap();
    assert_eq!(ask(&footer, &range(201, 300), Some(&decimal)).0, Match::None);
    assert_eq!(ask(&footer, &range(21, 199), Some(&decimal)).0, Match::Some);
    assert_eq!(ask(&footer, &range(100, 200), Some(&decimal)).0, Match::All);
    // For a type that the column cannot be widened to nothing can be decided.
    assert_eq!(ask(&footer, &range(21, 30), Some(&Type::Date)).0, Match::Some);
}

#[test]
fn the_first_filter_that_drops_a_row_group_is_named() {
    let footer = footer(vec![leaf(Int32); 3], vec![int(1, 5), int(1, 5), None]);
    let (wide, low, high) = (range(0, 9), range(1, 2), range(7, 9));
    let ty = &Type::Integer;
    let of = |leaf, filter| LeafFilter { leaf, filter, ty };
    let ask = |filters: &[LeafFilter<'_>]| {
        may_row_group_match(&footer, 0, filters, None, TrustOptions::default()).unwrap()
    };
    let answer = ask(&[of(0, &wide), of(2, &high), of(1, &high), of(0, &low)]);
    assert_eq!(answer.matched, Match::None);
    assert_eq!(answer.by_filter, [Match::All, Match::Some, Match::None]);
    assert_eq!(answer.pruned, Some((2, PrunedBy::MinMax)));
    assert_eq!(ask(&[of(0, &wide), of(1, &wide)]).matched, Match::All);
    assert_eq!(ask(&[of(0, &wide), of(1, &low)]).matched, Match::Some);
    assert_eq!(ask(&[]).matched, Match::All);
    assert_eq!(ask(&[of(9, &low)]).matched, Match::Some);
    let no_group = may_row_group_match(&footer, 5, &[of(0, &low)], None, TrustOptions::default());
    assert_eq!(no_group.unwrap().matched, Match::Some);
}

#[test]
fn strings_that_may_be_cut_show_only_what_is_outside() {
    let text = |lower: &str, upper: &str| {
        let end = |text: &str| Bound::Inclusive(Arc::from(text.as_bytes()));
        Filter::bytes_range(end(lower), end(upper), false)
    };
    let mut stored = bounds("b", "d");
    let ask = |stored: &Statistics, filter: &Filter| {
        let footer =
            footer(vec![converted(ByteArray, ConvertedType::Utf8)], vec![Some(stored.clone())]);
        super::tests::ask(&footer, filter, None).0
    };
    assert_eq!(ask(&stored, &text("e", "f")), Match::None);
    assert_eq!(ask(&stored, &text("a", "f")), Match::Some);
    assert_eq!(ask(&stored, &Filter::IsNotNull), Match::All);
    (stored.is_min_value_exact, stored.is_max_value_exact) = (Some(true), Some(true));
    assert_eq!(ask(&stored, &text("a", "f")), Match::All);
}

#[test]
fn nan_is_never_forgotten() {
    let mut stored = bounds(1.0f64.to_le_bytes(), 10.0f64.to_le_bytes());
    let above = Filter::double_range(Bound::Exclusive(20.0), Bound::Unbounded, false).unwrap();
    let below = Filter::double_range(Bound::Unbounded, Bound::Inclusive(10.0), false).unwrap();
    let ask = |stored: &Statistics, filter: &Filter| {
        super::tests::ask(&footer(vec![leaf(Double)], vec![Some(stored.clone())]), filter, None).0
    };
    assert_eq!((ask(&stored, &above), ask(&stored, &below)), (Match::Some, Match::Some));
    stored.nan_count = Some(0);
    assert_eq!((ask(&stored, &above), ask(&stored, &below)), (Match::None, Match::All));
    stored.nan_count = Some(100);
    (stored.min_value, stored.max_value) = (None, None);
    assert_eq!((ask(&stored, &above), ask(&stored, &below)), (Match::All, Match::None));
}

#[test]
fn elements_never_speak_for_rows_without_any() {
    let repeated = SchemaElement { repetition: Some(Repetition::Repeated), ..leaf(Int32) };
    let footer = footer(vec![repeated], vec![int(10, 20)]);
    assert_eq!(ask(&footer, &range(21, 30), Some(&Type::Integer)).0, Match::None);
    assert_eq!(ask(&footer, &range(0, 30), Some(&Type::Integer)).0, Match::Some);
    for filter in [Filter::IsNull, Filter::IsNotNull, Filter::bigint_range(21, 30, true)] {
        assert_eq!(ask(&footer, &filter, Some(&Type::Integer)).0, Match::Some, "{filter}");
    }
}

#[test]
fn uuids_are_pruned_where_the_orders_agree() {
    let uuid = fixed(16, logical(FixedLenByteArray, LogicalType::Uuid));
    let one = |byte: u8| {
        let value = i128::from_be_bytes([byte; 16]);
        Filter::hugeint_range(value, value, false)
    };
    let ask = |min: u8, max: u8, filter: &Filter| {
        let stored = bounds([min; 16], [max; 16]);
        super::tests::ask(&footer(vec![uuid.clone()], vec![Some(stored)]), filter, None).0
    };
    assert_eq!(ask(0x10, 0x20, &one(0x21)), Match::None);
    assert_eq!(ask(0x10, 0x20, &one(0x18)), Match::Some);
    assert_eq!(ask(0x90, 0xa0, &one(0x18)), Match::None);
    assert_eq!(ask(0x90, 0xa0, &one(0x98)), Match::Some);
    assert_eq!(ask(0x10, 0xa0, &one(0xff)), Match::Some);
}

#[test]
fn pages_leave_the_rows_that_may_pass() {
    let mut stored = int(1, 20);
    stored.as_mut().unwrap().null_count = Some(31);
    let footer = footer(vec![leaf(Int32)], vec![stored]);
    let leaf = &footer.schema.leaves()[0];
    let index = PageIndex::new(&footer, 0, 0, Indexes::sample().bytes(), TrustOptions::default());
    let ask = |filter: &Filter| {
        let filter = LeafFilter { leaf: 0, filter, ty: &Type::Integer };
        pages_to_row_ranges(&filter, leaf, &index).to_string()
    };
    assert_eq!(ask(&range(1, 4)), "0..40");
    assert_eq!(ask(&range(7, 7)), "0..40 70..100");
    assert_eq!(ask(&range(11, 99)), "70..100");
    assert_eq!(ask(&range(21, 99)), "");
    assert_eq!(ask(&Filter::IsNull), "40..100");
    assert_eq!(ask(&Filter::bigint_range(1, 4, true)), "0..100");
    let first = LeafFilter { leaf: 0, filter: &range(0, 10), ty: &Type::Integer };
    assert_eq!(match_pages(&first, leaf, &index), [Match::All, Match::None, Match::Some]);
    let mut broken = Indexes::sample();
    broken.null_counts[1] = 0;
    let index = PageIndex::new(&footer, 0, 0, broken.bytes(), TrustOptions::default());
    assert_eq!(pages_to_row_ranges(&first, leaf, &index), RowRanges::all(100));
}

#[test]
fn a_dictionary_has_all_values_only_where_metadata_proves_it() {
    use Encoding::{BitPacked, Plain, PlainDictionary, Rle, RleDictionary};
    let footer = footer(vec![leaf(Int32)], vec![None]);
    let meta = footer.column_chunk(0, 0).unwrap().meta().unwrap();
    let with = |stats: &[(PageType, Encoding, u32)], encodings: &[Encoding]| {
        all_pages_dictionary_encoded(&ColumnMetaData {
            encodings: encodings.to_vec(),
            encoding_stats: stats
                .iter()
                .map(|&(page_type, encoding, num_pages)| PageEncodingStats {
                    page_type,
                    encoding,
                    num_pages,
                })
                .collect(),
            ..meta.clone()
        })
    };
    let dictionary = (PageType::Dictionary, Plain, 1);
    assert!(with(&[dictionary, (PageType::Data, RleDictionary, 3)], &[Plain]));
    assert!(with(&[(PageType::DataV2, PlainDictionary, 3), (PageType::Data, Plain, 0)], &[]));
    assert!(!with(&[dictionary], &[PlainDictionary]));
    assert!(!with(&[(PageType::Data, RleDictionary, 0)], &[]));
    assert!(!with(&[(PageType::Data, RleDictionary, 3), (PageType::DataV2, Plain, 1)], &[]));
    assert!(with(&[], &[PlainDictionary, Rle, BitPacked]));
    assert!(!with(&[], &[PlainDictionary, Rle, Plain]));
    assert!(!with(&[], &[RleDictionary, Rle, Plain]));
    assert!(!with(&[], &[Rle]));
    assert!(!with(&[], &[]));
}
