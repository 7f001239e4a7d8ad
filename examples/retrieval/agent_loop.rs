//! A multi-turn agent with tools, memory and retrieval, each of its calls through the layer.
//!
//! Run it with `cargo run -p cupel-example-retrieval --example agent_loop`. The model plans by rules and knows nothing but
//! the items it is sent, so a selection that drops a fact shows at once: in a tool call that would
//! not have been needed, or in another answer. The documentation it is asked about is this
//! repository's own. No key, no network; apart from the times, every run prints the same.

mod agent;
mod docs_index;
#[path = "../quickstart/scenario/table.rs"]
#[allow(dead_code, reason = "each example that includes this module uses its own part of it")]
mod table;

use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::audit::Audit;
use agent::history::{History, Turn};
use agent::model::{Model, Says};
use agent::tools::{SCHEMAS, Tool, Toolbox};
use agent::view::{View, millis};
use chrono::DateTime;
use cupel::gather::{ConversationStore, Source};
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::{
    ChronologicalPlacer, CompositeScorer, ContextBudget, ContextKind, ContextSource,
    CountQuotaEntry, CountQuotaSlice, CupelError, GreedySlice, KindScorer, OverflowStrategy,
    Pipeline, RecencyScorer, ReflexiveScorer, ScarcityBehavior,
};
use docs_index::index::DocsIndex;
use docs_index::{estimate_tokens, load};
use futures::StreamExt;
use table::{Paint, count};
use tower::{ServiceBuilder, ServiceExt};

/// What the user asks, one turn after the other.
const QUESTIONS: [&str; 8] = [
    "Which Rust version is the minimum supported one?",
    "What is (17 + 25) * 3 - 10 / 4?",
    "What is the default item limit of a source divided by 64?",
    "What is the default blocking threshold divided by 64, minus that?",
    "What is 2 ^ 10? And what is 100 divided by (7 - 7)?",
    "What is the largest knapsack table divided by the default item limit of a source?",
    "Which database stores conversations on disk? And what is the first result plus that?",
    "What did I ask first?",
];

/// A model that still has no answer after this many calls never will.
const CALLS_PER_TURN: usize = 6;
/// How many passages the index offers for a question.
const HITS: usize = 30;
/// Far more than a search takes. A tight deadline is what `streaming_rag` shows; here the same
/// passages must arrive on every machine.
const PATIENCE: Duration = Duration::from_secs(10);

type BoxError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    let out = BufWriter::new(io::stdout().lock());
    let view = View { out, paint: Paint::for_stdout(), last: None };
    match run(view).await {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        // `| head` has read enough.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error),
    }
}

/// Asks all questions; whether everything the example claims turned out true.
async fn run(mut view: View<impl Write>) -> Result<bool, BoxError> {
    let started = Instant::now();
    let tools = Toolbox { passages: load()? };
    let index = Arc::new(DocsIndex::build(&tools.passages)?);
    let budget = ContextBudget::builder(800).output_reserve(160).build()?;
    let fixed = estimate_tokens(SCHEMAS);
    view.heading("AN AGENT ON A SMALL BUDGET", &format!("{} turns", QUESTIONS.len()))?;
    introduce(&mut view, &tools, started.elapsed(), &budget, fixed)?;

    let memory = ConversationStore::new();
    let audit = Arc::new(Mutex::new(Audit::new(budget.target_tokens(), fixed)));
    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .pipeline(pipeline()?)
        .budget(budget)
        .source(memory.source("memory", |_: &ContextRequest<Turn>| "session"))
        .source(docs(index))
        .gather_deadline(PATIENCE)
        .build()?;
    let eyes = Arc::clone(&audit);
    let mut agent = ServiceBuilder::new()
        .layer(layer)
        .map_request(move |request: ContextRequest<Turn>| {
            lock(&eyes).request(&request);
            request
        })
        .service(Model);

    let mut history = History::new();
    for (turn, question) in (1..).zip(QUESTIONS) {
        history.ask(question);
        view.heading(&format!("TURN {turn}"), "")?;
        view.line("user", question)?;
        let (mut notes, mut answered) = (Vec::new(), false);
        for call in 1..=CALLS_PER_TURN {
            let (request, started) = (history.request()?, Instant::now());
            let (reply, selection) = agent.ready().await?.call_with_report(request).await?;
            view.call(call, &selection, started.elapsed())?;
            lock(&audit).selection(turn, &selection);
            match &reply.says {
                Says::Call(call) => {
                    let output = tools.run(call);
                    view.tool(call, &output, &selection)?;
                    if call.tool == Tool::Calculator && !output.starts_with("error") {
                        notes.push(history.note(call, &output)?);
                    }
                    history.called(call, &output)?;
                }
                Says::Answer(text) => {
                    let without = lock(&audit).answer(&reply);
                    view.answer(text, without.as_ref())?;
                    history.answered(text)?;
                    answered = true;
                    break;
                }
            }
        }
        if !answered {
            lock(&audit).gave_up(turn);
            history.answered("I gave up.")?;
        }
        // Remembered only now: within its turn a result is in the exchange it came from.
        memory.extend("session", notes);
        view.out.flush()?;
    }
    verdict(&mut view, &lock(&audit).verdict(QUESTIONS.len()))
}

/// Says what the agent has, and how to read the rest.
fn introduce(
    view: &mut View<impl Write>,
    tools: &Toolbox,
    indexed_in: Duration,
    budget: &ContextBudget,
    fixed: i64,
) -> io::Result<()> {
    let passages = count(tools.passages.len());
    let (window, reserve) = (budget.max_tokens(), budget.output_reserve());
    let left = budget.target_tokens() - fixed;
    for (label, text) in [
        (
            "documents",
            format!("{passages} passages of this repository, indexed in {}", millis(indexed_in)),
        ),
        (
            "budget",
            format!(
                "{window} tokens (characters / 4): {reserve} kept free for the answer, {fixed} for \
                 tool schemas, {left} to select for"
            ),
        ),
        ("model", "rules in this process; it knows the items it is sent, and nothing else".into()),
        ("missed", "a passage had the fact, but was left out, so the model has to search".into()),
        ("without", "what the model replies when the first item it quotes is taken away".into()),
    ] {
        view.line(label, &text)?;
    }
    Ok(())
}

/// The passages the index finds for the question, one by one as they are fetched.
fn docs(index: Arc<DocsIndex>) -> Source<ContextRequest<Turn>> {
    Source::stream("docs", move |request: &ContextRequest<Turn>| {
        index.hits(&request.payload.question, HITS).map(|hit| {
            // Older than all that is said: documents earn no recency, and the model reads them
            // before the conversation.
            Ok::<_, BoxError>(hit?.item()?.to_builder().timestamp(DateTime::UNIX_EPOCH).build()?)
        })
    })
    .default_kind(ContextKind::document())
    .default_source(ContextSource::rag())
    .deadline(PATIENCE)
    .optional()
}

/// Relevance first, then recency; the best tool outputs are sure of a place.
fn pipeline() -> Result<Pipeline, CupelError> {
    let scorer = CompositeScorer::builder()
        .add(ReflexiveScorer, 0.6)
        .add(RecencyScorer, 0.3)
        .add(KindScorer::default(), 0.1)
        .build()?;
    // A turn here needs three tool outputs at most. Without them it would call again, for ever.
    let sure = vec![CountQuotaEntry::new(ContextKind::tool_output(), 3, usize::MAX)?];
    Pipeline::builder()
        .scorer(scorer)
        .slicer(CountQuotaSlice::new(sure, GreedySlice, ScarcityBehavior::Degrade)?)
        .placer(ChronologicalPlacer)
        .overflow_strategy(OverflowStrategy::Truncate)
        .build()
}

/// Prints what was claimed and whether it held.
fn verdict(view: &mut View<impl Write>, claims: &[(String, Vec<usize>)]) -> Result<bool, BoxError> {
    view.heading("CHECKED", "")?;
    for (claim, broken) in claims {
        let turns = broken.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let note =
            if broken.is_empty() { String::new() } else { format!(" — not in turn {turns}") };
        view.line(if broken.is_empty() { "  yes" } else { "  NO" }, &format!("{claim}{note}"))?;
    }
    view.out.flush()?;
    Ok(claims.iter().all(|(_, broken)| broken.is_empty()))
}

fn lock(audit: &Mutex<Audit>) -> MutexGuard<'_, Audit> {
    audit.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_broken_pipe(error: &BoxError) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
