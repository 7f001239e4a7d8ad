//! What is attacked, one random case for every seed; the suite runs some of them, the example as
//! many as the time allows.

mod conversations;
mod parts;
mod pipelines;
mod random;

/// Runs the case of a seed; the error says which promise it broke.
pub(crate) type Case = fn(u64) -> Result<(), String>;

/// Every target by name, and how many cases of it take about a second without optimisation.
///
/// Another target is a file beside these, and a line here.
pub(crate) const TARGETS: [(&str, Case, u64); 2] =
    [("pipelines", pipelines::case, 3_000), ("conversations", conversations::case, 1_500)];

/// Fails with a message unless it holds.
fn ensure(holds: bool, promise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(promise()) }
}
