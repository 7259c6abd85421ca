//! Tests of all functions that move, compare or hash rows, against a plain list of values, with
//! random types in randomly nested encodings.

use super::*;
use crate::bitmap::Bitmap;
use crate::check::{check, check_batch};
use crate::compare::{RowComparator, SortOrder, compare_rows, equal_rows, sorted_rows};
use crate::decoded::DecodedVector;
use crate::encoding::Vector;
use crate::gather::{concat, concat_batches, flatten, gather, gather_batch};
use crate::hash::hash_into;
use crate::memory::buffer::Buffer;
use crate::rows::RowSet;
use crate::{DictionaryVector, Encoding, VectorBuilder};

const NUM_CASES: u64 = 300;

/// Runs `test` for many types and lists of rows; prints the seed of a failing case.
fn for_each_case(test: impl Fn(&mut RandomVectors, &Type, &[Value])) {
    for seed in 0..NUM_CASES {
        let mut random = RandomVectors::new(seed);
        let ty = random.ty(3);
        let num_rows = if seed % 10 == 0 { 0 } else { random.random().below(90) };
        let values = random.values(&ty, num_rows);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            test(&mut random, &ty, &values);
        }));
        if let Err(panic) = outcome {
            eprintln!("seed {seed}, type {ty}, {num_rows} rows");
            std::panic::resume_unwind(panic);
        }
    }
}

fn picked(values: &[Value], indices: &[u32]) -> Vec<Value> {
    indices.iter().map(|i| values[*i as usize].clone()).collect()
}

fn indices(random: &mut RandomVectors, num_rows: usize) -> Vec<u32> {
    let len = if num_rows == 0 { 0 } else { random.random().below(2 * num_rows) };
    (0..len).map(|_| random.random().below(num_rows) as u32).collect()
}

/// Asserts that no vector in `vector` is wrapped.
fn assert_flat(vector: &VectorRef) {
    match vector.as_ref() {
        Vector::Flat(_) => {}
        Vector::Row(row) => row.children().iter().for_each(assert_flat),
        Vector::Array(array) => assert_flat(array.elements()),
        Vector::Map(map) => [map.keys(), map.values()].into_iter().for_each(assert_flat),
        other => assert_eq!((other.encoding(), other.ty()), (Encoding::Constant, &Type::Unknown)),
    }
}

#[test]
fn any_encoding_decodes_to_its_rows_and_passes_the_check() {
    for_each_case(|random, ty, values| {
        let vector = random.encode(ty, values);
        check(&vector).unwrap();
        assert_eq!(vector.len(), values.len());
        assert_vector_is(&vector, values);
        // The second check is made with lazy vectors loaded.
        check(&vector).unwrap();
    });
}

/// Asserts that the validity of a vector and of its children is absent exactly if no row is null.
fn assert_validity_means_nulls(vector: &VectorRef) {
    let decoded = DecodedVector::new(vector).unwrap();
    let num_nulls = (0..decoded.len()).filter(|row| decoded.is_null(*row)).count();
    assert_eq!(decoded.validity().is_some(), num_nulls > 0, "{:?}", vector.encoding());
    let own = |validity: Option<&Bitmap>| {
        assert!(validity.is_none_or(|v| !v.all_ones()), "{:?}", vector.encoding());
    };
    match vector.as_ref() {
        Vector::Flat(v) => own(v.validity()),
        Vector::Constant(_) => {}
        Vector::Lazy(v) => assert_validity_means_nulls(&v.loaded().unwrap()),
        Vector::Dictionary(v) => {
            own(v.validity());
            assert_validity_means_nulls(v.base());
        }
        Vector::Row(v) => {
            own(v.validity());
            v.children().iter().for_each(assert_validity_means_nulls);
        }
        Vector::Array(v) => {
            own(v.validity());
            assert_validity_means_nulls(v.elements());
        }
        Vector::Map(v) => {
            own(v.validity());
            [v.keys(), v.values()].into_iter().for_each(assert_validity_means_nulls);
        }
    }
}

/// `validity().is_some()` states whether there is a null in every encoding, also if there are nulls
/// in rows of the vector that are not selected.
#[test]
fn a_vector_has_a_validity_exactly_when_a_row_is_null() {
    for_each_case(|random, ty, values| {
        // With few nulls, many vectors have none.
        let mut values = values.to_vec();
        for value in &mut values {
            if value.is_null() && random.random().chance(0.9) {
                *value = random.valid(ty);
            }
        }
        let vector = random.encode(ty, &values);
        assert_validity_means_nulls(&vector);
        let valid: Vec<u32> =
            (0..values.len()).filter(|i| !values[*i].is_null()).map(|i| i as u32).collect();
        let valid = Vector::wrap(&vector, &valid.into_iter().collect());
        assert_validity_means_nulls(&valid);
        for whole in [&vector, &valid, &flatten(&vector).unwrap()] {
            let (start, len) = match whole.len() {
                0 => (0, 0),
                n => (random.random().below(n), 1 + random.random().below(3)),
            };
            let slice = Vector::slice(whole, start, len.min(whole.len() - start)).unwrap();
            assert_validity_means_nulls(&slice);
            if let Vector::Row(row) = whole.as_ref() {
                let indices: Buffer<u32> = (0..slice.len() as u32).collect();
                let wrapped = row.wrap(&indices);
                assert!(wrapped.validity().is_none_or(|v| !v.all_ones()));
            }
        }
        assert_validity_means_nulls(&flatten(&valid).unwrap());
        assert_validity_means_nulls(&concat(&[valid.clone(), valid]).unwrap());
    });
}

#[test]
fn the_generator_makes_every_encoding() {
    let mut random = RandomVectors::new(1);
    let mut seen = Vec::new();
    for _ in 0..300 {
        let ty = random.ty(2);
        let num_rows = random.random().below(3);
        seen.push(random.vector(&ty, num_rows).encoding());
    }
    for encoding in [
        Encoding::Flat,
        Encoding::Constant,
        Encoding::Dictionary,
        Encoding::Lazy,
        Encoding::Row,
        Encoding::Array,
        Encoding::Map,
    ] {
        assert!(seen.contains(&encoding), "{encoding:?}");
    }
}

#[test]
fn decoding_for_some_rows_gives_those_rows() {
    for_each_case(|random, ty, values| {
        let vector = random.encode(ty, values);
        let wanted: Bitmap = (0..values.len()).map(|_| random.random().chance(0.3)).collect();
        let rows = RowSet::from_bits(wanted.words(), wanted.len());
        let decoded = DecodedVector::for_rows(&vector, &rows).unwrap();
        if ty.is_nested() {
            // Children of a partly loaded struct are decoded separately, for their own rows.
            return assert!(rows.iter().all(|i| decoded.is_null(i) == values[i].is_null()));
        }
        for row in rows.iter() {
            assert_eq!(decoded.value(row).unwrap(), values[row]);
        }
    });
}

#[test]
fn the_text_of_a_type_reads_back_as_the_type() {
    for_each_case(|_, ty, _| assert_eq!(Type::parse(&ty.to_string()).unwrap(), *ty));
}

#[test]
fn slicing_and_wrapping_equal_the_same_on_a_list() {
    for_each_case(|random, ty, values| {
        let vector = random.encode(ty, values);
        let start = random.random().below(values.len() + 1);
        let len = random.random().below(values.len() - start + 1);
        let slice = Vector::slice(&vector, start, len).unwrap();
        check(&slice).unwrap();
        assert_vector_is(&slice, &values[start..start + len]);
        let rows = indices(random, values.len());
        let wrapped = Vector::wrap(&vector, &Buffer::from_slice(&rows));
        check(&wrapped).unwrap();
        assert_vector_is(&wrapped, &picked(values, &rows));
    });
}

#[test]
fn gathering_and_flattening_give_the_rows_without_wrappers() {
    for_each_case(|random, ty, values| {
        let vector = random.encode(ty, values);
        let flat = flatten(&vector).unwrap();
        check(&flat).unwrap();
        assert_flat(&flat);
        assert_vector_is(&flat, values);
        let rows = indices(random, values.len());
        let gathered = gather(&vector, &rows).unwrap();
        check(&gathered).unwrap();
        assert_flat(&gathered);
        assert_vector_is(&gathered, &picked(values, &rows));
    });
}

#[test]
fn concatenating_gives_all_rows_in_order() {
    for_each_case(|random, ty, values| {
        let mut expected = values.to_vec();
        let mut parts = vec![random.encode(ty, values)];
        for _ in 0..random.random().below(4) {
            let num_rows = random.random().below(20);
            let more = random.values(ty, num_rows);
            parts.push(random.encode(ty, &more));
            expected.extend(more);
        }
        let joined = concat(&parts).unwrap();
        check(&joined).unwrap();
        assert_flat(&joined);
        assert_vector_is(&joined, &expected);
    });
}

#[test]
fn batches_are_gathered_and_concatenated_with_the_nulls_of_their_rows() {
    for_each_case(|random, _, values| {
        let row_type = Arc::new(random.row_type(3, 1));
        let ty = Type::Row(Arc::clone(&row_type));
        let (mut batches, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..random.random().below(4) {
            let rows = random.values(&ty, values.len());
            let Vector::Row(batch) = random.encode_flat(&ty, &rows).as_ref().clone() else {
                unreachable!("not a row vector")
            };
            batches.push(batch);
            expected.extend(rows);
        }
        let joined = concat_batches(&row_type, &batches).unwrap();
        check_batch(&joined).unwrap();
        assert_vector_is(&Arc::new(joined.clone().into()), &expected);
        let rows = indices(random, expected.len());
        let gathered = gather_batch(&joined, &rows).unwrap();
        check_batch(&gathered).unwrap();
        assert_vector_is(&Arc::new(gathered.into()), &picked(&expected, &rows));
    });
}

#[test]
fn building_row_by_row_from_any_encoding_gives_the_rows() {
    for_each_case(|random, ty, values| {
        let decoded = DecodedVector::new(&random.encode(ty, values)).unwrap();
        let mut builder = VectorBuilder::new(ty.clone());
        (0..values.len()).try_for_each(|i| builder.push_from(&decoded, i)).unwrap();
        assert_vector_is(&builder.finish().unwrap(), values);
    });
}

#[test]
fn equal_rows_hash_equal_under_any_encoding() {
    for_each_case(|random, ty, values| {
        let hashes = |vector: VectorRef| {
            let mut hashes = vec![17; vector.len()];
            hash_into(&DecodedVector::new(&vector).unwrap(), &mut hashes).unwrap();
            hashes
        };
        let first = hashes(random.encode(ty, values));
        assert_eq!(hashes(random.encode(ty, values)), first);
        assert_eq!(hashes(random.encode_flat(ty, values)), first);
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate().skip(i + 1) {
                assert_eq!(a == b, first[i] == first[j], "rows {i} and {j}: {a:?} {b:?}");
            }
        }
    });
}

#[test]
fn rows_compare_as_their_values_do() {
    for_each_case(|random, ty, values| {
        let num_rows = random.random().below(20);
        let others = random.values(ty, num_rows);
        let (left, right) = (random.encode(ty, values), random.encode(ty, &others));
        let (a, b) = (DecodedVector::new(&left).unwrap(), DecodedVector::new(&right).unwrap());
        let comparator = RowComparator::new(&[left], &[right]).unwrap();
        for (i, x) in values.iter().enumerate() {
            for (j, y) in others.iter().enumerate() {
                let expected = x.compare(y);
                assert_eq!(comparator.compare(0, i, j), expected, "{x:?} {y:?}");
                assert_eq!(compare_rows(&a, i, &b, j).unwrap(), expected, "{x:?} {y:?}");
                assert_eq!(equal_rows(&a, i, &b, j).unwrap(), expected.is_eq(), "{x:?} {y:?}");
            }
        }
    });
}

#[test]
fn sorting_is_stable_and_follows_every_order() {
    for_each_case(|random, ty, values| {
        let key = random.encode(ty, values);
        for (descending, nulls_first) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut expected: Vec<u32> = (0..values.len() as u32).collect();
            expected.sort_by(|i, j| {
                let (x, y) = (&values[*i as usize], &values[*j as usize]);
                match (x.is_null(), y.is_null()) {
                    (false, false) if descending => y.compare(x),
                    (false, false) => x.compare(y),
                    (x, y) if nulls_first => y.cmp(&x),
                    (x, y) => x.cmp(&y),
                }
            });
            let order = SortOrder { descending, nulls_first };
            let sorted = sorted_rows(std::slice::from_ref(&key), &[order], values.len()).unwrap();
            assert_eq!(sorted.as_slice(), expected);
        }
    });
}

#[test]
fn hand_broken_dictionaries_are_found() {
    let base = bigints(&[Some(1), None]);
    let validity: Bitmap = [true, true, false].into_iter().collect();
    let broken = DictionaryVector::over_with_validity(
        Arc::clone(&base),
        Buffer::from_slice(&[0u32, 2, 9]),
        Some(validity),
    );
    let broken: VectorRef = Arc::new(Vector::Dictionary(broken));
    let outer = Vector::wrap(&broken, &Buffer::from_slice(&[2u32]));
    let text = check(&outer).unwrap_err().to_string();
    assert!(text.contains("a dictionary index is outside of the base (index=2 base=2)"), "{text}");
}

#[test]
fn the_convenience_constructors_hold_what_they_were_given() {
    let batch = batch_of_vectors(&[
        ("b", booleans(&[Some(true), None])),
        ("i", integers(&[Some(-1), Some(2)])),
        ("d", doubles(&[None, Some(0.5)])),
        ("s", varchars(&[Some("x"), Some("a string longer than a view")])),
        ("t", dates(&[Some(0), None])),
        ("p", decimals(5, 2, &[Some(-5), None])),
    ]);
    let same = batch_of(&[
        ("b", Type::Boolean, vec![Value::Boolean(true), Value::Null]),
        ("i", Type::Integer, vec![Value::Integer(-1), Value::Integer(2)]),
        ("d", Type::Double, vec![Value::Null, Value::Double(0.5)]),
        ("s", Type::Varchar, vec![Value::bytes("x"), Value::bytes("a string longer than a view")]),
        ("t", Type::Date, vec![Value::Integer(0), Value::Null]),
        ("p", Type::Decimal { precision: 5, scale: 2 }, vec![Value::BigInt(-5), Value::Null]),
    ]);
    assert_batches_equal(&batch, &same);
    assert_eq!(rows_of(&batch)[1][3], Value::bytes("a string longer than a view"));
    assert_eq!(
        crate::print::print_rows(&batch, 1).unwrap(),
        "2 rows of ROW(b BOOLEAN,i INTEGER,d DOUBLE,s VARCHAR,t DATE,p DECIMAL(5,2))\n\
         0: b=true i=-1 d=NULL s=\"x\" t=1970-01-01 p=-0.05\n... 1 more\n"
    );
}

#[test]
#[should_panic(expected = "row 1 of type BIGINT differs: found 2, expected NULL")]
fn unequal_vectors_are_told_apart_by_their_first_difference() {
    assert_vectors_equal(&bigints(&[Some(1), Some(2)]), &bigints(&[Some(1), None]));
}
