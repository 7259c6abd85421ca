//! Conversion of required subfield paths to the nested spec of a column (rules S3.7 to S3.18).
//!
//! ```text
//! c.a, c.m["k"], c.l[3]      c ROW(a, b, m MAP, l ARRAY)
//!    -> Row( a, pruned, Map(keys in {"k"}, values), Array(3 elements) )
//! ```
//!
//! A path that only a filter uses makes its field readable and has no other effect. Several paths
//! select the union of what each one selects.

use std::collections::HashMap;

use dwio::filter::{Bound, BoundRange, Filter, ValueTest};
use dwio::scan_spec::{ColumnSpec, FieldSpec, NestedSpec};
use dwio::subfield::{PathElement, Subfield};
use vector::sync::Arc;
use vector::{Error, Result, ResultExt, RowType, Type};

/// Path of a required subfield, or of one that only a filter uses.
#[derive(Debug, Clone, Copy)]
struct SubfieldPath<'a> {
    path: &'a [PathElement],
    filter_only: bool,
}

/// Returns the nested spec of column `name`: the `required` paths, or the whole column if there are
/// none, and the paths that `filters` use.
///
/// # Errors
/// `InvalidInput` for an unknown struct field or an array subscript below 1, `Internal` for a
/// subscript that does not fit its type, `Unsupported` for a map key type without subscripts.
pub(crate) fn nested_spec(
    name: &str,
    ty: &Type,
    required: &[Subfield],
    filters: &[(Subfield, Arc<Filter>)],
) -> Result<NestedSpec> {
    if required.is_empty() {
        return Ok(NestedSpec::Whole);
    }
    let required = required.iter().map(|s| SubfieldPath { path: s.path(), filter_only: false });
    let paths: Vec<_> = required.chain(filter_paths(name, filters)).collect();
    below(ty, &paths, 1).in_named("column", name)
}

/// Returns the nested spec of column `name`, which is not in the output and is read only for
/// filters (rules S3.12, S5.24).
///
/// # Errors
/// As [`nested_spec`].
pub(crate) fn filter_only_spec(
    name: &str,
    ty: &Type,
    filters: &[(Subfield, Arc<Filter>)],
) -> Result<NestedSpec> {
    let paths: Vec<_> = filter_paths(name, filters).collect();
    below(ty, &paths, 1).in_named("column", name)
}

fn filter_paths<'a>(
    name: &'a str,
    filters: &'a [(Subfield, Arc<Filter>)],
) -> impl Iterator<Item = SubfieldPath<'a>> {
    let own = filters.iter().filter(move |(s, _)| s.column_name() == name);
    own.map(|(s, _)| SubfieldPath { path: s.path(), filter_only: true })
}

fn below(ty: &Type, paths: &[SubfieldPath<'_>], level: usize) -> Result<NestedSpec> {
    if paths.iter().any(|p| !p.filter_only && p.path.len() <= level) {
        return Ok(NestedSpec::Whole);
    }
    match ty {
        Type::Row(row) => fields(row, paths, level),
        Type::Array(element) => elements(element, paths, level),
        Type::Map(key, value) => entries(key, value, paths, level),
        // Path elements below a scalar are ignored (rule S3.17).
        _ => Ok(NestedSpec::Whole),
    }
}

/// Returns the spec of a struct. Fields that no path names are pruned (rules S3.11, S3.12).
fn fields(row: &RowType, paths: &[SubfieldPath<'_>], level: usize) -> Result<NestedSpec> {
    let mut by_name: HashMap<&str, Vec<SubfieldPath<'_>>> = HashMap::new();
    for path in paths {
        let Some(step) = path.path.get(level) else { continue };
        match step {
            PathElement::Field(name) if row.index_of(name).is_some() => {
                by_name.entry(name).or_default().push(*path);
            }
            _ => {
                return Err(Error::invalid_input("a subfield names no field of its struct")
                    .with("step", format_args!("{step:?}"))
                    .with("struct", row));
            }
        }
    }
    let fields = row.fields().enumerate().map(|(channel, (name, ty))| {
        let Some(here) = by_name.get(name) else { return Ok(FieldSpec::Pruned) };
        let mut spec = ColumnSpec::whole(name, ty.clone(), channel);
        spec.nested = below(ty, here, level + 1)?;
        Ok(FieldSpec::Wanted(spec))
    });
    Ok(NestedSpec::Row(fields.collect::<Result<_>>()?))
}

/// Returns the spec of an array, limited to its first elements up to the largest subscript (rule
/// S3.16).
fn elements(element: &Type, paths: &[SubfieldPath<'_>], level: usize) -> Result<NestedSpec> {
    let steps = || paths.iter().filter_map(|p| p.path.get(level));
    let mut max_elements = 0;
    for step in steps() {
        match step {
            PathElement::All => {
                max_elements = usize::MAX;
                break;
            }
            PathElement::Index(index) if *index > 0 => {
                let index = usize::try_from(*index).unwrap_or(usize::MAX);
                max_elements = max_elements.max(index.min(i32::MAX as usize));
            }
            PathElement::Index(index) => {
                return Err(Error::invalid_input(
                    "non-positive array subscript cannot be pushed down",
                )
                .with("subscript", index));
            }
            other => return Err(misfit(other, "an array")),
        }
    }
    // A path that ends here belongs to a filter on the list itself, which needs all elements.
    let max_elements = if steps().next().is_none() { usize::MAX } else { max_elements };
    let mut spec = entry("element", element);
    spec.nested = below(element, &deeper(paths, level), level + 1)?;
    Ok(NestedSpec::Array { element: Box::new(spec), max_elements })
}

/// Returns the spec of a map, with a filter on the requested keys (rules S3.13, S3.15). Entries
/// with a null key are never read (S3.19).
fn entries(
    key: &Type,
    value: &Type,
    paths: &[SubfieldPath<'_>],
    level: usize,
) -> Result<NestedSpec> {
    let steps: Vec<&PathElement> = paths.iter().filter_map(|p| p.path.get(level)).collect();
    let mut key_spec = entry("key", key);
    let all = steps.is_empty() || steps.iter().any(|step| **step == PathElement::All);
    let filter = if all { Filter::IsNotNull } else { key_filter(key, &steps)? };
    key_spec.filter = Some(Arc::new(filter));
    let mut value_spec = entry("value", value);
    value_spec.nested = below(value, &deeper(paths, level), level + 1)?;
    Ok(NestedSpec::Map { key: Box::new(key_spec), value: Box::new(value_spec) })
}

fn entry(name: &str, ty: &Type) -> ColumnSpec {
    let mut spec = ColumnSpec::whole(name, ty.clone(), 0);
    spec.channel = None;
    spec
}

/// Returns the paths that continue below a list or map.
fn deeper<'a>(paths: &[SubfieldPath<'a>], level: usize) -> Vec<SubfieldPath<'a>> {
    let deeper: Vec<_> = paths.iter().filter(|p| p.path.len() > level).copied().collect();
    // No path continues, but the elements still need a spec.
    if deeper.is_empty() { vec![SubfieldPath { path: &[], filter_only: false }] } else { deeper }
}

fn misfit(step: &PathElement, what: &'static str) -> Error {
    Error::internal("a subscript does not fit what it is applied to")
        .with("subscript", format_args!("{step:?}"))
        .with("applied_to", what)
}

fn key_filter(key: &Type, steps: &[&PathElement]) -> Result<Filter> {
    if matches!(key, Type::Varchar | Type::Varbinary) {
        let keys = steps.iter().map(|step| match step {
            PathElement::Key(key) => Ok(Arc::clone(key)),
            other => Err(misfit(other, "a map with string keys")),
        });
        return Ok(Filter::bytes_values(keys.collect::<Result<_>>()?, false));
    }
    let keys = steps.iter().map(|step| match step {
        PathElement::Index(index) => Ok(*index),
        other => Err(misfit(other, "a map with keys that are no strings")),
    });
    let mut keys = keys.collect::<Result<Vec<i64>>>()?;
    keys.sort_unstable();
    keys.dedup();
    match key {
        Type::Double => {
            let ranges = keys.into_iter().map(|k| ValueTest::DoubleRange(truncating_to_f64(k)));
            Ok(Filter::multi_range(ranges.collect(), false))
        }
        Type::Real => {
            let ranges = keys.into_iter().map(|k| ValueTest::FloatRange(truncating_to_f32(k)));
            Ok(Filter::multi_range(ranges.collect(), false))
        }
        ty if ty.is_integer() => Ok(Filter::bigint_values(keys, false)),
        other => {
            Err(Error::unsupported("subscripts of maps with keys of this type")
                .with("key_type", other))
        }
    }
}

/// Returns the range of keys that truncate to the integer `k`, for one float type (rule S3.14).
macro_rules! truncating_to {
    ($name:ident, $float:ty) => {
        fn $name(k: i64) -> BoundRange<$float> {
            let at = k as $float;
            let above = if at + 1.0 > at { at + 1.0 } else { at.next_up() };
            let below = if at - 1.0 < at { at - 1.0 } else { at.next_down() };
            let unbounded = Bound::Unbounded;
            let (lower, upper) = match k {
                i64::MIN => (unbounded, Bound::Inclusive(at)),
                i64::MAX => (Bound::Inclusive(at), unbounded),
                0 => (Bound::Exclusive(-1.0), Bound::Exclusive(1.0)),
                1.. => (Bound::Inclusive(at), Bound::Exclusive(above)),
                _ => (Bound::Exclusive(below), Bound::Inclusive(at)),
            };
            BoundRange { lower, upper }
        }
    };
}

truncating_to!(truncating_to_f64, f64);
truncating_to!(truncating_to_f32, f32);
