//! The two contestants, and what is left of a history after each.

use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use cupel::layer::{CupelLayer, Selection};
use cupel::scorer::RecencyScorer;
use cupel::tokens::{HeuristicCounter, TokenCounter};
use cupel::{ChronologicalPlacer, ContextBudget, GreedySlice, Policy};
use cupel_rig::RigAdapter;
use rig_core::completion::CompletionRequest;
use rig_core::message::{AssistantContent, Message, ToolResultContent, UserContent};
use rig_core::transcript::validate_canonical;
use rig_memory::{MemoryPolicy as _, TokenWindowMemory};
use tower::{Layer as _, Service as _, service_fn};

use crate::history::Shape;
use crate::measure::{medians, timed};
use crate::table::{Outcome, Row};
use cupel_dev::Effort;

/// Counter of both.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counting {
    /// Counter of this crate for models with an unknown encoding.
    Estimate,
    /// Four bytes to a token.
    Bytes,
}

impl Counting {
    fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Bytes => "bytes / 4",
        }
    }
}

impl TokenCounter for Counting {
    fn count(&self, text: &str) -> i64 {
        match self {
            Self::Estimate => HeuristicCounter.count(text),
            Self::Bytes => text.len().div_ceil(4) as i64,
        }
    }
}

/// A message as this crate counts it, for the rival and for the table.
fn tokens_of(message: &Message, counting: Counting) -> i64 {
    let count = |text: &str| counting.count(text);
    let parts: i64 = match message {
        Message::System { content } => count(content),
        Message::User { content } => content
            .iter()
            .map(|part| match part {
                UserContent::Text(text) => count(&text.text),
                UserContent::ToolResult(result) => {
                    let texts = result.content.iter().filter_map(ToolResultContent::as_text);
                    count(&result.name) + texts.map(count).sum::<i64>()
                }
                other => panic!("not in these histories: {other:?}"),
            })
            .sum(),
        Message::Assistant(turn) => turn
            .content
            .iter()
            .map(|part| match part {
                AssistantContent::Text(text) => count(&text.text),
                AssistantContent::ToolCall(call) => {
                    let arguments = serde_json::to_string(&call.function.arguments).unwrap();
                    count(&call.function.name) + count(&arguments) + 3
                }
                other => panic!("not in these histories: {other:?}"),
            })
            .sum(),
    };
    parts + 3
}

pub(crate) fn compare(
    shape: Shape,
    messages: usize,
    budget: i64,
    counting: Counting,
    effort: Effort,
) -> Row {
    let tokens_of = move |message: &Message| tokens_of(message, counting);
    let adapter = || RigAdapter::new().counter(counting);
    let history = shape.history(messages);
    let question = history.iter().rposition(is_question).map(|at| history[at].clone()).unwrap();
    let memory =
        TokenWindowMemory::new(usize::try_from(budget).unwrap(), move |message: &Message| {
            usize::try_from(tokens_of(message)).unwrap()
        });
    let theirs = |history: Vec<Message>| memory.apply(history).unwrap();
    let near = ours(budget, adapter().horizon(budget), false);
    let told = ours(budget, adapter().horizon(budget), true);
    let all = ours(budget, adapter(), false);

    let times = medians(
        effort,
        [
            timed(|| history.clone(), theirs),
            timed(|| request(history.clone()), &near),
            timed(|| request(history.clone()), &told),
            timed(|| request(history.clone()), &all),
        ],
    );
    let outcome = |time_us: f64, kept: &[Message]| Outcome {
        time_us,
        // What primes the answer is not in the messages.
        used: kept.iter().map(tokens_of).sum(),
        question: kept.contains(&question),
        valid: validate_canonical(kept).is_ok(),
    };
    Row {
        counter: counting.name(),
        history: shape.name(),
        messages: history.len(),
        budget,
        theirs: outcome(times[0], &theirs(history.clone())),
        ours: outcome(times[1], &near(request(history.clone())).chat_history),
        with_report: outcome(times[2], &told(request(history.clone())).chat_history),
        all_messages: outcome(times[3], &all(request(history.clone())).chat_history),
    }
}

fn is_question(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    content.iter().any(|part| matches!(part, UserContent::Text(_)))
}

fn request(history: Vec<Message>) -> CompletionRequest {
    let mut request = CompletionRequest::new("");
    request.chat_history = history;
    request
}

/// The layer over a service that hands the request back, polled by hand.
fn ours(
    budget: i64,
    adapter: RigAdapter,
    report: bool,
) -> impl Fn(CompletionRequest) -> CompletionRequest {
    let policy = Policy::builder()
        .scorer(RecencyScorer)
        .slicer(GreedySlice)
        .placer(ChronologicalPlacer)
        .build()
        .unwrap();
    let mut layer = CupelLayer::builder()
        .adapter(adapter)
        .policy(policy)
        .budget(ContextBudget::builder(budget).build().unwrap())
        // The work is measured, wherever it is done.
        .blocking_threshold(u64::MAX);
    if report {
        layer = layer.on_selection(|selection: &Selection| {
            std::hint::black_box(selection);
        });
    }
    let hand_back = service_fn(|request: CompletionRequest| async { Ok::<_, Infallible>(request) });
    let service = layer.build().unwrap().layer(hand_back);
    move |request| {
        let mut future = pin!(service.clone().call(request));
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(request)) => request,
            Poll::Ready(Err(error)) => panic!("{error}"),
            Poll::Pending => panic!("nothing to wait for"),
        }
    }
}
