//! The budget contract as a user sees it: checks, clamps, trimming, budgets, and files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "contract/bridge.rs"]
mod bridge;
#[path = "contract/check.rs"]
mod check;
#[path = "contract/clamp.rs"]
mod clamp;
#[path = "contract/history.rs"]
mod history;

#[cfg(feature = "config")]
#[path = "contract/bad_input.rs"]
mod bad_input;
#[cfg(feature = "config")]
#[path = "contract/cache.rs"]
mod cache;
#[cfg(feature = "config")]
#[path = "contract/folder.rs"]
mod folder;
#[cfg(feature = "config")]
#[path = "contract/limits.rs"]
mod limits;
#[cfg(feature = "config")]
#[path = "contract/loading.rs"]
mod loading;

use cupel::tokens::{TokenCounter, counter_fn};

/// A counter whose counts add up exactly: words.
fn words() -> impl TokenCounter + Clone {
    counter_fn("words", |text| text.split_whitespace().count() as i64)
}
