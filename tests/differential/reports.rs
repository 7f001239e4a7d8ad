//! Puts the reports of both implementations into one form.

use crate::expected::{Line, Refusal, Run};
use crate::items::{id, their_id};

pub(crate) fn ours(report: &cupel::SelectionReport) -> Run {
    let included = report
        .included
        .iter()
        .map(|line| -> Line { (id(&line.item), line.score, line.reason.name().to_owned()) });
    let excluded = report
        .excluded
        .iter()
        .map(|line| -> Line { (id(&line.item), line.score, our_reason(&line.reason)) });
    let shortfalls = report.count_requirement_shortfalls.iter().map(|short| {
        (short.kind.as_str().to_lowercase(), short.required_count, short.satisfied_count)
    });
    Run {
        included: included.collect(),
        excluded: excluded.collect(),
        total_candidates: report.total_candidates,
        total_tokens: report.total_tokens_considered,
        shortfalls: shortfalls.collect(),
    }
}

fn our_reason(reason: &cupel::diagnostics::ExclusionReason) -> String {
    use cupel::diagnostics::ExclusionReason as Reason;
    match reason {
        Reason::BudgetExceeded { item_tokens, available_tokens } => {
            format!("BudgetExceeded {item_tokens} of {available_tokens}")
        }
        Reason::Deduplicated { deduplicated_against } => {
            format!("Deduplicated against {deduplicated_against:?}")
        }
        Reason::NegativeTokens { tokens } => format!("NegativeTokens {tokens}"),
        Reason::PinnedOverride { displaced_by } => format!("PinnedOverride by {displaced_by:?}"),
        Reason::CountCapExceeded { kind, cap, count } => {
            assert!(count >= cap, "{count} items of {kind}, cap {cap}");
            format!("CountCapExceeded {}", kind.as_str().to_lowercase())
        }
        other => format!("unexpected: {other:?}"),
    }
}

pub(crate) fn theirs(report: &published::SelectionReport) -> Run {
    let included = report
        .included
        .iter()
        .map(|line| -> Line { (their_id(&line.item), line.score, format!("{:?}", line.reason)) });
    let excluded = report
        .excluded
        .iter()
        .map(|line| -> Line { (their_id(&line.item), line.score, their_reason(&line.reason)) });
    let shortfalls = report.count_requirement_shortfalls.iter().map(|short| {
        (short.kind.to_string().to_lowercase(), short.required_count, short.satisfied_count)
    });
    Run {
        included: included.collect(),
        excluded: excluded.collect(),
        total_candidates: report.total_candidates,
        total_tokens: report.total_tokens_considered,
        shortfalls: shortfalls.collect(),
    }
}

fn their_reason(reason: &published::ExclusionReason) -> String {
    use published::ExclusionReason as Reason;
    match reason {
        Reason::BudgetExceeded { item_tokens, available_tokens } => {
            format!("BudgetExceeded {item_tokens} of {available_tokens}")
        }
        Reason::Deduplicated { deduplicated_against } => {
            format!("Deduplicated against {deduplicated_against:?}")
        }
        Reason::NegativeTokens { tokens } => format!("NegativeTokens {tokens}"),
        Reason::PinnedOverride { displaced_by } => format!("PinnedOverride by {displaced_by:?}"),
        Reason::CountCapExceeded { kind, .. } => {
            format!("CountCapExceeded {}", kind.to_lowercase())
        }
        other => format!("unexpected: {other:?}"),
    }
}

pub(crate) fn our_refusal(error: &cupel::CupelError) -> Refusal {
    match *error {
        cupel::CupelError::PinnedExceedsBudget { pinned_tokens, available_tokens } => {
            Refusal::PinnedExceedsBudget { pinned: pinned_tokens, available: available_tokens }
        }
        cupel::CupelError::Overflow { merged_tokens, target_tokens } => {
            Refusal::Overflow { merged: merged_tokens, target: target_tokens }
        }
        cupel::CupelError::CeilingExceeded { merged_tokens, available_tokens } => {
            Refusal::Ceiling { merged: merged_tokens, available: available_tokens }
        }
        _ => Refusal::Slicer,
    }
}

pub(crate) fn their_refusal(error: &published::CupelError) -> Refusal {
    match *error {
        published::CupelError::PinnedExceedsBudget { pinned_tokens, available } => {
            Refusal::PinnedExceedsBudget { pinned: pinned_tokens, available }
        }
        published::CupelError::Overflow { merged_tokens, target_tokens } => {
            Refusal::Overflow { merged: merged_tokens, target: target_tokens }
        }
        _ => Refusal::Slicer,
    }
}
