//! A turn beside the one before it.

use crate::data::{explain, items};
use crate::{assert_quiet, browser, open};

#[test]
fn what_is_kept_new_and_dropped_is_what_the_reports_say() {
    let mut browser = browser!();
    let all = items(320);
    let before = explain(&all[..300], 6_000);
    // Some candidates are gone, some are new, and there is less room.
    let now = explain(&all[10..], 5_500);
    let difference = now.since(&before);
    let mut tab = open(&mut browser, &now.page().previous(&before).to_string());
    let (kept, new, dropped) =
        (difference.kept.len(), difference.new.len(), difference.dropped.len());
    assert!(kept > 0 && new > 0 && dropped > 0);
    let moved = tab.text("#moved").unwrap();
    assert_eq!(moved, format!("{kept} kept, {new} new, {dropped} dropped"));

    for (value, expected) in [("k", kept), ("n", new), ("d", dropped)] {
        tab.choose("#filter-change", value).unwrap();
        let status = tab.text("#status").unwrap();
        assert!(status.starts_with(&format!("{expected} of ")), "{value}: {status}");
    }
    // What is no candidate any more says so, and is in no other count.
    assert!(tab.text("#rows").unwrap().contains("NoCandidate"));
    tab.click("#reset").unwrap();
    assert!(tab.text("#status").unwrap().starts_with("310 items"));
    assert!(!tab.text("#rows").unwrap().contains("NoCandidate"));
    assert_quiet(&mut tab);
}

#[test]
fn the_end_of_the_shared_prefix_is_shown() {
    let mut browser = browser!();
    let all = items(40);
    let mut before = explain(&all, 8_000);
    let mut now = before.clone();
    now.report.included.truncate(12);
    before.report.included.truncate(10);
    before.report.included.swap(7, 8);
    let mut tab = open(&mut browser, &now.page().previous(&before).to_string());
    let tokens: i64 = now.report.included[..7].iter().map(|entry| entry.item.tokens()).sum();
    let prefix = tab.text("#prefix").unwrap();
    assert!(
        prefix.starts_with(&format!("The first 7 items are the same, {tokens} tokens")),
        "{prefix}"
    );
    let broke = tab.text(".broke").unwrap();
    let begins = |at: usize, call: &cupel::explain::Explanation| {
        call.report.included[at].item.content().chars().take(12).collect::<String>()
    };
    assert!(broke.contains(&begins(7, &before)) && broke.contains(&begins(7, &now)), "{broke}");
    // A strip for each call; the shared part is as wide in both.
    let widths = tab
        .eval("[...document.querySelectorAll('.strip')].map((s) => parseFloat(s.firstChild.style.width))")
        .unwrap();
    assert_eq!(widths[0], widths[1]);

    drop(tab);
    let same = now.clone();
    let mut tab = open(&mut browser, &now.page().previous(&same).to_string());
    assert_eq!(tab.text("#prefix").unwrap(), "The same selection, in the same order.");
}
