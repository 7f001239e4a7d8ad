//! Work in which texts are not counted, but estimated.

use std::cell::Cell;

thread_local! {
    /// State of the work that this thread does.
    static HASTE: Cell<Haste> = const { Cell::new(Haste::No) };
}

/// Treatment of texts that are new.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    /// All texts are counted.
    No,
    /// New texts are estimated; none was so far.
    Yes,
    /// New texts are estimated, and some were.
    Estimated,
}

/// Runs work in which cached counters estimate texts that they do not know. Returns true beside its result if
/// they did.
pub(crate) fn with_estimates<T>(work: impl FnOnce() -> T) -> (T, bool) {
    let before = HASTE.replace(Haste::Yes);
    let done = work();
    (done, HASTE.replace(before) == Haste::Estimated)
}

/// Returns true if new texts are estimated on this thread.
pub(super) fn is_estimating() -> bool {
    HASTE.get() != Haste::No
}

/// Notes that a text was estimated.
pub(super) fn note_estimate() {
    HASTE.set(Haste::Estimated);
}
