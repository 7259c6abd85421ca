//! Merges the branches of a CASE into one vector, with each row from the branch that was chosen for
//! it.

use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, BufferMut, DecodedVector, FlatType, FlatValues, FlatVector, Mapping, Result,
    SelectivityVector, StringValues, StringView, Timestamp, Type, TypeKind, Vector, VectorBuilder,
    VectorRef, bits,
};

use super::kernel::{boolean_bits, for_each_row, wrong_storage};

/// A vector and the rows that take their value from it.
pub(super) struct Part {
    pub(super) rows: SelectivityVector,
    pub(super) vector: VectorRef,
}

/// Returns the vector of type `ty` in which each row of a part has the value of the part, and the
/// other rows of `rows` are null. Parts are disjoint subsets of `rows`.
pub(super) fn merge(ty: &Type, rows: &SelectivityVector, parts: &[Part]) -> Result<VectorRef> {
    match parts {
        [] => return Ok(Arc::new(Vector::nulls(ty.clone(), rows.len()))),
        [only] if only.rows.words() == rows.words() => return Ok(Arc::clone(&only.vector)),
        _ => {}
    }
    let mut decoded = Vec::with_capacity(parts.len());
    for part in parts {
        decoded.push((&part.rows, DecodedVector::new(&part.vector)?));
    }
    // An all-null part would not have the storage expected below.
    let validity = merged_validity(rows, &decoded);
    decoded.retain(|(_, values)| !values.all_null());
    let values = match ty.kind() {
        TypeKind::Boolean => FlatValues::Boolean(booleans(rows.len(), &decoded)?),
        TypeKind::TinyInt => i8::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::SmallInt => i16::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::Integer => i32::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::BigInt => i64::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::HugeInt => i128::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::Real => f32::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::Double => f64::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::Timestamp => Timestamp::wrap(fixed(rows.len(), &decoded)?),
        TypeKind::Varchar | TypeKind::Varbinary => {
            FlatValues::String(strings(rows.len(), &decoded)?)
        }
        TypeKind::Array | TypeKind::Map | TypeKind::Row | TypeKind::Unknown => {
            return row_by_row(ty, rows.len(), &decoded);
        }
    };
    Ok(Arc::new(Vector::Flat(FlatVector::new(ty.clone(), values, validity)?)))
}

type Decoded<'a> = (&'a SelectivityVector, DecodedVector);

/// Rows outside of `rows` count as valid, so that a result without nulls has no validity.
fn merged_validity(rows: &SelectivityVector, parts: &[Decoded<'_>]) -> Option<Bitmap> {
    let mut words = rows.words().to_vec();
    bits::not_assign(&mut words);
    for (taken, values) in parts {
        let mut valid = (*taken).clone();
        valid.deselect_nulls(values.validity());
        bits::or_assign(&mut words, valid.words());
    }
    let complete = bits::all_ones(&words, rows.len());
    (!complete).then(|| Bitmap::new(words.into_iter().collect(), rows.len()))
}

fn fixed<T: FlatType + Default>(len: usize, parts: &[Decoded<'_>]) -> Result<Buffer<T>> {
    let constants = parts.iter().enumerate();
    let constants = constants.filter(|(_, (_, v))| matches!(v.mapping(), Mapping::Constant));
    // The most frequent constant is written to all rows at once, before the other parts.
    let everywhere = constants.max_by_key(|(_, (rows, _))| rows.count()).map(|(part, _)| part);
    let mut out = BufferMut::new();
    match everywhere.map(|part| base_of::<T>(&parts[part].1)).transpose()? {
        Some(base) => out.resize(len, base[0]),
        None => out.resize(len, T::default()),
    }
    for (part, (rows, values)) in parts.iter().enumerate() {
        if Some(part) == everywhere {
            continue;
        }
        let base = base_of::<T>(values)?;
        let slots = out.as_mut_slice();
        match values.mapping() {
            Mapping::Identity => for_each_row(rows, |row| slots[row] = base[row]),
            Mapping::Constant => {
                let value = base[0];
                for_each_row(rows, |row| slots[row] = value);
            }
            Mapping::Indices(indices) => {
                for_each_row(rows, |row| slots[row] = base[indices[row] as usize]);
            }
        }
    }
    Ok(out.freeze())
}

fn base_of<T: FlatType>(values: &DecodedVector) -> Result<&[T]> {
    values.base_slice::<T>().ok_or_else(|| wrong_storage(values.ty()))
}

fn booleans(len: usize, parts: &[Decoded<'_>]) -> Result<Bitmap> {
    let mut words = vec![0u64; bits::words_for(len)];
    for (rows, values) in parts {
        let bits = boolean_bits(values)?;
        for ((word, selected), value) in words.iter_mut().zip(rows.words()).zip(bits.words()) {
            *word |= selected & value;
        }
    }
    Ok(Bitmap::new(words.into_iter().collect(), len))
}

fn strings(len: usize, parts: &[Decoded<'_>]) -> Result<StringValues> {
    let mut views = BufferMut::new();
    views.resize(len, StringView::default());
    let mut buffers: Vec<Buffer<u8>> = Vec::new();
    for (rows, values) in parts {
        let Some(FlatValues::String(strings)) = values.flat_values() else {
            return Err(wrong_storage(values.ty()));
        };
        let first = buffers.len() as u32;
        buffers.extend(strings.buffers().iter().cloned());
        // Null rows may hold any view; an empty view is safe to access.
        let valid = rows.iter().filter(|row| !values.is_null(*row));
        for row in valid {
            views[row] = strings.views()[values.index(row)].rebase(first);
        }
    }
    Ok(StringValues::new(views.freeze(), buffers))
}

fn row_by_row(ty: &Type, len: usize, parts: &[Decoded<'_>]) -> Result<VectorRef> {
    let mut out = VectorBuilder::new(ty.clone());
    for row in 0..len {
        match parts.iter().find(|(rows, _)| rows.contains(row)) {
            Some((_, values)) => out.push_from(values, row)?,
            None => out.push_null(),
        }
    }
    out.finish()
}
