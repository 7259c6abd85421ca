//! Functions of arrays and maps.

use vector::{Result, Type, Vector};

use super::kernel::{Argument, Kernel, wrong_storage};
use super::string::numbers;

/// The number of elements or entries.
pub(super) fn cardinality(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let argument = &call.args[0];
        let lengths = match argument.base().as_ref() {
            Vector::Array(array) => array.lengths(),
            Vector::Map(map) => map.lengths(),
            other => return Err(wrong_storage(other.ty())),
        };
        numbers(call, |row| i64::from(lengths[argument.index(row)]))
    }))
}
