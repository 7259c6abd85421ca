//! Selection of the first N rows in sort order, column by column.
//!
//! ```text
//! column 1    . # . = . # = =     N = 4: the 4th value is that of =, two rows are before it
//! column 2          3     1 2     of the rows with that value the next column picks two
//! ```
//!
//! A column is represented by its prefixes (`sort_prefix.rs`), whose Nth is found without sorting.
//! Only rows that are equal in all columns so far are compared in the next one.

use vector::{Buffer, Result, RowComparator, SortOrder, Vector, VectorRef};

use super::sort_prefix::{Prefixes, prefixes};

/// Returns the first `count` of `rows` by `keys`; both are ascending. Of equal rows those with
/// lower numbers are first. `first` are the prefixes of the first key for all rows of the batch.
pub(super) fn first_rows(
    keys: &[VectorRef],
    orders: &[SortOrder],
    first: &Prefixes,
    rows: Vec<u32>,
    count: usize,
) -> Result<Vec<u32>> {
    let mut sure: Vec<u32> = Vec::with_capacity(count.min(rows.len()));
    let mut open = rows;
    for column in 0..keys.len() {
        let wanted = count - sure.len();
        if open.len() <= wanted || wanted == 0 {
            break;
        }
        let (values, exact) = match column {
            0 => (open.iter().map(|row| first.values[*row as usize]).collect(), first.exact),
            _ => {
                let of_open = Vector::wrap(&keys[column], &Buffer::from_slice(&open));
                let of_open = prefixes(&of_open, orders[column])?;
                (of_open.values, of_open.exact)
            }
        };
        let mut ordered: Vec<u64> = values.clone();
        let (_, nth, _) = ordered.select_nth_unstable(wanted - 1);
        let mut same = Vec::new();
        for (row, value) in open.iter().zip(&values) {
            if value < nth {
                sure.push(*row);
            } else if value == nth {
                same.push(*row);
            }
        }
        open = same;
        let wanted = count - sure.len();
        if !exact && open.len() > wanted {
            let rest = (&keys[column..], &orders[column..]);
            let within = RowComparator::with_orders(rest.0, rest.0, rest.1)?;
            // Row numbers make the order total, so that an unstable selection keeps earlier rows.
            open.select_nth_unstable_by(wanted, |a, b| {
                within.compare_all(*a as usize, *b as usize).then(a.cmp(b))
            });
            open.truncate(wanted);
        }
    }
    // The remaining rows are equal in all columns, and ascending.
    open.truncate(count - sure.len());
    sure.extend(open);
    sure.sort_unstable();
    Ok(sure)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::sorted_rows;
    use vector::testing::Random;
    use vector::{Type, Value};

    #[test]
    fn the_first_rows_are_those_that_sorting_all_gives() {
        let words = ["", "a", "a long common beginning", "a long common end", "b"];
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let num_rows = random.below(200) + 1;
            let mut column = |ty: Type| {
                let values: Vec<Value> = (0..num_rows)
                    .map(|_| match (&ty, random.below(6)) {
                        (_, 5) => Value::Null,
                        (Type::Varchar, _) => Value::bytes(random.pick(&words)),
                        (_, value) => Value::BigInt(value as i64),
                    })
                    .collect();
                vector_of(&ty, &values).unwrap()
            };
            let types = [Type::BigInt, Type::Varchar, Type::BigInt];
            let keys: Vec<VectorRef> =
                types.into_iter().skip(seed as usize % 3).map(&mut column).collect();
            let orders: Vec<SortOrder> = keys
                .iter()
                .map(|_| SortOrder {
                    descending: random.chance(0.5),
                    nulls_first: random.chance(0.5),
                })
                .collect();
            let rows: Vec<u32> = (0..num_rows as u32).filter(|_| random.chance(0.7)).collect();
            let count = random.below(num_rows) + 1;
            let mut expected = sorted_rows(&keys, &orders, num_rows).unwrap().to_vec();
            expected.retain(|row| rows.contains(row));
            expected.truncate(count);
            expected.sort_unstable();
            let first = prefixes(&keys[0], orders[0]).unwrap();
            let found = first_rows(&keys, &orders, &first, rows, count).unwrap();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}
