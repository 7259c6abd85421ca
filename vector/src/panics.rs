//! Conversion of panics to errors.
//!
//! A query runs code from outside of Ocior: connectors, file systems, functions, writers and
//! callbacks. A panic in such code ends its query with an `Internal` error and has no other effect.
//!
//! A panic may leave the state that it unwinds through inconsistent. The caller must not use that
//! state again, except to drop it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs `run` and converts a panic to an `Internal` error.
///
/// # Errors
/// The error of `run`; `Internal` with `message` if `run` panics, with the text of the panic in the
/// field `panic`.
pub fn catch_panic<T>(message: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|payload| Err(Error::internal(message).with("panic", text_of(payload))))
}

/// Runs `run` and discards its panic, whose message the panic hook has already written. It is meant
/// for code whose failure must not affect its caller: callbacks and destructors.
pub fn ignore_panic(run: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        text_of(payload);
    }
}

/// Returns the text of a panic's payload and drops the payload.
fn text_of(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    let text = match payload.downcast_ref::<&'static str>() {
        Some(text) => (*text).to_string(),
        None => "a value that is no text".to_string(),
    };
    // Dropping the payload may panic as well; the payload of that second panic is leaked.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
    text
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::panic::resume_unwind;

    struct PanicsWhenDropped;

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            // This acts like a panic, but does not call the panic hook.
            resume_unwind(Box::new(1));
        }
    }

    fn error_of(payload: Box<dyn Any + Send>) -> Error {
        catch_panic::<()>("this failed", || resume_unwind(payload)).unwrap_err()
    }

    #[test]
    fn a_panic_is_an_internal_error_with_its_text() {
        let error = error_of(Box::new("index 7"));
        assert_eq!((error.kind(), error.field("panic")), (ErrorKind::Internal, Some("index 7")));
        assert_eq!(error.message(), "this failed");
        let error = error_of(Box::new("index 8".to_string()));
        assert_eq!(error.field("panic"), Some("index 8"));
        let error = error_of(Box::new(PanicsWhenDropped));
        assert_eq!(error.field("panic"), Some("a value that is no text"));
        assert_eq!(catch_panic("", || Ok(3)).unwrap(), 3);
        ignore_panic(|| resume_unwind(Box::new(PanicsWhenDropped)));
    }
}
