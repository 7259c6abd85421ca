//! MIN and MAX of every type that has an order.
//!
//! The order is that of ORDER BY: NaN is above all numbers, strings are compared as bytes. Of
//! values that are equal the first one stays.

use std::cmp::Ordering;
use std::ops::Range;

use vector::build::vector_of;
use vector::sync::Arc;
use vector::types::value::compare_floats;
use vector::{
    Bitmap, Buffer, DecodedVector, Error, FlatType, FlatVector, Mapping, Result, StringBuilder,
    Timestamp, Type, TypeKind, Value, Vector, VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold, fold_rows};

/// The accumulator of the least (`min`) or greatest value of type `ty`.
pub(super) fn accumulator(ty: &Type, min: bool) -> Result<Box<dyn Accumulator>> {
    let ty = ty.clone();
    let wanted = if min { Ordering::Less } else { Ordering::Greater };
    macro_rules! fixed {
        ($t:ty, $order:expr) => {
            Box::new(Fixed::<$t, _> {
                ty,
                better: move |new: $t, old: $t| $order(&new, &old) == wanted,
                states: Vec::new(),
            })
        };
    }
    let float = |a: &f32, b: &f32| compare_floats(f64::from(*a), f64::from(*b));
    Ok(match ty.kind() {
        TypeKind::TinyInt => fixed!(i8, i8::cmp),
        TypeKind::SmallInt => fixed!(i16, i16::cmp),
        TypeKind::Integer => fixed!(i32, i32::cmp),
        TypeKind::BigInt => fixed!(i64, i64::cmp),
        TypeKind::HugeInt => fixed!(i128, i128::cmp),
        TypeKind::Timestamp => fixed!(Timestamp, Timestamp::cmp),
        TypeKind::Real => fixed!(f32, float),
        TypeKind::Double => fixed!(f64, |a: &f64, b: &f64| compare_floats(*a, *b)),
        TypeKind::Varchar | TypeKind::Varbinary => {
            Box::new(Strings { ty, wanted, states: Vec::new(), long_bytes: 0 })
        }
        TypeKind::Boolean | TypeKind::Array | TypeKind::Row => {
            Box::new(Values { ty, wanted, states: Vec::new() })
        }
        TypeKind::Map | TypeKind::Unknown => {
            return Err(Error::internal("values without an order").with("type", ty));
        }
    })
}

/// Least or greatest fixed-width values.
struct Fixed<T, F> {
    ty: Type,
    better: F,
    states: Vec<Option<T>>,
}

impl<T, F> Accumulator for Fixed<T, F>
where
    T: FlatType + Default,
    F: Fn(T, T) -> bool + Send,
{
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = &one(args)?.decoded;
        let Some(values) = arg.base_slice::<T>() else {
            return if arg.all_null() { Ok(()) } else { Err(wrong_type(arg.ty())) };
        };
        let better = &self.better;
        fold(groups, arg, values, &mut self.states, |state, value| match state {
            Some(old) if !better(value, *old) => {}
            _ => *state = Some(value),
        });
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let values: Buffer<T> = states.iter().map(|s| s.unwrap_or_default()).collect();
        let validity = validity(states);
        Ok(Arc::new(Vector::Flat(FlatVector::from_buffer(self.ty.clone(), values, validity)?)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<T>>()
    }
}

/// Least or greatest strings.
struct Strings {
    ty: Type,
    wanted: Ordering,
    states: Vec<Option<Box<[u8]>>>,
    long_bytes: usize,
}

impl Accumulator for Strings {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let (wanted, long_bytes) = (self.wanted, &mut self.long_bytes);
        let arg = &match groups {
            Groups::One { .. } => used_entries(&one(args)?.decoded)?,
            Groups::Each { .. } | Groups::Listed { .. } => one(args)?.decoded.clone(),
        };
        fold_rows(groups, arg, &mut self.states, |state, row| {
            let new = arg.string(row);
            match state {
                Some(old) if new.cmp(old) != wanted => {}
                _ => {
                    *long_bytes += new.len();
                    *long_bytes -= state.as_ref().map_or(0, |old| old.len());
                    *state = Some(new.into());
                }
            }
        });
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let mut strings = StringBuilder::new();
        for state in states {
            strings.push(state.as_deref().unwrap_or_default());
        }
        let values = vector::FlatValues::String(strings.finish());
        let vector = FlatVector::new(self.ty.clone(), values, validity(states))?;
        Ok(Arc::new(Vector::Flat(vector)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<Box<[u8]>>>() + self.long_bytes
    }
}

/// Each entry of a dictionary that some row uses, once; other columns as they are.
fn used_entries(column: &DecodedVector) -> Result<DecodedVector> {
    let Mapping::Indices(indices) = column.mapping() else { return Ok(column.clone()) };
    if column.base().len() > column.len() {
        return Ok(column.clone());
    }
    let mut used = vec![false; column.base().len()];
    match column.validity() {
        None => indices.iter().for_each(|index| used[*index as usize] = true),
        Some(validity) => validity.ones().for_each(|row| used[indices[row] as usize] = true),
    }
    let used = used.iter().enumerate().filter(|(_, used)| **used).map(|(index, _)| index as u32);
    DecodedVector::new(&Vector::wrap(column.base(), &used.collect()))
}

/// Least or greatest booleans and nested values, value by value.
struct Values {
    ty: Type,
    wanted: Ordering,
    states: Vec<Option<Value>>,
}

impl Accumulator for Values {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let wanted = self.wanted;
        let arg = &one(args)?.decoded;
        let mut outcome = Ok(());
        fold_rows(groups, arg, &mut self.states, |state, row| match arg.value(row) {
            Err(error) => outcome = Err(error),
            Ok(new) => match state {
                Some(old) if new.compare(old) != wanted => {}
                _ => *state = Some(new),
            },
        });
        outcome
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let null = Value::Null;
        vector_of(&self.ty, self.states[groups].iter().map(|s| s.as_ref().unwrap_or(&null)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<Value>>()
    }
}

fn validity<T>(states: &[Option<T>]) -> Option<Bitmap> {
    let validity: Bitmap = states.iter().map(Option::is_some).collect();
    (!validity.all_ones()).then_some(validity)
}

fn one(args: &[Column]) -> Result<&Column> {
    args.first().ok_or_else(|| Error::internal("a minimum or maximum without an argument"))
}

fn wrong_type(ty: &Type) -> Error {
    Error::internal("a column of another type than was compared before").with("type", ty)
}
