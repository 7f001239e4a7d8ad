//! Targets of random tests, one case for every seed. The test suite runs some of them, the example
//! as many as the time allows.

mod calls;
mod conversations;
mod parts;
mod pipelines;
mod random;

/// Runs the case of a seed; the error says which promise it broke.
pub(crate) type Case = fn(u64) -> Result<(), String>;

/// Every target by name, and how many cases of it take about a second without optimisation.
///
/// Another target is a file beside these, and a line here.
pub(crate) const TARGETS: [(&str, Case, u64); 3] = [
    ("pipelines", pipelines::case, 3_000),
    ("conversations", conversations::case, 1_500),
    ("calls", calls::case, 20),
];

/// Prints the panics that no case makes on purpose, and no others.
pub(crate) fn hide_expected_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        if text.or(payload.downcast_ref::<String>().map(String::as_str)) != Some(calls::QUIET) {
            print(panic);
        }
    }));
}

/// Fails with a message unless it holds.
fn ensure(holds: bool, promise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(promise()) }
}
