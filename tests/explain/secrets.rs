//! Texts left out are out, wherever they could hide.

use cupel::diagnostics::{ExcludedItem, ExclusionReason, IncludedItem, InclusionReason};
use cupel::explain::{Explanation, SourceTiming};
use cupel::{ContextItem, ContextKind, ContextSource, SelectionReport};

use crate::common::{budget, timed};

const SECRET: &str = "the secret words";

fn secret_item() -> ContextItem {
    ContextItem::builder(SECRET, 10)
        .kind(ContextKind::new(SECRET).unwrap())
        .source(ContextSource::new(SECRET).unwrap())
        .tag(SECRET)
        .metadata_entry(SECRET, SECRET)
        .build()
        .unwrap()
}

/// A report that has the words everywhere a report can hold them.
fn secretive() -> Explanation {
    let kind = ContextKind::new(SECRET).unwrap();
    let unknown = format!(r#"{{"reason": "{SECRET}", "because": "{SECRET}"}}"#);
    let reasons = [
        ExclusionReason::Deduplicated { deduplicated_against: SECRET.into() },
        ExclusionReason::PinnedOverride { displaced_by: SECRET.into() },
        ExclusionReason::Filtered { filter_name: SECRET.to_owned() },
        ExclusionReason::QuotaCapExceeded { kind: kind.clone(), cap: 1, actual: 2 },
        ExclusionReason::QuotaRequireDisplaced { displaced_by_kind: kind.clone() },
        ExclusionReason::CountCapExceeded { kind: kind.clone(), cap: 1, count: 1 },
        serde_json::from_str(&unknown).unwrap(),
    ];
    let excluded = reasons.into_iter().map(|reason| ExcludedItem::new(secret_item(), 0.2, reason));
    let unknown: InclusionReason = serde_json::from_str(&unknown).unwrap();
    let mut entry = IncludedItem::new(secret_item(), 0.5, unknown);
    let details = format!(
        r#"{{"score": {{"scorer": "TagScorer", "score": 0.5, "note": "{SECRET}",
            "parts": [{{"scorer": "TagScorer", "score": 0.5, "note": "{SECRET}"}}]}},
           "matched_words": ["{SECRET}"]}}"#
    );
    entry.details = Some(serde_json::from_str(&details).unwrap());
    let report = SelectionReport::new(Vec::new(), vec![entry], excluded.collect(), Vec::new());
    timed(Explanation::new(report)).budget(budget()).note(SECRET).gathered(
        1.0,
        vec![SourceTiming::new("crm", 1, 1, 1.0).outcome("failed", true).detail(SECRET)],
    )
}

/// The same without what was selected, so that something was dropped and something is gone.
fn later() -> Explanation {
    let mut later = secretive();
    let entry = later.report.included.remove(0);
    let reason = ExclusionReason::PinnedOverride { displaced_by: SECRET.into() };
    later.report.excluded = vec![ExcludedItem::new(entry.item, 0.1, reason)];
    later
}

#[test]
fn they_are_shown_when_nobody_minds() {
    let (before, now) = (secretive(), later());
    assert!(now.page().previous(&before).to_string().contains(SECRET));
    assert!(now.text().previous(&before).to_string().contains(SECRET));
}

#[test]
fn a_page_without_texts_has_nothing_of_them() {
    let mut gone = later();
    gone.report.excluded.clear();
    for (now, before) in [(secretive(), later()), (later(), secretive()), (gone, secretive())] {
        for page in [now.page(), now.page().previous(&before)] {
            let page = page.without_texts().to_string();
            let at = page.find("secret").map(|at| &page[at.saturating_sub(60)..]);
            assert_eq!(at.map(|text| text.chars().take(90).collect::<String>()), None);
        }
    }
}

#[test]
fn neither_does_the_text() {
    for (now, before) in [(secretive(), later()), (later(), secretive())] {
        let text = now.text().previous(&before).all_rows();
        assert!(!text.clone().without_texts().to_string().contains("secret"));
        let brief = text.brief().without_texts().to_string();
        assert!(!brief.contains("secret"), "{brief}");
    }
}
