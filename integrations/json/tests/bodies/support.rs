//! A layer for each protocol, and conversations that do not fit.

use std::sync::Arc;

use cupel::gather::Source;
use cupel::layer::{
    BudgetProvider, ContextAdapter, ContextError, CupelLayer, SelectedRequest, Selection, Selector,
};
use cupel::tokens::{Encoding, TokenCounter, shared_counter};
use cupel::{ContextItem, Policy};
use cupel_json::{
    ClaudeModel, ClaudeModels, Endpoint, JsonBody, MessagesAdapter, Model, Models, OpenAiAdapter,
};
use futures::executor::block_on;
use serde_json::{Value, json};

pub(crate) use cupel_dev_servers::fuzz::protocol::{ENDPOINTS, field, request, texts};

/// Settings of a layer whose only model is `test`.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) policy: Policy,
    pub(crate) window: i64,
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// Texts that the source `wiki` gives.
    pub(crate) documents: Vec<String>,
}

impl Settings {
    pub(crate) fn new(policy: Policy, window: i64) -> Self {
        let counter = shared_counter(Encoding::O200k);
        Self { policy, window, counter, documents: Vec::new() }
    }

    pub(crate) fn build(&self) -> Fitter {
        let models = ClaudeModels::new().with("test", ClaudeModel::new(self.window));
        let claude = MessagesAdapter::new().models(models).counter(Arc::clone(&self.counter));
        let models = Models::new().with("test", Model::new(self.window, Encoding::O200k));
        let openai = OpenAiAdapter::new().models(models).counter(Arc::clone(&self.counter));
        Fitter {
            claude: self.selector(claude.window(), claude),
            openai: self.selector(openai.window(), openai),
        }
    }

    fn selector<A, B>(&self, budget: B, adapter: A) -> Selector<JsonBody, A>
    where
        A: ContextAdapter<JsonBody> + 'static,
        B: BudgetProvider<JsonBody> + 'static,
    {
        let item = |text: &String| {
            ContextItem::builder(text.as_str(), 9).future_relevance_hint(0.9).build().unwrap()
        };
        let mut layer =
            CupelLayer::builder().budget(budget).adapter(adapter).policy(self.policy.clone());
        if !self.documents.is_empty() {
            let items = self.documents.iter().map(item);
            layer = layer.source(Source::items("wiki", items.collect::<Vec<_>>()));
        }
        layer.build().unwrap().selector()
    }
}

/// A layer for each protocol.
pub(crate) struct Fitter {
    claude: Selector<JsonBody, MessagesAdapter>,
    openai: Selector<JsonBody, OpenAiAdapter>,
}

impl Fitter {
    /// The body that is sent, and the report on it.
    pub(crate) fn select(&self, body: JsonBody) -> Result<(String, Selection), ContextError> {
        let selected = match body.endpoint() {
            Endpoint::Messages => block_on(self.claude.select(body)),
            _ => block_on(self.openai.select(body)),
        };
        let SelectedRequest { request, selection, .. } = selected?;
        Ok((request.json().to_owned(), *selection))
    }

    /// As [`select`](Self::select), for a body that can be read and fitted.
    pub(crate) fn send(&self, endpoint: Endpoint, body: &str) -> (String, Selection) {
        self.select(JsonBody::parse(endpoint, body).unwrap()).unwrap()
    }

    /// The messages that are sent, and the report on them.
    pub(crate) fn messages(&self, endpoint: Endpoint, body: &Value) -> (Vec<Value>, Selection) {
        let (sent, selection) = self.send(endpoint, &body.to_string());
        let sent: Value = serde_json::from_str(&sent).unwrap();
        (sent[field(endpoint)].as_array().unwrap().clone(), selection)
    }
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
