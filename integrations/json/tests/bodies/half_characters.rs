//! Halves of characters, which JavaScript's `slice` leaves behind, are text like any other: counted,
//! fitted, and forwarded unchanged.

use cupel::Policy;
use cupel::layer::Selection;
use cupel_json::Endpoint;

use crate::support::{ENDPOINTS, Settings, long, request};

/// Half an emoji, as JSON writes it.
const HALF: &str = r"\ud83d";

/// Sends a long conversation whose last question is this literal.
fn sent(endpoint: Endpoint, question: &str) -> (String, Selection) {
    let body = request(endpoint, &long("QUESTION")).to_string().replace("QUESTION", question);
    Settings::new(Policy::chat(), 4_000).build().send(endpoint, &body)
}

#[test]
fn a_question_that_ends_in_half_a_character_is_fitted_and_forwarded_as_it_came() {
    for endpoint in ENDPOINTS {
        let question = format!("Which item was blue? {HALF}");
        let (json, selection) = sent(endpoint, &question);
        let plan = selection.plan.as_ref().expect("a planned turn");
        assert!(!plan.whole && plan.recalled_tokens > 0, "{endpoint:?}");
        assert!(json.contains(&question), "{endpoint:?}: the question is gone");
    }
}

#[test]
fn a_text_with_half_a_character_counts_as_one_with_a_replacement_character() {
    for endpoint in ENDPOINTS {
        let long = "Where is it? ".repeat(200);
        let (_, half) = sent(endpoint, &format!("{long}{HALF}"));
        let (_, whole) = sent(endpoint, &format!("{long}\u{fffd}"));
        assert_eq!(half.sent.tokens, whole.sent.tokens, "{endpoint:?}");
        assert!(half.sent.tokens > 600, "{endpoint:?}");
    }
}
