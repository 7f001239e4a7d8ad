//! Panics in code that users wrote, caught.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code that users wrote. A panic in it comes back as its message.
///
/// Nothing that the code has touched is used again after a panic, except to be dropped.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(message_of)
}

/// Drops a value that users wrote. A panic in its `Drop` is ignored.
pub(crate) fn discard<T>(value: T) {
    let _ = caught(|| drop(value));
}

/// The message of a panic, if it had one.
pub(crate) fn message_of(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    // What was thrown is the user's as well, and may panic when it is dropped, any number of times.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    text.unwrap_or_else(|| "no message".to_owned())
}
