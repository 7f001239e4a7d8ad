//! The ways to fit a conversation into a window: newest first, scored, planned.

use std::sync::{Arc, Mutex};

use cupel::gather::{MemorySummaries, OutlineCompactor, SummaryScope};
use cupel::layer::{Compaction, CompactionWork, CupelLayer, Selection, Selector};
use cupel::model::TurnPlan;
use cupel::placer::AgePlacer;
use cupel::scorer::{AgeScorer, CompositeScorer, KindScorer, PriorityScorer};
use cupel::{ContextBudget, GreedySlice, OverflowStrategy, Policy};
use cupel_json::{Endpoint, JsonBody, MessagesAdapter, OpenAiAdapter};
use serde_json::Value;

use crate::messages;
use crate::session::{Session, counter};

/// Request of one call.
#[derive(Default)]
pub struct Sent {
    pub messages: Vec<Value>,
    /// Positions of these messages in the session.
    pub places: Vec<usize>,
    /// Tokens kept for what is recalled and not used.
    pub unused: i64,
    /// Why nothing was sent.
    pub error: Option<String>,
    /// All of it in the format of Anthropic's Messages, where that is what was sent.
    pub body: Option<Value>,
}

/// The longest suffix of whole units that fits after the head.
pub fn newest(protocol: Protocol, session: &Session, known: usize, window: i64) -> Sent {
    let mut left = window - session.head_tokens() - ANSWER;
    let mut start = known;
    for unit in session.units(known).into_iter().rev() {
        left -= session.messages[unit.clone()].iter().map(|m| m.tokens).sum::<i64>();
        if left < 0 {
            break;
        }
        start = unit.start;
    }
    let places: Vec<usize> = (0..session.head).chain(start..known).collect();
    if protocol == Protocol::Messages {
        return messages::sent(messages::body(session, places.into_iter(), true), 0);
    }
    let messages = places.iter().map(|at| session.messages[*at].value.clone()).collect();
    Sent { messages, places, ..Sent::default() }
}

/// Tokens that the API adds for the beginning of the answer.
pub const ANSWER: i64 = 3;

/// The APIs whose requests are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Chat,
    Messages,
}

enum Sender {
    Chat(Selector<JsonBody, OpenAiAdapter>),
    Messages(Selector<JsonBody, MessagesAdapter>),
}

/// A selector, and what it left unused.
pub struct Layered {
    service: Sender,
    seen: Arc<Mutex<Option<i64>>>,
    model: &'static str,
    is_planned: bool,
    /// Runtime in which summaries are made.
    runtime: Option<(tokio::runtime::Runtime, CompactionWork)>,
}

impl Layered {
    /// As `Policy::chat` selected before there was a plan.
    pub fn scored(protocol: Protocol, window: i64) -> Self {
        let scorer = CompositeScorer::builder()
            .add(AgeScorer, 3.0)
            .add(PriorityScorer, 1.0)
            .add(KindScorer::default(), 1.0)
            .build()
            .unwrap();
        let policy = Policy::builder().scorer(scorer).slicer(GreedySlice).placer(AgePlacer);
        let policy = policy.overflow_strategy(OverflowStrategy::Truncate).build().unwrap();
        Self::new(protocol, policy.without_plan(), window, "gpt-4o")
    }

    /// By the default plan, or another one.
    pub fn planned(plan: TurnPlan, window: i64, model: &'static str) -> Self {
        Self::new(Protocol::Chat, Policy::chat().with_plan(plan), window, model)
    }

    /// By a policy.
    pub fn new(protocol: Protocol, policy: Policy, window: i64, model: &'static str) -> Self {
        Self::with(protocol, policy, window, model, None)
    }

    /// By the default plan, with the summaries of the compactor without a model.
    pub fn summarised(protocol: Protocol, window: i64, model: &'static str) -> Self {
        let compactor = OutlineCompactor::new().counter(counter());
        let scope = |_: &JsonBody| Some(SummaryScope::new("", "run"));
        let compaction = Compaction::new(compactor, MemorySummaries::new(10_000), scope)
            .lookup_deadline(std::time::Duration::from_secs(5));
        Self::with(protocol, Policy::chat(), window, model, Some(compaction))
    }

    fn with(
        protocol: Protocol,
        policy: Policy,
        window: i64,
        model: &'static str,
        compaction: Option<Compaction<JsonBody>>,
    ) -> Self {
        let seen = Arc::new(Mutex::new(None));
        let note = Arc::clone(&seen);
        let is_planned = policy.plan().is_some();
        let runtime = compaction.as_ref().map(|compaction| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            (runtime.unwrap(), compaction.work())
        });
        let mut builder = CupelLayer::<JsonBody, _>::builder()
            .policy(policy)
            .budget(ContextBudget::builder(window).build().unwrap())
            .on_selection(move |selection: &Selection| {
                let unused = selection.plan.as_ref().map(|plan| plan.share - plan.recalled_tokens);
                *note.lock().unwrap() = unused;
            });
        if let Some(compaction) = compaction {
            builder = builder.compaction(compaction);
        }
        let service = match protocol {
            Protocol::Chat => {
                let adapter = OpenAiAdapter::new().counter(counter());
                Sender::Chat(builder.adapter(adapter).build().unwrap().selector())
            }
            Protocol::Messages => {
                let adapter = MessagesAdapter::new().counter(counter());
                Sender::Messages(builder.adapter(adapter).build().unwrap().selector())
            }
        };
        Self { service, seen, model, is_planned, runtime }
    }

    fn send(&self, body: JsonBody) -> Result<String, String> {
        let select = async {
            let selected = match &self.service {
                Sender::Chat(selector) => selector.select(body).await,
                Sender::Messages(selector) => selector.select(body).await,
            };
            selected.map(|it| it.request.json().to_owned()).map_err(|error| error.to_string())
        };
        match &self.runtime {
            None => futures::executor::block_on(select),
            Some((runtime, work)) => runtime.block_on(async {
                let sent = select.await;
                work.settled().await;
                sent
            }),
        }
    }

    pub fn call(&mut self, session: &Session, known: usize) -> Sent {
        match self.service {
            Sender::Chat(_) => self.call_chat(session, known),
            Sender::Messages(_) => self.call_messages(session, known),
        }
    }

    fn call_messages(&mut self, session: &Session, known: usize) -> Sent {
        // A plan sets marks of its own.
        let body = messages::body(session, 0..known, !self.is_planned);
        let body = JsonBody::parse(Endpoint::Messages, body.to_string()).unwrap();
        match self.send(body) {
            Ok(json) => messages::sent(serde_json::from_str(&json).unwrap(), self.unused()),
            Err(error) => Sent { error: Some(error), ..Sent::default() },
        }
    }

    fn unused(&self) -> i64 {
        self.seen.lock().unwrap().take().unwrap_or_default().max(0)
    }

    fn call_chat(&mut self, session: &Session, known: usize) -> Sent {
        let messages = &session.messages[..known];
        let numbered = messages.iter().enumerate().map(|(at, message)| {
            let mut value = message.value.clone();
            value["place"] = at.into();
            value
        });
        let body =
            serde_json::json!({"model": self.model, "messages": numbered.collect::<Vec<_>>()});
        let body = JsonBody::parse(Endpoint::Chat, body.to_string()).unwrap();
        let json = match self.send(body) {
            Ok(json) => json,
            Err(error) => return Sent { error: Some(error), ..Sent::default() },
        };
        let mut body: Value = serde_json::from_str(&json).unwrap();
        let Value::Array(mut messages) = body["messages"].take() else { panic!("no messages") };
        let places = messages
            .iter_mut()
            .map(|message| {
                let place = message.as_object_mut().unwrap().shift_remove("place");
                place.and_then(|place| place.as_u64()).unwrap() as usize
            })
            .collect();
        Sent { messages, places, unused: self.unused(), ..Sent::default() }
    }
}
