//! Fields of JSON values, without a panic.

use cupel_json::whole_characters;
use serde_json::Value;

/// Reads JSON that was found to be well formed already. Half of a surrogate pair reads as U+FFFD; what cannot be
/// read, such as lists in lists beyond a depth, is null.
pub(crate) fn read(json: &str) -> Value {
    let read = serde_json::from_str(json).ok();
    read.or_else(|| serde_json::from_str(&whole_characters(json)).ok()).unwrap_or_default()
}

/// A field of an object; null where there is none.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// Text in a field; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    field(value, name).as_str().unwrap_or_default()
}
