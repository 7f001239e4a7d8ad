//! Every reason can be asked for.

use cupel::diagnostics::ExclusionReason;
use cupel::testing::ReasonKind;

use crate::reports::{excluded, failure, message, report};

/// Every reason with its variant: the specification's eight, the two for counts, and a foreign one.
fn all() -> Vec<(ExclusionReason, ReasonKind<'static>)> {
    let kind = message;
    vec![
        (
            ExclusionReason::BudgetExceeded { item_tokens: 2, available_tokens: 1 },
            ReasonKind::BudgetExceeded,
        ),
        (ExclusionReason::ScoredTooLow { score: 0.1, threshold: 0.2 }, ReasonKind::ScoredTooLow),
        (
            ExclusionReason::Deduplicated { deduplicated_against: "a".into() },
            ReasonKind::Deduplicated,
        ),
        (
            ExclusionReason::QuotaCapExceeded { kind: kind(), cap: 1, actual: 2 },
            ReasonKind::QuotaCapExceeded,
        ),
        (
            ExclusionReason::QuotaRequireDisplaced { displaced_by_kind: kind() },
            ReasonKind::QuotaRequireDisplaced,
        ),
        (ExclusionReason::NegativeTokens { tokens: -1 }, ReasonKind::NegativeTokens),
        (ExclusionReason::PinnedOverride { displaced_by: "a".into() }, ReasonKind::PinnedOverride),
        (ExclusionReason::Filtered { filter_name: "a".into() }, ReasonKind::Filtered),
        (
            ExclusionReason::CountCapExceeded { kind: kind(), cap: 1, count: 1 },
            ReasonKind::CountCapExceeded,
        ),
        (
            ExclusionReason::CountRequireCandidatesExhausted {
                kind: kind(),
                required: 2,
                available: 1,
            },
            ReasonKind::CountRequireCandidatesExhausted,
        ),
        (ExclusionReason::unknown("TooStale"), ReasonKind::Unknown("TooStale")),
    ]
}

#[test]
fn every_reason_the_library_knows_is_among_them() {
    let names: Vec<_> = all().iter().map(|(_, kind)| kind.name()).collect();
    assert_eq!(names[..10], ExclusionReason::NAMES);
}

#[test]
fn a_reason_is_found_by_its_own_variant_only() {
    for (reason, own) in all() {
        let report = report([], [excluded("log", 0.5, reason.clone())]);
        report.should().exclude_item_with_reason(own).exclude_item_with_reason(&reason);
        assert_eq!(own.to_string(), reason.name());
        for (_, other) in all().into_iter().filter(|(_, other)| *other != own) {
            assert_eq!(
                failure(report.should().try_exclude_item_with_reason(other)),
                format!(
                    "ExcludeItemWithReason({other}) failed: no excluded item had reason {other}. \
                     Excluded had 1 items with reasons: [{own}]."
                ),
            );
        }
    }
}

#[test]
fn foreign_reasons_are_told_apart_by_their_names() {
    let stale = ExclusionReason::unknown("TooStale");
    let report = report([], [excluded("log", 0.5, stale)]);
    assert_eq!(
        failure(report.should().try_exclude_item_with_reason(ReasonKind::Unknown("TooRude"))),
        "ExcludeItemWithReason(TooRude) failed: no excluded item had reason TooRude. \
         Excluded had 1 items with reasons: [TooStale].",
    );
}
