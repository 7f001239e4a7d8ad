//! The ways to fit a conversation into a window: newest first, scored, planned.

use std::sync::{Arc, Mutex};

use cupel::layer::{CupelLayer, CupelService, Selection};
use cupel::model::TurnPlan;
use cupel::scorer::{AgeScorer, CompositeScorer, KindScorer, PriorityScorer};
use cupel::{AgePlacer, ContextBudget, GreedySlice, OverflowStrategy, Policy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use futures::future::{Ready, ready};
use serde_json::Value;
use tower::{Layer, Service, ServiceExt};

use crate::session::{Session, counter};

/// What one call sent.
#[derive(Default)]
pub struct Sent {
    pub messages: Vec<Value>,
    /// Which message of the session each of them was.
    pub places: Vec<usize>,
    /// Tokens kept for what is recalled and not used.
    pub unused: i64,
    /// Why nothing was sent.
    pub error: Option<String>,
}

/// The longest suffix of whole units that fits after the head.
pub fn newest(session: &Session, known: usize, window: i64) -> Sent {
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
    let messages = places.iter().map(|at| session.messages[*at].value.clone()).collect();
    Sent { messages, places, ..Sent::default() }
}

/// What the API adds to prime the answer.
pub const ANSWER: i64 = 3;

type Sender = CupelService<Echo, JsonBody, OpenAiAdapter>;

/// A layer over something that only looks at what it is sent.
pub struct Layered {
    service: Sender,
    seen: Arc<Mutex<Option<i64>>>,
    model: &'static str,
}

#[derive(Clone)]
struct Echo;

impl Service<JsonBody> for Echo {
    type Response = String;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<String, Self::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, body: JsonBody) -> Self::Future {
        ready(Ok(body.json().to_owned()))
    }
}

impl Layered {
    /// As `Policy::chat` selected before there was a plan.
    pub fn scored(window: i64) -> Self {
        let scorer = CompositeScorer::builder()
            .add(AgeScorer, 3.0)
            .add(PriorityScorer, 1.0)
            .add(KindScorer::default(), 1.0)
            .build()
            .unwrap();
        let policy = Policy::builder().scorer(scorer).slicer(GreedySlice).placer(AgePlacer);
        let policy = policy.overflow_strategy(OverflowStrategy::Truncate).build().unwrap();
        Self::new(policy.without_plan(), window, "gpt-4o")
    }

    /// By the default plan, or another one.
    pub fn planned(plan: TurnPlan, window: i64, model: &'static str) -> Self {
        Self::new(Policy::chat().with_plan(plan), window, model)
    }

    fn new(policy: Policy, window: i64, model: &'static str) -> Self {
        let seen = Arc::new(Mutex::new(None));
        let note = Arc::clone(&seen);
        let layer = CupelLayer::<JsonBody, _>::builder()
            .adapter(OpenAiAdapter::new().counter(counter()))
            .policy(policy)
            .budget(ContextBudget::builder(window).build().unwrap())
            .on_selection(move |selection: &Selection| {
                let unused = selection.plan.as_ref().map(|plan| plan.share - plan.recalled_tokens);
                *note.lock().unwrap() = unused;
            })
            .build()
            .unwrap();
        Self { service: layer.layer(Echo), seen, model }
    }

    pub fn call(&mut self, session: &Session, known: usize) -> Sent {
        let messages = &session.messages[..known];
        let numbered = messages.iter().enumerate().map(|(at, message)| {
            let mut value = message.value.clone();
            value["place"] = at.into();
            value
        });
        let body =
            serde_json::json!({"model": self.model, "messages": numbered.collect::<Vec<_>>()});
        let body = JsonBody::parse(Endpoint::Chat, body.to_string()).unwrap();
        let answer = futures::executor::block_on(async {
            self.service.ready().await.unwrap().call(body).await
        });
        let json = match answer {
            Ok(json) => json,
            Err(error) => return Sent { error: Some(error.to_string()), ..Sent::default() },
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
        let unused = self.seen.lock().unwrap().take().unwrap_or_default().max(0);
        Sent { messages, places, unused, error: None }
    }
}
