//! The page of an explanation in a real browser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "pages/alien.rs"]
mod alien;
#[path = "pages/data.rs"]
mod data;
#[path = "pages/difference.rs"]
mod difference;
#[path = "pages/hashes.rs"]
mod hashes;
#[path = "pages/list.rs"]
mod list;
#[path = "pages/looks.rs"]
mod looks;
#[path = "pages/numbers.rs"]
mod numbers;
#[path = "pages/served.rs"]
mod served;

use cupel_browser::{Browser, Tab};

/// Ends the test where there is no browser.
macro_rules! browser {
    () => {
        match cupel_browser::for_tests().unwrap() {
            Some(browser) => browser,
            None => return,
        }
    };
}
pub(crate) use browser;

/// Opens a page that must have nothing to complain about, and ask nobody for anything.
pub(crate) fn open<'b>(browser: &'b mut Browser, html: &str) -> Tab<'b> {
    let mut tab = browser.open_page(html).unwrap();
    assert_eq!(tab.eval("document.documentElement.dataset.ready").unwrap(), "true");
    assert_quiet(&mut tab);
    tab
}

pub(crate) fn assert_quiet(tab: &mut Tab<'_>) {
    assert_eq!(tab.errors().unwrap(), [""; 0]);
    let requests = tab.requests().unwrap();
    assert!(
        requests.iter().all(|url| url.starts_with("file://")) && requests.len() == 1,
        "{requests:?}"
    );
}
