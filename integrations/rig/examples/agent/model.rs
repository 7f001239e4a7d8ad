//! The model: a program that reads the messages it gets and decides what to do next.
//!
//! It remembers nothing from call to call. What it has added up so far, and how many bottles a crate
//! holds, stands in its own last message, as a note; the page it reads is the last tool result; what else
//! it is asked stands in what was recalled, if somebody put it into the request.

use cupel::tokens::{HeuristicCounter, TokenCounter as _};
use futures::stream;
use rig_core::completion::{CompletionRequest, CompletionResponse, Usage};
use rig_core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_core::error::ProviderError;
use rig_core::message::{
    AssistantContent, EmptyToolName, Message, Origin, ToolCall, ToolFunction, ToolName, ToolResult,
    ToolResultContent, UserContent,
};
use rig_core::test_utils::{MockFrame, MockScript};
use rig_core::tool::Tool as _;
use rig_core::transcript::assistant_text_from_choice;
use serde_json::json;

use crate::logbook::{crates_on, next_page, number_before};
use crate::tools::{Multiply, ReadPage};

/// Stands behind a wire of rig's for local models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bookkeeper {
    window: u64,
}

pub(crate) fn bookkeeper(window: u64) -> Model<MockScript, Bookkeeper> {
    Model::new(MockScript::new("local").with_id("bookkeeper"), Bookkeeper { window })
}

impl Transport<MockScript> for Bookkeeper {
    fn send(&self, request: CompletionRequest, _: Exchange) -> Opening<MockFrame> {
        let tokens = tokens_of(&request);
        if tokens > self.window {
            let window = self.window;
            let problem = format!("about {tokens} tokens do not fit a window of {window}");
            return Opening::failed(ProviderError::Provider(problem));
        }
        match think(&request) {
            Err(error) => Opening::failed(ProviderError::Provider(error.to_string())),
            Ok(content) => {
                let origin = Origin::new("local.api", "local", "bookkeeper");
                let usage = Usage::new().input_tokens(tokens);
                let response = CompletionResponse::new(content, usage, origin, json!(null));
                let frame = MockFrame::Response(Box::new(response));
                Opening::ready(Opened::new(stream::iter([Ok(frame)])))
            }
        }
    }
}

/// Chooses the next step.
fn think(request: &CompletionRequest) -> Result<Vec<AssistantContent>, EmptyToolName> {
    if let Some(answer) = look_up(request) {
        return Ok(vec![AssistantContent::text(answer)]);
    }
    let Some(result) = last_result(request) else {
        let note = note(0, bottles_per_crate(request));
        return say_and_call(&note, ReadPage::NAME, json!({ "page": 1 }));
    };
    let text: String = result.content.iter().filter_map(ToolResultContent::as_text).collect();
    let so_far = last_note(request).unwrap_or(0);
    if result.name == Multiply::NAME {
        let answer = format!("In all we shipped {text} bottles, in {so_far} crates.");
        return Ok(vec![AssistantContent::text(answer)]);
    }
    let total = so_far + crates_on(&text);
    let bottles = bottles_per_crate(request);
    let note = note(total, bottles);
    if let Some(page) = next_page(&text) {
        return say_and_call(&note, ReadPage::NAME, json!({ "page": page }));
    }
    match bottles {
        Some(bottles) => say_and_call(&note, Multiply::NAME, json!({ "a": total, "b": bottles })),
        None => {
            let answer = format!("We shipped {total} crates, but how many bottles is a crate?");
            Ok(vec![AssistantContent::text(answer)])
        }
    }
}

/// Note of the agent to itself: recalled texts may be gone in the next turn.
fn note(crates: u64, bottles: Option<u64>) -> String {
    match bottles {
        Some(bottles) => format!("So far {crates} crates. A crate holds {bottles} bottles."),
        None => format!("So far {crates} crates."),
    }
}

fn say_and_call(
    note: &str,
    tool: &str,
    arguments: serde_json::Value,
) -> Result<Vec<AssistantContent>, EmptyToolName> {
    let name = ToolName::new(tool)?;
    // Ids as a provider would give them: new for every call.
    let id = format!("{tool}-{arguments}");
    let call = ToolCall::from_wire(id, ToolFunction::new(name, arguments));
    Ok(vec![AssistantContent::text(note), AssistantContent::ToolCall(call)])
}

/// The result of the last tool call.
fn last_result(request: &CompletionRequest) -> Option<&ToolResult> {
    user_parts(request).rev().find_map(|part| match part {
        UserContent::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// The crates in the model's own last note.
fn last_note(request: &CompletionRequest) -> Option<u64> {
    request.chat_history.iter().rev().find_map(|message| match message {
        Message::Assistant(turn) => {
            let said = assistant_text_from_choice(&turn.content);
            number_before(said.strip_prefix("So far ")?, " crates")
        }
        _ => None,
    })
}

/// Questions that need no tool, and how the sentence with the answer begins.
const KNOWN: [(&str, &str); 3] = [
    ("Who signs", "In March the books"),
    ("Where do the boats", "Boats leave"),
    ("In all, how many bottles have we shipped", "In all we shipped"),
];

/// The answer to a question whose answer stands in the request.
fn look_up(request: &CompletionRequest) -> Option<String> {
    let (_, begins) = KNOWN.iter().find(|(question, _)| {
        let last = request.chat_history.last();
        let Some(Message::User { content }) = last else { return false };
        content.iter().any(|part| user_texts(part).iter().any(|text| text.starts_with(question)))
    })?;
    let texts = request.chat_history.iter().rev().flat_map(texts_of);
    let found = texts.into_iter().find_map(|text| {
        let (_, rest) = text.split_once(begins)?;
        let (rest, _) = rest.split_once('.')?;
        Some(format!("{begins}{rest}."))
    });
    Some(found.unwrap_or_else(|| "That I do not know any more.".to_owned()))
}

/// Number of bottles in a crate, if the request has it.
fn bottles_per_crate(request: &CompletionRequest) -> Option<u64> {
    let mut texts = request.chat_history.iter().flat_map(texts_of);
    texts.find_map(|text| number_before(text.split_once("A crate holds ")?.1, " bottles"))
}

fn user_parts(request: &CompletionRequest) -> impl DoubleEndedIterator<Item = &UserContent> {
    let contents = request.chat_history.iter().filter_map(|message| match message {
        Message::User { content } => Some(content),
        _ => None,
    });
    contents.flatten()
}

/// About how many tokens the request is: its texts, its calls and its tools.
fn tokens_of(request: &CompletionRequest) -> u64 {
    let messages = request.chat_history.iter().flat_map(texts_of);
    let tools = request.tools.iter().filter_map(|tool| serde_json::to_string(tool).ok());
    messages.chain(tools).map(|text| HeuristicCounter.count(&text).unsigned_abs()).sum()
}

fn texts_of(message: &Message) -> Vec<String> {
    match message {
        Message::System { content } => vec![content.clone()],
        Message::User { content } => content.iter().flat_map(user_texts).collect(),
        Message::Assistant(turn) => turn.content.iter().map(assistant_text).collect(),
    }
}

fn user_texts(part: &UserContent) -> Vec<String> {
    match part {
        UserContent::Text(text) => vec![text.text.clone()],
        UserContent::ToolResult(result) => {
            let texts = result.content.iter().filter_map(ToolResultContent::as_text);
            texts.map(str::to_owned).collect()
        }
        UserContent::Document(document) => vec![document.data.to_string()],
        _ => Vec::new(),
    }
}

fn assistant_text(part: &AssistantContent) -> String {
    match part {
        AssistantContent::Text(text) => text.text.clone(),
        AssistantContent::ToolCall(call) => {
            format!("{}{}", call.function.name, call.function.arguments_value())
        }
        _ => String::new(),
    }
}
