//! A layer for each protocol, and conversations that do not fit.

use std::sync::Arc;

use cupel::gather::Source;
use cupel::layer::{CupelLayer, Selected, Selection};
use cupel::tokens::{Encoding, TokenCounter, shared_counter};
use cupel::{ContextItem, Policy};
use cupel_json::{
    ClaudeModel, ClaudeModels, Endpoint, JsonBody, MessagesAdapter, Model, Models, OpenAiAdapter,
};
use futures::executor::block_on;
use serde_json::{Value, json};

pub(crate) const ENDPOINTS: [Endpoint; 3] =
    [Endpoint::Chat, Endpoint::Responses, Endpoint::Messages];

/// Settings of a layer whose only model is `test`.
#[derive(Clone)]
pub(crate) struct Fitter {
    pub(crate) policy: Policy,
    pub(crate) window: i64,
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// Texts that the source `wiki` gives.
    pub(crate) documents: Vec<String>,
}

impl Fitter {
    pub(crate) fn new(policy: Policy, window: i64) -> Self {
        let counter = shared_counter(Encoding::O200k);
        Self { policy, window, counter, documents: Vec::new() }
    }

    /// The body that is sent, and the report on it.
    pub(crate) fn send(
        &self,
        endpoint: Endpoint,
        body: &str,
    ) -> Result<(String, Selection), String> {
        let body = JsonBody::parse(endpoint, body).ok_or("no messages")?;
        let items = self.documents.iter().map(|text| {
            ContextItem::builder(text.as_str(), 9).future_relevance_hint(0.9).build().unwrap()
        });
        let source = (!self.documents.is_empty())
            .then(|| Source::items("wiki", items.collect::<Vec<ContextItem>>()));
        let counter = Arc::clone(&self.counter);
        let selected = if endpoint == Endpoint::Messages {
            let models = ClaudeModels::new().with("test", ClaudeModel::new(self.window));
            let adapter = MessagesAdapter::new().models(models).counter(counter);
            let layer = CupelLayer::builder().budget(adapter.window()).adapter(adapter);
            let layer =
                source.into_iter().fold(layer.policy(self.policy.clone()), |l, s| l.source(s));
            block_on(layer.build().unwrap().selector().select(body))
        } else {
            let models = Models::new().with("test", Model::new(self.window, Encoding::O200k));
            let adapter = OpenAiAdapter::new().models(models).counter(counter);
            let layer = CupelLayer::builder().budget(adapter.window()).adapter(adapter);
            let layer =
                source.into_iter().fold(layer.policy(self.policy.clone()), |l, s| l.source(s));
            block_on(layer.build().unwrap().selector().select(body))
        };
        let Selected { request, selection, .. } = selected.map_err(|error| error.to_string())?;
        Ok((request.json().to_owned(), *selection))
    }

    /// The messages that are sent, and the report on them.
    pub(crate) fn messages(&self, endpoint: Endpoint, body: &Value) -> (Vec<Value>, Selection) {
        let (sent, selection) = self.send(endpoint, &body.to_string()).unwrap();
        let sent: Value = serde_json::from_str(&sent).unwrap();
        (sent[field(endpoint)].as_array().unwrap().clone(), selection)
    }
}

/// The name of the list of messages.
pub(crate) fn field(endpoint: Endpoint) -> &'static str {
    if endpoint == Endpoint::Responses { "input" } else { "messages" }
}

pub(crate) fn request(endpoint: Endpoint, messages: &[Value]) -> Value {
    json!({"model": "test", "max_tokens": 100, field(endpoint): messages})
}

/// A long conversation about things that are blue.
pub(crate) fn long(question: &str) -> Vec<Value> {
    let mut messages = Vec::new();
    for number in 0..80 {
        let talk =
            format!("We talked about item {number} for a while, and it was blue. ").repeat(8);
        messages.push(json!({"role": "user", "content": talk}));
        messages.push(json!({"role": "assistant", "content": format!("Noted {number}.")}));
    }
    messages.push(json!({"role": "user", "content": question}));
    messages
}

/// All texts of a message, in their order.
pub(crate) fn texts(message: &Value) -> Vec<&str> {
    match &message["content"] {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}
