//! Panics as errors.
//!
//! Code of other people runs inside of a query: connectors, file systems, functions, writers,
//! callbacks. A panic there ends that query with an `Internal` error and nothing else.
//!
//! State that was changed when the panic passed through it may be broken. The caller must not use it
//! again, except to drop it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs `run`. A panic becomes an `Internal` error with `message`, and the text of the panic in the
/// field `panic`.
pub fn catch_panic<T>(message: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|payload| Err(Error::internal(message).with("panic", text_of(payload))))
}

/// Runs `run` and drops its panic, whose message the panic hook has written already. For code whose
/// failure concerns nobody else: callbacks, and values that are dropped.
pub fn ignore_panic(run: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        text_of(payload);
    }
}

/// The text of a panic's payload, which is dropped.
fn text_of(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    let text = match payload.downcast_ref::<&'static str>() {
        Some(text) => (*text).to_string(),
        None => "a value that is no text".to_string(),
    };
    // Dropping a value may panic too; what that one's panic carries is not dropped any more.
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
            // As a panic, but that nothing is written.
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
