//! Counts of requests to Claude's models, and the margin of their budgets.

use cupel::layer::{BudgetProvider as _, ContextAdapter as _, Strategy};
use cupel::tokens::{ClaudeTokenizer, TokenCounter as _, counter_for_model};
use cupel_rig::RigAdapter;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{
    AssistantContent, AssistantMessage, Message, Reasoning, ToolName, UserContent,
};

use crate::select::{answers, calls, request};
use crate::support::words;

const OLDER: &str = "anthropic/claude-haiku-4-5";
const NEWER: &str = "anthropic/claude-opus-4-7";

/// Words for tokens, and all else as for Claude.
fn adapter() -> RigAdapter {
    RigAdapter::for_model(OLDER).counter(words())
}

/// The tokens of each candidate.
fn tokens(adapter: &RigAdapter, request: CompletionRequest) -> Vec<i64> {
    let split = adapter.split(request, Strategy::Scored).unwrap();
    split.candidates.iter().map(cupel::ContextItem::tokens).collect()
}

fn look() -> ToolDefinition {
    let parameters = serde_json::json!({ "type": "object" });
    ToolDefinition::new(ToolName::new("look").unwrap(), "Looks at some thing", parameters)
}

fn turn(part: AssistantContent) -> Message {
    Message::Assistant(AssistantMessage::new(vec![part]))
}

#[test]
fn texts_count_by_the_models_tokenizer() {
    let text = "The migration window opened at two in the morning.";
    let [older, newer] = [ClaudeTokenizer::Older, ClaudeTokenizer::Newer]
        .map(|tokenizer| tokenizer.counter().count(text));
    assert!(counter_for_model("gpt-4o").count(text) < older && older < newer);
    let counted = |adapter: RigAdapter, model: Option<&str>| {
        let mut asked = request(vec![Message::user(text)]);
        asked.model = model.map(str::to_owned);
        tokens(&adapter, asked)[0] - 8
    };
    assert_eq!(counted(RigAdapter::for_model(OLDER), None), older);
    assert_eq!(counted(RigAdapter::for_model(NEWER), None), newer);
    assert_eq!(counted(RigAdapter::for_model(OLDER), Some("claude-opus-5")), newer);
    assert_eq!(counted(RigAdapter::new(), Some("claude-haiku-4-5")), older);
    // Whoever serves it; and what Anthropic serves is Claude by any name.
    assert_eq!(
        counted(RigAdapter::for_model("openrouter/anthropic/claude-haiku-4.5"), None),
        older
    );
    assert_eq!(counted(RigAdapter::for_model("anthropic/an-alias"), None), newer);
}

#[test]
fn a_message_is_a_list_of_blocks() {
    let two = vec![UserContent::text("one two"), UserContent::text("three")];
    let history = vec![Message::system("Be brief."), Message::User { content: two }];
    // A message 5, a block 3.
    assert_eq!(tokens(&adapter(), request(history)), [5 + 3 + 2, 5 + 2 * 3 + 3]);
}

#[test]
fn calls_and_results_are_blocks_too() {
    let history =
        vec![Message::user("Look."), calls(&["a", "b"]), answers(&["a", "b"], "nothing to see")];
    // Two calls: a block 3, name 1, arguments 1. Two results: a block 3, in it the name 1 and a text,
    // which is a block 3 of 3 words.
    let step = 5 + 2 * (3 + 1 + 1) + 5 + 2 * (3 + 1 + 3 + 3);
    assert_eq!(tokens(&adapter(), request(history).tool(look())), [5 + 3 + 1, step]);
}

#[test]
fn tools_bring_a_prompt_of_the_providers() {
    let fixed = |request: CompletionRequest| {
        adapter().split(request, Strategy::Scored).unwrap().fixed_tokens
    };
    let plain = request(vec![Message::user("Hello")]);
    assert_eq!(fixed(plain.clone()), 5);
    // The words of the description, which hold the JSON before and after together.
    let tool = 5 + 3 + 4;
    assert_eq!(fixed(plain.clone().tool(look())), 5 + 350 + tool);
    assert_eq!(fixed(plain.tool(look()).tool(look())), 5 + 350 + 2 * tool);
}

#[test]
fn thoughts_count_by_what_is_signed_where_less_is_shown() {
    let thought = |text: &str, signed: usize| {
        let native = serde_json::json!({
            "type": "thinking", "thinking": text, "signature": "x".repeat(signed),
        });
        turn(AssistantContent::Reasoning(Reasoning::new(text)).with_native(native))
    };
    let count = |model: &str, thought: Message| {
        let adapter = RigAdapter::for_model(model).counter(words());
        tokens(&adapter, request(vec![Message::user("q"), thought]))[1] - 8
    };
    // 1,600 characters are 1,200 bytes, 300 tokens, times the factor.
    assert_eq!(count(OLDER, thought("two words", 1_600)), 390);
    assert_eq!(count(NEWER, thought("two words", 1_600)), 510);
    assert_eq!(count(OLDER, thought("two words", 4)), 2);
}

#[test]
fn later_models_look_at_larger_images() {
    let image = || Message::User { content: vec![UserContent::image_base64("QUJD", None, None)] };
    let count = |adapter: &RigAdapter| tokens(adapter, request(vec![image()]))[0] - 8;
    assert_eq!(count(&RigAdapter::for_model(OLDER)), 1_600);
    assert_eq!(count(&RigAdapter::for_model(NEWER)), 5_000);
    let mut media = cupel_rig::MediaTokens::default();
    media.image = 7;
    assert_eq!(count(&RigAdapter::for_model(NEWER).media(media)), 7);
}

#[test]
fn a_budget_for_a_claude_model_keeps_a_margin_unless_another_is_set() {
    let margin = |adapter: RigAdapter, model: Option<&str>| {
        let mut asked = CompletionRequest::new("Hello").max_tokens(500);
        asked.model = model.map(str::to_owned);
        let budget = adapter.window().tokens(10_000).budget(&asked).unwrap();
        budget.estimation_safety_margin_percent()
    };
    assert_eq!(margin(RigAdapter::for_model(OLDER), None), ClaudeTokenizer::MARGIN_PERCENT);
    assert_eq!(margin(RigAdapter::for_model("openai/gpt-4o"), None), 0.0);
    // It goes by the model that the request names.
    assert_eq!(margin(RigAdapter::new(), Some("claude-opus-5")), ClaudeTokenizer::MARGIN_PERCENT);
    assert_eq!(margin(RigAdapter::for_model("openrouter/x"), Some("gpt-4o")), 0.0);

    let asked = CompletionRequest::new("Hello").max_tokens(500);
    let window = RigAdapter::for_model(OLDER).window();
    let margin = window.budget(&asked).unwrap().estimation_safety_margin_percent();
    assert_eq!(margin, ClaudeTokenizer::MARGIN_PERCENT);
    let set = window.safety_margin_percent(0.0).budget(&asked).unwrap();
    assert_eq!(set.estimation_safety_margin_percent(), 0.0);
}
