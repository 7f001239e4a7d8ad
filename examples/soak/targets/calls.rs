//! Any call through a layer: it ends, fits its window, and sends the same whether the pool is full.
//!
//! Histories may have no user, or a last message without words. Some results have 10 MB. Sources and
//! judges fail with errors that panic, or never answer. The blocking pool may have no thread left.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use cupel::conversation::{Conversation, Edits, Message, Role, Rules};
use cupel::gather::{BoxError, Source};
use cupel::layer::{
    AsyncJudge, ContextAdapter, ContextError, CupelLayer, RequestFacts, Selection, Selector, Split,
    Strategy, WaitingJudge,
};
use cupel::relevance::{Candidate, Question};
use cupel::tokens::{CachedCounter, HeuristicCounter, TokenCounter};
use cupel::{ContextBudget, ContextItem, Policy};

use super::ensure;
use super::random::Random;

/// A call that takes longer hangs.
const MOST_TIME: Duration = Duration::from_secs(60);

/// Tokens beside the messages.
const FIXED: i64 = 3;

static COUNTER: LazyLock<Arc<CachedCounter<HeuristicCounter>>> =
    LazyLock::new(|| Arc::new(CachedCounter::new(HeuristicCounter)));

/// A request that is nothing but messages, and the edits that were made.
#[derive(Clone, Default)]
struct Talk {
    messages: Vec<Message>,
    edits: Edits,
}

struct TalkAdapter;

impl ContextAdapter<Talk> for TalkAdapter {
    type Rest = Talk;

    fn facts<'a>(&'a self, talk: &'a Talk) -> RequestFacts<'a> {
        let bytes: usize = talk.messages.iter().map(|message| message.text.len()).sum();
        RequestFacts::default().steps(bytes as u64 * 16)
    }

    fn split(&self, mut talk: Talk, _: Strategy) -> Result<Split<Talk>, BoxError> {
        for message in &mut talk.messages {
            message.tokens = COUNTER.count(&message.text) + 4;
            if message.role == Role::Tool {
                message.results = vec![message.tokens - 4];
            }
        }
        let counter: Arc<dyn TokenCounter> = COUNTER.clone();
        let conversation = Conversation::new(talk.messages.clone(), &Rules::new())?;
        Split::conversation(conversation.counter(counter), FIXED, talk)
    }

    fn join(&self, mut talk: Talk, edits: &mut Edits) -> Result<Talk, BoxError> {
        talk.edits = edits.clone();
        Ok(talk)
    }
}

pub(crate) fn case(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let talk = Talk { messages: history(&mut random), ..Talk::default() };
    let policies = [Policy::chat, Policy::tool_use, Policy::rag, Policy::document_qa];
    let policy = random.pick(&policies)();
    let budget = ContextBudget::builder(random.between(200, 6_000)).build().unwrap();
    let sources = (0..random.below(3)).map(|_| random.below(4)).collect::<Vec<_>>();
    let judge = random.chance(30).then(|| BadJudge(random.below(3)));
    let layer = CupelLayer::builder().adapter(TalkAdapter).policy(policy).budget(budget.clone());
    let layer = layer.gather_deadline(Duration::from_millis(5));
    let layer = sources
        .iter()
        .enumerate()
        .fold(layer, |layer, (number, does)| layer.source(source(number, *does)));
    let layer = match judge {
        Some(judge) => layer.waiting_judge(WaitingJudge::new(judge)),
        None => layer,
    };
    let selector = layer.build().unwrap().selector();
    let shown = || {
        let roles = talk.messages.iter().map(|it| format!("{:?} {}", it.role, it.text.len()));
        format!("{budget:?} {sources:?} {}", roles.collect::<Vec<_>>().join(", "))
    };
    let free = call(&selector, &talk, 2)?;
    check(&free, &budget).map_err(|promise| format!("{promise}\n{}", shown()))?;
    if random.chance(10) {
        let full = call(&selector, &talk, 0)?;
        check(&full, &budget).map_err(|promise| format!("{promise}\n{}", shown()))?;
        let given_up = |sent: &Outcome| {
            let relevance = sent.as_ref().ok().and_then(|(_, it)| it.report.relevance.as_ref());
            relevance.is_some_and(|relevance| relevance.problem.is_some())
        };
        let kept = |sent: &Outcome| sent.as_ref().ok().map(|(talk, _)| talk.edits.kept.clone());
        ensure(given_up(&full) || kept(&free) == kept(&full), || {
            format!("a full pool changes what is sent\n{}", shown())
        })?;
    }
    Ok(())
}

type Outcome = Result<(Talk, Selection), ContextError>;

/// One call on a runtime of its own; 0 threads are a pool that something else has filled.
fn call(
    selector: &Selector<Talk, TalkAdapter>,
    talk: &Talk,
    threads: usize,
) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(threads.max(1))
        .build()
        .unwrap();
    let (release, busy) = mpsc::channel::<()>();
    if threads == 0 {
        runtime.spawn_blocking(move || busy.recv());
    }
    let selected = runtime
        .block_on(async { tokio::time::timeout(MOST_TIME, selector.select(talk.clone())).await });
    drop(release);
    runtime.shutdown_background();
    let selected = selected.map_err(|_| format!("the call took more than {MOST_TIME:?}"))?;
    Ok(selected.map(cupel::layer::SelectedRequest::into_parts))
}

fn check(outcome: &Outcome, budget: &ContextBudget) -> Result<(), String> {
    let (sent, selection) = match outcome {
        Ok(sent) => sent,
        // What must be sent may be more than the window.
        Err(ContextError::Pinned { .. } | ContextError::FixedTokens { .. }) => return Ok(()),
        Err(error) => return Err(format!("the call failed: {error}")),
    };
    let Edits { kept, excerpts, quotation, sources, .. } = &sent.edits;
    let mut tokens = quotation.as_ref().map_or(0, |quotation| quotation.tokens);
    tokens += sources.as_ref().map_or(0, |text| COUNTER.count(text));
    for at in kept {
        let message = &sent.messages[*at];
        tokens += match excerpts.get(&(*at, 0)) {
            Some(excerpt) => {
                ensure(COUNTER.count(&excerpt.text) == excerpt.tokens, || {
                    "an excerpt has other tokens than it says".to_owned()
                })?;
                message.tokens - message.results[0] + excerpt.tokens
            }
            None => message.tokens,
        };
    }
    // Without a plan, the quotation's frame is fixed, even if no source gave anything.
    let said = selection.sent.tokens + selection.fixed_tokens;
    let (real, exact) = (tokens + FIXED, selection.plan.is_some() || sources.is_some());
    ensure(if exact { real == said } else { real <= said }, || {
        format!("{real} tokens are sent, and {said} were said")
    })?;
    let window = budget.max_tokens();
    ensure(said <= window, || format!("{said} tokens in a window of {window}"))?;
    let mut open = BTreeSet::new();
    for message in kept.iter().map(|at| &sent.messages[*at]) {
        let answered = message.answers.iter().all(|id| open.remove(id));
        ensure(answered, || "an answer without its call".to_owned())?;
        open.extend(message.calls.iter().cloned());
    }
    ensure(open.is_empty(), || "a call without its answer".to_owned())?;
    let question = sent.edits.messages().iter().rposition(Message::asks);
    ensure(question.is_none_or(|at| kept.contains(&at)), || {
        "the user's last words are missing".to_owned()
    })
}

/// A history of an agent, whole or in an odd state.
fn history(random: &mut Random) -> Vec<Message> {
    let has_user = !random.chance(20);
    let mut messages = Vec::new();
    if random.chance(50) || !has_user {
        messages.push(Message::new(Role::System, "You help with builds.", 0));
    }
    for turn in 0..1 + random.below(12) {
        if has_user {
            messages.push(Message::new(Role::User, text(random, 400), 0));
        }
        for step in 0..random.below(4) {
            let id = format!("call {turn} {step}");
            let asks = Message::new(Role::Assistant, text(random, 200), 0).calls(&id);
            let bytes = if random.chance(1) && random.chance(10) { 10_000_000 } else { 4_000 };
            messages.push(asks);
            messages.push(Message::new(Role::Tool, text(random, bytes), 0).answers(&id));
        }
        messages.push(Message::new(Role::Assistant, text(random, 400), 0));
    }
    match random.below(4) {
        0 if has_user => messages.push(Message::new(Role::User, "", 0)),
        1 if has_user => messages.push(Message::new(Role::User, " \n", 0)),
        2 if has_user => messages.push(Message::new(Role::User, "Which build failed?", 0)),
        _ => {}
    }
    messages
}

fn text(random: &mut Random, most: usize) -> String {
    const WORDS: [&str; 8] =
        ["build", "error", "the", "linker", "failed", "12,5", "größe", "\u{1F9EA}"];
    let bytes = if most > 1_000_000 { most } else { 1 + random.below(most) };
    let line = (0..40).map(|_| random.pick(&WORDS)).collect::<Vec<_>>().join(" ");
    let mut text = format!("{line}\n").repeat(bytes / line.len() + 1);
    text.truncate((0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
    text
}

/// An error that panics when it is shown, or when it is dropped.
#[derive(Debug)]
struct BadError {
    shown: bool,
}

impl fmt::Display for BadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.shown, "{QUIET}");
        f.write_str("no connection")
    }
}

impl Drop for BadError {
    fn drop(&mut self) {
        assert!(!self.shown || std::thread::panicking(), "{QUIET}");
    }
}

impl std::error::Error for BadError {}

/// Panics with this message are part of a case.
pub(crate) const QUIET: &str = "a panic of the soak test";

fn source(number: usize, does: usize) -> Source<Talk> {
    Source::list(format!("source {number}"), move |_: &Talk| async move {
        match does {
            0 => return Err::<Vec<_>, BoxError>(Box::new(BadError { shown: true })),
            1 => return Err(Box::new(BadError { shown: false })),
            2 => std::future::pending().await,
            _ => {}
        }
        Ok(vec![ContextItem::new("The linker failed in build 7.", 9)?])
    })
}

/// Fails with an error that panics, or never answers.
struct BadJudge(usize);

#[async_trait]
impl AsyncJudge for BadJudge {
    async fn judge(&self, _: &Question, _: &[Candidate<'_>]) -> Result<Vec<f64>, BoxError> {
        match self.0 {
            0 => Err(Box::new(BadError { shown: true })),
            1 => Err(Box::new(BadError { shown: false })),
            _ => std::future::pending().await,
        }
    }
}
