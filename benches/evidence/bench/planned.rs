//! Evidence in the body that `Policy::chat` sends of a conversation, measured by sentences.

use std::sync::{Arc, Mutex};

use cupel::layer::{CupelLayer, Selection, Selector};
use cupel::relevance::Question;
use cupel::tokens::counter_fn;
use cupel::{ContextBudget, ContextItem, ContextKind, Policy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use serde_json::{Value, json};

use crate::embeddings::EmbeddingsServer;
use crate::sets::Asked;

/// Windows that conversations are planned for.
pub const WINDOWS: [i64; 2] = [8_000, 32_000];

/// Result of one question.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlannedEvidence {
    /// Share of the evidence's sentences that the body contains.
    pub share: f64,
    /// Tokens of the quotation, its frame included.
    pub recalled_tokens: f64,
}

/// A layer without a service, for one window.
pub struct PlannedWay {
    selector: Selector<JsonBody, OpenAiAdapter>,
    server: Option<EmbeddingsServer>,
    recalled: Arc<Mutex<i64>>,
}

impl PlannedWay {
    /// With a server, its model decides with the words what is recalled.
    pub fn new(window: i64, server: Option<EmbeddingsServer>) -> Self {
        let recalled = Arc::new(Mutex::new(0));
        let note = Arc::clone(&recalled);
        let count = |text: &str| i64::try_from(text.chars().count().div_ceil(4)).unwrap();
        let adapter = OpenAiAdapter::new().counter(Arc::new(counter_fn("characters / 4", count)));
        let mut layer = CupelLayer::<JsonBody, _>::builder()
            .policy(Policy::chat())
            .budget(ContextBudget::builder(window).build().unwrap())
            .adapter(adapter)
            .on_selection(move |selection: &Selection| {
                *note.lock().unwrap() = selection.plan.as_ref().unwrap().recalled_tokens;
            });
        if let Some(server) = &server {
            let hour = std::time::Duration::from_secs(3_600);
            layer = layer.waiting_judge(server.waiting()).gather_deadline(hour);
        }
        Self { selector: layer.build().unwrap().selector(), server, recalled }
    }

    /// Measures the evidence of a question. None if the set has no conversation.
    pub fn measure(&self, asked: &Asked<'_>) -> Option<PlannedEvidence> {
        let evidence = asked.evidence.iter().map(|at| said(&asked.items[*at]).1);
        let sentences: Vec<String> = evidence.flat_map(sentences).collect();
        self.send(asked.items, asked.question, &sentences)
    }

    /// Sends a conversation with the question at its end, and looks for sentences in the body.
    pub fn send(
        &self,
        items: &[ContextItem],
        question: &Question,
        sentences: &[String],
    ) -> Option<PlannedEvidence> {
        let body = body(items, question)?;
        let request = JsonBody::parse(Endpoint::Chat, body.to_string()).unwrap();
        let select = self.selector.select(request);
        let sent = match &self.server {
            Some(server) => server.block_on(select).unwrap(),
            None => futures::executor::block_on(select).unwrap(),
        };
        if self.server.is_some() {
            let judge = sent.selection.gather.judge.as_ref();
            let judged = judge.is_none_or(|judge| judge.outcome.name() == "completed");
            assert!(judged, "{judge:?}");
        }
        let sent: Value = serde_json::from_str(sent.request.json()).unwrap();
        let messages = sent["messages"].as_array().unwrap();
        let mut text = String::new();
        for message in messages {
            let parts = message["content"].as_array();
            let parts = parts.into_iter().flatten().filter_map(|part| part["text"].as_str());
            // The question itself may repeat a sentence, but is no evidence.
            let parts = message["content"].as_str().into_iter().chain(parts);
            for part in parts.filter(|part| *part != question.text()) {
                text.push_str(&plain(part));
                text.push('\n');
            }
        }
        let found = sentences.iter().filter(|sentence| text.contains(sentence.as_str())).count();
        Some(PlannedEvidence {
            share: found as f64 / sentences.len().max(1) as f64,
            recalled_tokens: *self.recalled.lock().unwrap() as f64,
        })
    }
}

/// Role and text of an item. A label says who speaks, if it is the user or the model.
fn said(item: &ContextItem) -> (Option<&'static str>, &str) {
    let text = item.content();
    let labelled = ["user", "assistant"].into_iter().find_map(|role| {
        let text = text.strip_prefix(role)?.strip_prefix(": ")?;
        Some((Some(role), text))
    });
    labelled.unwrap_or((None, text))
}

/// A chat request of the items and the question. Speakers without a role take turns.
fn body(items: &[ContextItem], question: &Question) -> Option<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let (role, text) = said(item);
        match item.kind() {
            kind if *kind == ContextKind::message() => {
                let turn = if at % 2 == 0 { "user" } else { "assistant" };
                messages.push(json!({"role": role.unwrap_or(turn), "content": text}));
            }
            kind if *kind == ContextKind::tool_output() => {
                let id = format!("call_{at}");
                let call = json!({"id": id, "type": "function",
                    "function": {"name": "run", "arguments": "{}"}});
                match messages.last_mut().filter(|last| last["role"] == "assistant") {
                    Some(last) => last["tool_calls"] = json!([call]),
                    None => messages
                        .push(json!({"role": "assistant", "content": null, "tool_calls": [call]})),
                }
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
            }
            _ => return None,
        }
    }
    messages.push(json!({"role": "user", "content": question.text()}));
    Some(json!({"model": "gpt-4o", "messages": messages}))
}

/// Words of a text with one space between them, and without the marks of quoted lines.
fn plain(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches(['>', ' ']));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

/// Sentences of a text: they end with a line, or with a sign and a space.
pub fn sentences(text: &str) -> Vec<String> {
    let ends = |window: &[char]| matches!(window, ['.' | '!' | '?', ' ']);
    let mut sentences = Vec::new();
    for line in text.lines() {
        let signs: Vec<char> = plain(line).chars().collect();
        let mut start = 0;
        for at in 1..signs.len() {
            if ends(&signs[at - 1..=at]) {
                sentences.push(signs[start..at].iter().collect());
                start = at + 1;
            }
        }
        sentences.push(signs[start..].iter().collect());
    }
    let is_said = |sentence: &String| sentence.chars().any(char::is_alphanumeric);
    sentences.into_iter().filter(is_said).collect()
}
