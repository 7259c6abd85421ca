//! `contains`: whether an array has an element.

use vector::stop::StopTick;
use vector::{BitmapMut, DecodedVector, Error, FlatVector, Result, Type, Vector, equal_rows};

use crate::expr::by_row::ROWS_PER_LOOK;
use crate::expr::coercion::common_type;
use crate::expr::kernel::{Argument, Kernel, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] =
    &[Function::scalar("contains", &["(ARRAY(T), T) -> BOOLEAN"], contains).with_rule(member)];

/// Resolves an array and a value of the common type of its elements.
fn member(types: &[Type]) -> Option<Resolved> {
    let [Type::Array(element), wanted] = types else { return None };
    let common = common_type(element, wanted)?;
    let args = vec![Type::array(common.clone()), common];
    Some(Resolved::new(args, Type::Boolean))
}

/// Returns true when an element equals the value; null when none does and an element is null.
fn contains(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let [container, wanted] = call.args else {
            return Err(Error::internal("contains has two arguments"));
        };
        let Vector::Array(array) = container.base().as_ref() else {
            return Err(wrong_storage(container.ty()));
        };
        let elements = DecodedVector::new(array.elements())?;
        let (mut found, mut known) = (BitmapMut::new(), BitmapMut::new());
        let mut tick = StopTick::every(ROWS_PER_LOOK);
        for row in 0..call.num_rows() {
            tick.row()?;
            let (mut is_found, mut has_null) = (false, false);
            if call.rows.contains(row) {
                for at in array.span(container.index(row)) {
                    if elements.is_null(at) {
                        has_null = true;
                    } else if equal_rows(&elements, at, wanted, row)? {
                        is_found = true;
                        break;
                    }
                }
            }
            found.push(is_found);
            known.push(call.rows.contains(row) && (is_found || !has_null));
        }
        FlatVector::boolean(found.freeze(), known.freeze_validity()).map(Vector::Flat)
    }))
}
