//! The `tracing` span of a call until the wrapped service is called: counts and names, never
//! content.

use tracing::{Span, field};

use super::Selection;
use crate::diagnostics::TARGET;
use crate::pipeline::{Summary, trace_selected};

/// The span around gathering, selecting and building the request.
pub(super) fn selection() -> Span {
    tracing::info_span!(
        target: TARGET,
        "cupel.selection",
        gen_ai.request.model = field::Empty,
        gen_ai.conversation.compacted = field::Empty,
        cupel.budget.max_tokens = field::Empty,
        cupel.tokens.fixed = field::Empty,
        cupel.tokens.sent = field::Empty,
        cupel.items.included = field::Empty,
        cupel.items.excluded = field::Empty,
        "error.type" = field::Empty,
        otel.status_code = field::Empty,
    )
}

/// Tells in one line what the call came to.
pub(super) fn tell_selected(selection: &Selection) {
    trace_selected(|| {
        let Selection { sent, fixed_tokens, budget, gather, .. } = selection;
        let ended = |late: bool| {
            let outcomes = gather.sources.iter().map(|source| &source.outcome);
            outcomes.filter(|outcome| outcome.is_failure() && outcome.is_error() != late).count()
        };
        Summary {
            candidates: sent.items + sent.left_out,
            included: sent.items,
            tokens: sent.tokens.saturating_add(*fixed_tokens),
            max_tokens: budget.max_tokens().saturating_add(*fixed_tokens),
            sources_late: ended(true),
            sources_failed: ended(false),
        }
    });
}

/// Says what is sent.
pub(super) fn record_sent(span: &Span, selection: &Selection) {
    let Selection { sent, fixed_tokens, budget, .. } = selection;
    span.record("cupel.budget.max_tokens", budget.max_tokens().saturating_add(*fixed_tokens));
    span.record("cupel.tokens.fixed", *fixed_tokens);
    span.record("cupel.tokens.sent", sent.tokens.saturating_add(*fixed_tokens));
    span.record("cupel.items.included", sent.items as i64);
    span.record("cupel.items.excluded", sent.left_out as i64);
    if selection.is_compacted() {
        span.record("gen_ai.conversation.compacted", true);
    }
}
