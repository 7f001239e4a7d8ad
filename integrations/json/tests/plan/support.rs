//! A layer over something that keeps what it is sent, and a checker of the API's rules.

use std::sync::{Arc, Mutex};

use cupel::gather::{JudgeReport, Source};
use cupel::layer::{CupelLayer, Selection, TurnReport, WaitingJudge};
use cupel::model::TurnPlan;
use cupel::policy::Relevance;
use cupel::tokens::{TokenCounter, counter_fn};
use cupel::{ContextBudget, ContextItem, Policy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

/// Every word is a token, and so is every line's end.
pub(crate) fn words(text: &str) -> i64 {
    i64::try_from(text.split_whitespace().count() + text.matches('\n').count()).unwrap()
}

/// What was sent, and what the report says of it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) json: String,
    pub(crate) messages: Vec<Value>,
    pub(crate) plan: TurnReport,
    /// How a judge did that was waited for.
    pub(crate) judge: Option<JudgeReport>,
    /// The tokens of the messages, as reported.
    pub(crate) tokens: i64,
}

impl Sent {
    /// The text of the user's last message.
    pub(crate) fn question(&self) -> String {
        let user = self.messages.iter().rfind(|message| message["role"] == "user").unwrap();
        text(user)
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
    pub(crate) plan: TurnPlan,
    pub(crate) documents: Vec<String>,
    /// Who judges, if not the policy's own judge.
    pub(crate) relevance: Option<Relevance>,
    /// Another judge, which is waited for.
    pub(crate) waiting: Option<WaitingJudge>,
}

impl Settings {
    pub(crate) fn new(window: i64) -> Self {
        let (plan, documents) = (TurnPlan::new(), Vec::new());
        Self { window, model: "gpt-4o", plan, documents, relevance: None, waiting: None }
    }

    /// Sends a request of these messages.
    pub(crate) fn send(&self, messages: &[Value]) -> Result<Sent, String> {
        let body = json!({"model": self.model, "messages": messages});
        self.send_json(Endpoint::Chat, body.to_string())
    }

    pub(crate) fn send_json(&self, endpoint: Endpoint, body: String) -> Result<Sent, String> {
        let seen = Arc::new(Mutex::new(None));
        let note = Arc::clone(&seen);
        let counter = counter_fn("words", words);
        let mut policy = Policy::chat().with_plan(self.plan.clone());
        if let Some(relevance) = &self.relevance {
            policy = policy.with_relevance(relevance.clone());
        }
        let mut layer = CupelLayer::<JsonBody, _>::builder()
            .adapter(OpenAiAdapter::new().counter(counter))
            .policy(policy)
            .budget(ContextBudget::builder(self.window).build().unwrap())
            .on_selection(move |selection: &Selection| {
                let Selection { plan, sent, gather, .. } = selection;
                *note.lock().unwrap() = Some((plan.clone(), sent.tokens, gather.judge.clone()));
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
        Ok(Sent { json, messages, plan: *plan.expect("a planned turn"), tokens, judge })
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

/// What the API would refuse.
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
