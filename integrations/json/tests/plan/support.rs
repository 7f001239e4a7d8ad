//! A layer over something that keeps what it is sent, and a checker of the API's rules.

use std::sync::{Arc, Mutex};

use cupel::conversation::plan::Part;
use cupel::gather::{JudgeReport, Source};
use cupel::layer::{CupelLayer, Selection, TurnReport, WaitingJudge};
use cupel::model::TurnPlan;
use cupel::policy::Relevance;
use cupel::tokens::{TokenCounter, counter_fn};
use cupel::{ContextItem, Policy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

/// Every word is a token, and so is every line's end.
pub(crate) fn words(text: &str) -> i64 {
    i64::try_from(text.split_whitespace().count() + text.matches('\n').count()).unwrap()
}

/// Request that was sent, and its report.
#[derive(Debug, Clone)]
pub(crate) struct SentSummary {
    pub(crate) json: String,
    pub(crate) messages: Vec<Value>,
    pub(crate) plan: TurnReport,
    /// Report of an async judge.
    pub(crate) judge: Option<JudgeReport>,
    /// The tokens of the messages, as reported.
    pub(crate) tokens: i64,
    /// And of all else that is sent.
    pub(crate) fixed_tokens: i64,
}

impl SentSummary {
    /// The text of the user's last message.
    pub(crate) fn question(&self) -> String {
        let user = self.messages.iter().rfind(|message| message["role"] == "user").unwrap();
        text(user)
    }

    /// The first unit that is kept without holes; none if the conversation is sent unchanged.
    pub(crate) fn cut(&self) -> Option<usize> {
        let parts: Vec<Part> = self.plan.parts().map(|(_, part)| part).collect();
        let gap = parts.iter().rposition(|part| matches!(part, Part::Earlier | Part::Dropped));
        let kept = |part: &Part| part.is_sent() && *part != Part::Head;
        let from = gap.map_or(0, |gap| gap + 1);
        let cut = parts.iter().enumerate().skip(from).find(|(_, part)| kept(part));
        cut.map(|(at, _)| at).filter(|_| !self.plan.whole)
    }

    /// Returns true if older messages were dropped for the current exchange, beyond the grid.
    pub(crate) fn gave_way(&self) -> bool {
        let gone = |part| matches!(part, Part::Replied | Part::Dropped);
        let no_tail = |part| matches!(part, Part::Tail | Part::Faded);
        self.plan.parts().any(|(_, part)| gone(part)) || !self.plan.parts().any(|(_, p)| no_tail(p))
    }

    /// The quoted part of it.
    pub(crate) fn recalled(&self) -> String {
        let question = self.question();
        let end = question.find("</recalled>").unwrap_or(0);
        question[..end].to_owned()
    }
}

/// A layer's settings.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) window: i64,
    pub(crate) model: &'static str,
    /// Tokens reserved for the answer, and number of tools.
    pub(crate) output: i64,
    pub(crate) tools: usize,
    pub(crate) plan: TurnPlan,
    pub(crate) documents: Vec<String>,
    /// Judge to use instead of the policy's own.
    pub(crate) relevance: Option<Relevance>,
    /// Async judge.
    pub(crate) waiting: Option<WaitingJudge>,
}

impl Settings {
    pub(crate) fn new(window: i64) -> Self {
        let (plan, documents) = (TurnPlan::new(), Vec::new());
        let (output, tools) = (0, 0);
        let (relevance, waiting) = (None, None);
        Self { window, model: "gpt-4o", output, tools, plan, documents, relevance, waiting }
    }

    /// Sends a request of these messages.
    pub(crate) fn send(&self, messages: &[Value]) -> Result<SentSummary, String> {
        let mut body = json!({"model": self.model, "messages": messages});
        if self.output > 0 {
            body["max_completion_tokens"] = json!(self.output);
        }
        if self.tools > 0 {
            let tool = |at| json!({"type": "function", "function": {"name": format!("look{at}")}});
            body["tools"] = json!((0..self.tools).map(tool).collect::<Vec<_>>());
        }
        self.send_json(Endpoint::Chat, body.to_string())
    }

    pub(crate) fn send_json(
        &self,
        endpoint: Endpoint,
        body: String,
    ) -> Result<SentSummary, String> {
        let seen = Arc::new(Mutex::new(None));
        let note = Arc::clone(&seen);
        let counter = counter_fn("words", words);
        let mut policy = Policy::chat().with_plan(self.plan.clone());
        if let Some(relevance) = &self.relevance {
            policy = policy.with_relevance(relevance.clone());
        }
        let mut layer = CupelLayer::<JsonBody, _>::builder()
            .budget(OpenAiAdapter::new().window().tokens(self.window).default_output(0))
            .adapter(OpenAiAdapter::new().counter(counter))
            .policy(policy)
            .on_selection(move |selection: &Selection| {
                let Selection { plan, sent, fixed_tokens, gather, .. } = selection;
                let tokens = (sent.tokens, *fixed_tokens);
                *note.lock().unwrap() = Some((plan.clone(), tokens, gather.judge.clone()));
            });
        if !self.documents.is_empty() {
            let documents = self.documents.clone();
            layer = layer.source(Source::list("wiki", move |_: &JsonBody| {
                let items =
                    documents.iter().map(|text| ContextItem::new(text.as_str(), words(text)));
                let items = items.collect::<Result<Vec<_>, _>>();
                async move { items }
            }));
        }
        if let Some(waiting) = &self.waiting {
            layer = layer.waiting_judge(waiting.clone());
        }
        let send = service_fn(|body: JsonBody| async move {
            Ok::<_, std::convert::Infallible>(body.json().to_owned())
        });
        let mut service = layer.build().unwrap().layer(send);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let paused = self.waiting.is_some();
        let runtime = runtime.enable_time().start_paused(paused).build().unwrap();
        let body = JsonBody::parse(endpoint, body).unwrap();
        let json = runtime
            .block_on(async { service.ready().await.unwrap().call(body).await })
            .map_err(|error| error.to_string())?;
        let body: Value = serde_json::from_str(&json).unwrap();
        let field = if endpoint == Endpoint::Chat { "messages" } else { "input" };
        let messages = body[field].as_array().unwrap().clone();
        let (plan, tokens, judge) = seen.lock().unwrap().take().expect("a selection");
        let (plan, (tokens, fixed_tokens)) = (*plan.expect("a planned turn"), tokens);
        Ok(SentSummary { json, messages, plan, judge, tokens, fixed_tokens })
    }
}

/// The text of a message, its parts one after the other.
pub(crate) fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().map(|part| part["text"].as_str().unwrap_or_default()).collect()
        }
        _ => String::new(),
    }
}

/// The tokens of a message by the published rule.
pub(crate) fn tokens(message: &Value) -> i64 {
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
        let function = &call["function"];
        1 + words(function["name"].as_str().unwrap())
            + words(function["arguments"].as_str().unwrap())
    });
    let parts = match &message["content"] {
        Value::Array(parts) => parts.iter().map(|part| words(part["text"].as_str().unwrap())).sum(),
        _ => words(&text(message)),
    };
    3 + 1 + parts + calls.sum::<i64>()
}

/// Problem for which the API would refuse the messages.
pub(crate) fn problem(messages: &[Value], window: i64) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let Some(called) = open.iter().position(|call| *call == id) else {
                return Some(format!("message {at} answers {id}, which was not called"));
            };
            open.remove(called);
            continue;
        }
        if !open.is_empty() {
            return Some(format!("{open:?} have no answer before message {at}"));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open = calls.map(|call| call["id"].as_str().unwrap()).collect();
    }
    let sum = messages.iter().map(tokens).sum::<i64>() + 3;
    match open.as_slice() {
        [] if sum <= window => None,
        [] => Some(format!("{sum} tokens in a window of {window}")),
        _ => Some(format!("{open:?} have no answer")),
    }
}

pub(crate) fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A call and its result.
pub(crate) fn step(id: &str, arguments: &str, result: &str) -> [Value; 2] {
    let function = json!({"name": "look", "arguments": arguments});
    [
        json!({"role": "assistant", "content": null,
               "tool_calls": [{"id": id, "type": "function", "function": function}]}),
        json!({"role": "tool", "tool_call_id": id, "content": result}),
    ]
}

/// A text of so many words that are found nowhere else.
pub(crate) fn filler(name: &str, count: usize) -> String {
    (0..count).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_counter_is_one() {
    assert_eq!(counter_fn("words", words).count("a b\nc"), 4);
}
