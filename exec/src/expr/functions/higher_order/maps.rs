//! Higher-order functions of maps.

use vector::print::value_text;
use vector::sync::Arc;
use vector::{
    DecodedVector, Error, MapVector, Result, Type, Vector, VectorRef, equal_rows, hash_into,
};

use super::elements::{Elements, Lists, Shape};
use super::is_test;
use crate::expr::lambda_call::{HigherOrder, LambdaCall};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::higher_order(
        "map_filter",
        &["(MAP(K,V), (K, V) -> BOOLEAN) -> MAP(K,V)"],
        HigherOrder::new(entry, filter),
    )
    .with_rule(map_filter_types),
    Function::higher_order(
        "transform_keys",
        &["(MAP(K,V), (K, V) -> L) -> MAP(L,V)"],
        HigherOrder::new(entry, transform_keys),
    )
    .with_rule(transform_keys_types),
    Function::higher_order(
        "transform_values",
        &["(MAP(K,V), (K, V) -> W) -> MAP(K,W)"],
        HigherOrder::new(entry, transform_values),
    )
    .with_rule(transform_values_types),
];

fn map_filter_types(types: &[Type]) -> Option<Resolved> {
    let [map @ Type::Map(..), test] = types else { return None };
    is_test(test).then(|| Resolved::new(vec![map.clone(), Type::Boolean], map.clone()))
}

fn transform_keys_types(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(_, value), key] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Map(Arc::new(key.clone()), Arc::clone(value))))
}

fn transform_values_types(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(key, _), value] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Map(Arc::clone(key), Arc::new(value.clone()))))
}

/// Returns the parameters of a lambda over the entries of a map.
fn entry(args: &[&Type]) -> Option<Vec<Vec<Type>>> {
    let [Type::Map(key, value)] = args else { return None };
    Some(vec![vec![Type::clone(key), Type::clone(value)]])
}

fn map(shape: Shape, keys: VectorRef, values: VectorRef) -> Result<Vector> {
    MapVector::new(shape.offsets, shape.lengths, shape.validity, keys, values).map(Vector::Map)
}

/// Returns the entries of the selected rows and the results of the lambda for them; `None` when
/// there are no maps.
fn asked(call: &LambdaCall<'_>, lists: &Lists) -> Result<Option<(Elements, VectorRef)>> {
    let Some((keys, values)) = lists.map()? else { return Ok(None) };
    let entries = lists.elements(call.rows)?;
    let parameters = vec![entries.of(keys)?, entries.of(values)?];
    let answers = call.lambda(0)?.evaluate(parameters, &|| entries.shape.rows())?;
    Ok(Some((entries, answers)))
}

/// Returns the keys and the values of the entries.
fn sides(lists: &Lists, entries: &Elements) -> Result<(VectorRef, VectorRef)> {
    let (keys, values) = lists.map()?.ok_or_else(|| Error::internal("a map without entries"))?;
    Ok((entries.of(keys)?, entries.of(values)?))
}

fn null(call: &LambdaCall<'_>) -> Vector {
    Vector::nulls(call.ty.clone(), call.rows.len())
}

/// Returns the entries for which the lambda is true.
fn filter(call: &LambdaCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some((entries, test)) = asked(call, &lists)? else { return Ok(null(call)) };
    let kept = entries.kept(&test)?;
    let (keys, values) = sides(&lists, &kept)?;
    map(kept.shape, keys, values)
}

/// Replaces each value by the result of the lambda.
fn transform_values(call: &LambdaCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some((entries, values)) = asked(call, &lists)? else { return Ok(null(call)) };
    let (keys, _) = sides(&lists, &entries)?;
    map(entries.shape, keys, values)
}

/// Replaces each key by the result of the lambda.
///
/// # Errors
/// `InvalidInput` where the result is null or a duplicate key.
fn transform_keys(call: &LambdaCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some((entries, keys)) = asked(call, &lists)? else { return Ok(null(call)) };
    check_keys(&DecodedVector::new(&keys)?, &entries.shape)?;
    let (_, values) = sides(&lists, &entries)?;
    map(entries.shape, keys, values)
}

fn check_keys(keys: &DecodedVector, shape: &Shape) -> Result<()> {
    let mut hashes = vec![0; keys.len()];
    hash_into(keys, &mut hashes)?;
    for (start, len) in shape.offsets.iter().zip(shape.lengths.iter()) {
        let mut of_row: Vec<usize> = (*start as usize..(*start + *len) as usize).collect();
        if of_row.iter().any(|key| keys.is_null(*key)) {
            return Err(Error::invalid_input("a key of a map is null"));
        }
        of_row.sort_by_key(|key| hashes[*key]);
        for same in of_row.chunk_by(|a, b| hashes[*a] == hashes[*b]) {
            for (i, key) in same.iter().enumerate() {
                for other in &same[..i] {
                    if equal_rows(keys, *key, keys, *other)? {
                        let text = value_text(keys.ty(), &keys.value(*key)?);
                        return Err(Error::invalid_input("a map has a key twice").with("key", text));
                    }
                }
            }
        }
    }
    Ok(())
}
