//! The models that the stand-in serves.

use serde_json::Value;

use super::RefusedItem;

/// Facts about a model in the stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    pub window: i64,
    pub max_output: i64,
    /// The shortest prefix that is cached.
    pub cached_from: i64,
    /// Thoughts are bound to what stood before them.
    pub binds: bool,
    /// Percent of the tokens that o200k has: the newer tokenizer has more.
    pub percent: i64,
}

/// `test-900` has a window of 900 tokens and caches from 256 on, `test-bound-900` binds thoughts,
/// `other-900` takes blocks of any type.
pub fn of(request: &Value) -> Result<Served, RefusedItem> {
    let name = request["model"].as_str().ok_or("model: Field required")?;
    let test = Served {
        window: 0,
        max_output: i64::MAX,
        cached_from: 256,
        binds: name.starts_with("test-bound-"),
        percent: 130,
    };
    for prefix in ["test-bound-", "test-", "other-"] {
        if let Some(window) = name.strip_prefix(prefix) {
            let window = window.parse().map_err(|_| format!("model: {name}"))?;
            return Ok(Served { window, ..test });
        }
    }
    match name {
        "claude-haiku-4-5" => {
            Ok(Served { window: 200_000, max_output: 64_000, cached_from: 4_096, ..test })
        }
        "claude-opus-5-5" => Ok(Served {
            window: 1_000_000,
            max_output: 128_000,
            cached_from: 512,
            binds: true,
            percent: 170,
        }),
        _ => {
            let message = format!("model: {name}");
            Err(RefusedItem { status: 404, kind: "not_found_error", message })
        }
    }
}

/// Returns true if blocks of unknown types pass.
pub fn is_open(request: &Value) -> bool {
    request["model"].as_str().is_some_and(|model| model.starts_with("other-"))
}
