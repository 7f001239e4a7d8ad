//! Halves of characters, which JavaScript's `slice` leaves behind, are text like any other: counted,
//! fitted, and forwarded unchanged.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use cupel::Policy;
use cupel::layer::{CupelLayer, Selected, Selection};
use cupel::tokens::Encoding;
use cupel_json::{
    ClaudeModel, ClaudeModels, Endpoint, JsonBody, MessagesAdapter, Model, Models, OpenAiAdapter,
};
use futures::executor::block_on;

/// Half an emoji, as JSON writes it.
const HALF: &str = r"\ud83d";

/// A long conversation whose last question ends in half a character.
fn body(endpoint: Endpoint, question: &str) -> JsonBody {
    let turn = |number: usize| {
        let talk =
            format!("We talked about item {number} for a while, and it was blue. ").repeat(8);
        format!(
            r#"{{"role":"user","content":"{talk}"}},{{"role":"assistant","content":"Noted {number}."}}"#
        )
    };
    let turns: Vec<String> = (0..80).map(turn).collect();
    let field = if endpoint == Endpoint::Responses { "input" } else { "messages" };
    let json = format!(
        r#"{{"model":"test","max_tokens":100,"{field}":[{},{{"role":"user","content":"{question}"}}]}}"#,
        turns.join(",")
    );
    JsonBody::parse(endpoint, json).unwrap()
}

fn sent(endpoint: Endpoint, question: &str) -> (String, Selection) {
    let body = body(endpoint, question);
    let selected = if endpoint == Endpoint::Messages {
        let adapter = MessagesAdapter::new()
            .models(ClaudeModels::new().with("test", ClaudeModel::new(4_000)));
        let layer = CupelLayer::builder().budget(adapter.window()).adapter(adapter);
        block_on(layer.policy(Policy::chat()).build().unwrap().selector().select(body))
    } else {
        let models = Models::new().with("test", Model::new(4_000, Encoding::O200k));
        let adapter = OpenAiAdapter::new().models(models);
        let layer = CupelLayer::builder().budget(adapter.window()).adapter(adapter);
        block_on(layer.policy(Policy::chat()).build().unwrap().selector().select(body))
    };
    let Selected { request, selection, .. } = selected.unwrap();
    (request.json().to_owned(), *selection)
}

#[test]
fn a_question_that_ends_in_half_a_character_is_fitted_and_forwarded_as_it_came() {
    for endpoint in [Endpoint::Chat, Endpoint::Responses, Endpoint::Messages] {
        let question = format!("Which item was blue? {HALF}");
        let (json, selection) = sent(endpoint, &question);
        let plan = selection.plan.as_ref().expect("a planned turn");
        assert!(!plan.whole && plan.recalled_tokens > 0, "{endpoint:?}");
        assert!(json.contains(&question), "{endpoint:?}: the question is gone");
    }
}

#[test]
fn a_text_with_half_a_character_counts_as_one_with_a_replacement_character() {
    for endpoint in [Endpoint::Chat, Endpoint::Responses, Endpoint::Messages] {
        let long = "Where is it? ".repeat(200);
        let (_, half) = sent(endpoint, &format!("{long}{HALF}"));
        let (_, whole) = sent(endpoint, &format!("{long}\u{fffd}"));
        assert_eq!(half.sent.tokens, whole.sent.tokens, "{endpoint:?}");
        assert!(half.sent.tokens > 600, "{endpoint:?}");
    }
}
