//! Counts of the parts of a request.

use cupel::layer::{ContextAdapter as _, Strategy};
use cupel_rig::{MediaTokens, RigAdapter};
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{
    AssistantContent, AssistantMessage, ImageDetail, ImageMediaType, Message, Reasoning, ToolName,
    UserContent,
};

use crate::select::{adapter, answers, calls, request, tool_call};

/// The tokens of the only message, without what a message costs.
fn tokens_of(adapter: &RigAdapter, message: Message) -> i64 {
    let split = adapter.split(request(vec![message]), Strategy::Scored).unwrap();
    split.candidates[0].tokens() - 4
}

fn look() -> ToolDefinition {
    let parameters = serde_json::json!({ "type": "object" });
    ToolDefinition::new(ToolName::new("look").unwrap(), "Looks at some thing", parameters)
}

fn user(part: UserContent) -> Message {
    Message::User { content: vec![part] }
}

#[test]
fn media_are_estimates_and_never_text() {
    let count = |part| tokens_of(&adapter(), user(part));
    let base64 = "QUJD ".repeat(10_000);
    let png = Some(ImageMediaType::PNG);
    assert_eq!(count(UserContent::image_base64(base64.clone(), png.clone(), None)), 1_600);
    let low = Some(ImageDetail::Low);
    assert_eq!(count(UserContent::image_url("https://example.com/a.png", png, low)), 85);
    // 37,500 bytes.
    assert_eq!(count(UserContent::audio_base64(base64.clone(), None)), 75);
    assert_eq!(count(UserContent::document_base64(base64, None)), 1_500);
    assert_eq!(count(UserContent::audio_url("https://example.com/a.mp3", None)), 5_000);
    // A document that is text is text.
    assert_eq!(count(UserContent::document_text("three plain words", None)), 3);
}

#[test]
fn the_report_never_shows_the_data_of_media() {
    let message = user(UserContent::image_base64("QUJDREVG", None, None));
    let split = adapter().split(request(vec![message]), Strategy::Scored).unwrap();
    assert_eq!(split.candidates[0].content(), "[0] user: [image]");
}

#[test]
fn the_report_shows_the_beginning_of_a_long_message() {
    let content = |adapter: RigAdapter, text: &str| {
        let split = adapter.split(request(vec![Message::user(text)]), Strategy::Scored).unwrap();
        split.candidates[0].content().to_owned()
    };
    // Cut between characters, not within one.
    assert_eq!(content(adapter().report_text(4), "größer"), "[0] user: grö…");
    assert_eq!(content(adapter().report_text(5), "größer"), "[0] user: grö…");
    assert_eq!(content(adapter().report_text(8), "größer"), "[0] user: größer");
    let long = "word ".repeat(100);
    assert_eq!(content(adapter(), &long).len(), "[0] user: ".len() + 80 + "…".len());
    assert_eq!(content(adapter().report_text(usize::MAX), &long).len(), 10 + 500);
    // A call's arguments, which are written as JSON piece by piece.
    let split = adapter().report_text(9).split(
        request(vec![Message::user("q"), calls(&["a"]), answers(&["a"], "nothing")]),
        Strategy::Scored,
    );
    let content = split.unwrap().candidates[1].content().to_owned();
    assert_eq!(content, "[1] assistant: look({\"at…\n[2] tool: look: not…");
    // The tool's name is never cut off.
    let words = AssistantContent::text("I look for it.");
    let call = AssistantContent::ToolCall(tool_call("a"));
    let turn = Message::Assistant(AssistantMessage::new(vec![words, call]));
    let history = vec![Message::user("q"), turn, answers(&["a"], "nothing")];
    let split = adapter().report_text(6).split(request(history), Strategy::Scored).unwrap();
    let content = split.candidates[1].content();
    assert_eq!(content, "[1] assistant: I look…\nlook(…\n[2] tool: look: …");
}

#[test]
fn the_estimates_can_be_set() {
    let mut media = MediaTokens::default();
    media.image = 7;
    media.audio_bytes = 0; // not a number to divide by
    let adapter = adapter().media(media);
    assert_eq!(tokens_of(&adapter, user(UserContent::image_base64("QUJD", None, None))), 7);
    assert_eq!(tokens_of(&adapter, user(UserContent::audio_base64("QUJD", None))), 3);
}

#[test]
fn calls_and_results_count_their_names_arguments_and_texts() {
    let history = vec![Message::user("Look."), calls(&["a"]), answers(&["a"], "nothing to see")];
    let with_tool = request(history).tool(look());
    let split = adapter().split(with_tool, Strategy::Scored).unwrap();
    // The call: message 4, call 1, name 1, arguments 1. The result: message 4, name 1, text 3.
    assert_eq!(split.candidates[1].tokens(), 7 + 8);
    let content = split.candidates[1].content();
    assert_eq!(content, "[1] assistant: look({\"at\":\"a\"})\n[2] tool: look: nothing to see");
}

#[test]
fn without_tools_calls_and_results_are_counted_as_the_text_that_rig_sends() {
    let history = vec![Message::user("Look."), calls(&["a"]), answers(&["a"], "nothing to see")];
    let split = adapter().split(request(history), Strategy::Scored).unwrap();
    // `[called tool look with {"at":"a"}]`: frame 4 and a bracket 1, arguments 1, message 4.
    // `[tool look result] nothing to see`: frame 3, text 3, message 4.
    assert_eq!(split.candidates[1].tokens(), 10 + 10);
}

#[test]
fn each_call_and_each_result_is_counted_as_a_message_of_its_own() {
    let history =
        vec![Message::user("Look."), calls(&["a", "b"]), answers(&["a", "b"], "nothing to see")];
    let split = adapter().split(request(history).tool(look()), Strategy::Scored).unwrap();
    // Twice message 4, call 1, name 1, arguments 1; twice message 4, name 1, text 3.
    assert_eq!(split.candidates[1].tokens(), 2 * 7 + 2 * 8);
}

#[test]
fn tools_and_schemas_are_counted_and_not_up_for_selection() {
    let fixed = |request: CompletionRequest| {
        adapter().split(request, Strategy::Scored).unwrap().fixed_tokens
    };
    let plain = request(vec![Message::user("Hello")]);
    assert_eq!(fixed(plain.clone()), 3, "what primes the answer");
    let with_tool = plain.clone().tool(look());
    // The words of the description, which hold the JSON before and after together.
    assert_eq!(fixed(with_tool), 3 + 12 + 3 + 4, "and what stands around tools");
    let params = serde_json::json!({ "tools": [{ "type": "web search" }] });
    assert_eq!(fixed(plain.clone().additional_params(params)), 3 + 12 + 3 + 2);
    let mut with_schema = plain;
    with_schema.output_schema =
        Some(serde_json::from_str(r#"{"title":"A short answer"}"#).unwrap());
    assert_eq!(fixed(with_schema), 3 + 3);
}

#[test]
fn openais_models_get_tools_by_the_published_rule() {
    let parameters = serde_json::json!({ "type": "object", "properties": {
        "at": { "type": "string", "description": "Where to look." } } });
    let look = ToolDefinition::new(ToolName::new("look").unwrap(), "Looks there.", parameters);
    let fixed = |model: &str| {
        let adapter = RigAdapter::for_model(model).counter(crate::support::words());
        let request = request(vec![Message::user("Hello")]).tool(look.clone());
        adapter.split(request, Strategy::Scored).unwrap().fixed_tokens
    };
    // The answer 3, the end 12, a function 7 and `look:Looks there` 2, its properties 3, one of them 3 and
    // `at:string:Where to look` 3.
    assert_eq!(fixed("openai/gpt-4o"), 3 + 12 + 7 + 2 + 3 + 3 + 3);
    assert_eq!(fixed("openai/gpt-4"), 3 + 12 + 10 + 2 + 3 + 3 + 3);
    // Others take them as JSON.
    assert_eq!(fixed("groq/llama"), 3 + 12 + 3 + 4);
}

#[test]
fn context_on_the_providers_side_is_said_to_be_uncounted() {
    let params = serde_json::json!({ "previous_response_id": "resp_1" });
    let split = adapter()
        .split(request(vec![Message::user("Go on.")]).additional_params(params), Strategy::Scored)
        .unwrap();
    assert_eq!(
        split.uncounted,
        ["previous_response_id: the provider adds a conversation it holds"]
    );
}

#[cfg(feature = "tiktoken")]
#[test]
fn the_model_decides_how_to_count() {
    use cupel::tokens::{BpeCounter, Encoding, HeuristicCounter, TokenCounter};

    let text = "Straßenbahnhaltestellenschild 12345 你好世界 tokenisation";
    let counted = |adapter: RigAdapter, model: Option<&str>| {
        let mut request = request(vec![Message::user(text)]);
        request.model = model.map(str::to_owned);
        adapter.split(request, Strategy::Scored).unwrap().candidates[0].tokens() - 4
    };
    let o200k = BpeCounter::new(Encoding::O200k).count(text);
    let cl100k = BpeCounter::new(Encoding::Cl100k).count(text);
    let estimate = HeuristicCounter.count(text);
    assert_eq!(counted(RigAdapter::for_model("gpt-4o"), None), o200k);
    assert_eq!(counted(RigAdapter::for_model("gpt-4o"), Some("gpt-4")), cl100k);
    assert_eq!(counted(RigAdapter::new(), Some("gpt-4o")), o200k);
    assert_eq!(counted(RigAdapter::new(), None), estimate);
    assert_eq!(counted(RigAdapter::for_model("gemini"), None), estimate);
    assert!(o200k != cl100k && o200k != estimate, "or the test says nothing");
}

#[test]
fn a_counter_below_zero_makes_no_room() {
    let broken = RigAdapter::new().counter(cupel::tokens::counter_fn("broken", |_| -100));
    let split = broken
        .split(
            request(vec![Message::Assistant(AssistantMessage::new(vec![AssistantContent::text(
                "hello",
            )]))]),
            Strategy::Scored,
        )
        .unwrap();
    assert_eq!((split.candidates[0].tokens(), split.fixed_tokens), (3, 3));
}

#[test]
fn reasoning_that_only_the_provider_can_read_is_counted_by_its_length() {
    let sealed = AssistantContent::Reasoning(Reasoning::new(""))
        .with_native(serde_json::json!({ "encrypted_content": "x".repeat(8_000) }));
    let tokens = tokens_of(&adapter(), Message::Assistant(AssistantMessage::new(vec![sealed])));
    assert!(tokens >= 2_000, "{tokens}");
    // Of some thoughts a summary is shown besides.
    let summary = AssistantContent::Reasoning(Reasoning::new("three plain words"))
        .with_native(serde_json::json!({ "encrypted_content": "x".repeat(8_000) }));
    let tokens = tokens_of(&adapter(), Message::Assistant(AssistantMessage::new(vec![summary])));
    assert_eq!(tokens, 1_500 + 3);
    let open = AssistantContent::Reasoning(Reasoning::new("three plain words"));
    let tokens = tokens_of(&adapter(), Message::Assistant(AssistantMessage::new(vec![open])));
    assert_eq!(tokens, 3);
}
