//! Histories that look like those of agents: about 60 tokens a message.

use rig_core::message::{
    AssistantContent, AssistantMessage, Message, ToolCall, ToolFunction, ToolName,
    ToolResultContent,
};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Questions and answers.
    Chat,
    /// Questions, each with a tool call and its result, and answers.
    Tools,
    /// One question and a run of tool calls that is still under way.
    LongRun,
}

impl Shape {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Tools => "chat with tools",
            Self::LongRun => "one long tool run",
        }
    }

    /// So many messages. The last one is a question, or what a tool said.
    pub(crate) fn history(self, messages: usize) -> Vec<Message> {
        let mut history = vec![Message::system("You are a careful assistant.")];
        if matches!(self, Self::LongRun) {
            history.push(Message::user(text(0)));
        }
        for n in 1.. {
            match self {
                Self::Chat => history.extend([Message::user(text(n)), Message::assistant(text(n))]),
                Self::Tools => {
                    history.push(Message::user(text(n)));
                    history.extend(step(n));
                    history.push(Message::assistant(text(n)));
                }
                Self::LongRun => history.extend(step(n)),
            }
            if history.len() + 1 >= messages {
                break;
            }
        }
        if !matches!(self, Self::LongRun) {
            history.push(Message::user("And what do you make of all that?"));
        }
        history
    }
}

/// A call and its result.
fn step(n: usize) -> [Message; 2] {
    let arguments = serde_json::json!({ "query": text(n) });
    let function = ToolFunction::new(ToolName::new("search").unwrap(), arguments);
    let call = ToolCall::from_wire(format!("call_{n}"), function);
    let result = call.result(vec![ToolResultContent::text(text(n + 1))]);
    let turn = AssistantMessage::new(vec![AssistantContent::ToolCall(call)]);
    [Message::Assistant(turn), Message::tool_results(vec![result])]
}

/// About 230 bytes, never the same.
fn text(n: usize) -> String {
    format!(
        "Note {n}: the shipment of order {} left the warehouse in the morning, was held at the \
         border for an inspection that found nothing, and is expected to arrive within {} days \
         unless the weather gets in the way once more.",
        n * 7 % 9_973,
        n % 11 + 2,
    )
}
