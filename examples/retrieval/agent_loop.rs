//! A long conversation with an agent that has tools, memory and retrieval, in a window that is too
//! small for it: the plan of every turn.
//!
//! Run it with `cargo run -p cupel-example-retrieval --example agent_loop`. The agent sends its whole
//! conversation with every call, as Chat Completions JSON, and the layer fits it: instructions, the
//! newest messages without holes, and before the user's last words what it recalls from before the
//! cut and retrieves from two sources. For every call it prints what moved, what was recalled and by
//! which words, and how much a prompt cache may know; at the end the sums, beside newest-first
//! trimming.
//!
//! The model plans by rules and knows nothing but the messages it is sent, so what is dropped shows
//! at once: in a tool call that would not have been needed, or in another answer. The documentation
//! it is asked about is this repository's own. No key, no network; apart from the times, every run
//! prints the same, and a claim that does not hold makes it fail.

mod agent;
mod docs_index;

use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::audit::Audit;
use agent::frame;
use agent::history::{History, MODEL};
use agent::model::{Model as StandIn, Says};
use agent::script::{MEMORY, turns};
use agent::tools::Toolbox;
use agent::view::View;
use cupel::gather::{ConversationStore, Source};
use cupel::layer::CupelLayer;
use cupel::tokens::{Encoding, counter_fn};
use cupel::{ContextItem, ContextKind, ContextSource, CupelError, Policy};
use cupel_dev::terminal::Paint;
use cupel_json::{JsonBody, Model, Models, OpenAiAdapter, Request};
use docs_index::index::DocsIndex;
use docs_index::{estimate_tokens, load};
use futures::StreamExt;
use tower::{Service, ServiceBuilder, ServiceExt};

/// A real window would take hours to fill.
const WINDOW: i64 = 4_000;
/// Tokens of the window that stay free for the answer.
const OUTPUT: i64 = 300;
/// A model that still has no answer after this many calls never will.
const CALLS_PER_TURN: usize = 6;
/// Number of passages that the index offers for a question.
const HITS: usize = 8;
/// Far more than a search takes. A tight deadline is what `streaming_rag` shows; here the same
/// passages must arrive on every machine.
const PATIENCE: Duration = Duration::from_secs(10);

type BoxError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    let out = BufWriter::new(io::stdout().lock());
    let view = View { out, paint: Paint::for_stdout(), last: Vec::new() };
    match run(view).await {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        // `| head` has read enough.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error),
    }
}

/// Has the conversation; whether everything the example claims turned out true.
async fn run(mut view: View<impl Write>) -> Result<bool, BoxError> {
    let started = Instant::now();
    let mut passages = load()?;
    // The guides are about everything and change often; what is asked about stands in the code.
    passages.retain(|passage| passage.path.starts_with("src/"));
    let tools = Toolbox { passages };
    let index = Arc::new(DocsIndex::build(&tools.passages)?);
    let turns = turns();
    frame::introduce(&mut view, tools.passages.len(), started.elapsed())?;

    let counter = counter_fn("characters / 4", estimate_tokens);
    let models = Models::new().with(MODEL, Model::new(WINDOW, Encoding::O200k));
    let adapter = OpenAiAdapter::new().models(models).counter(counter);
    let layer = CupelLayer::builder()
        .budget(adapter.window().default_output(OUTPUT))
        .adapter(adapter)
        .policy(Policy::tool_use())
        .source(memory()?.source("memory", |_: &JsonBody| "user"))
        .source(docs(index))
        .gather_deadline(PATIENCE)
        .build()?;
    let mut agent = ServiceBuilder::new().layer(layer.with_report()).service(StandIn);

    let mut history = History::new();
    let mut audit = Audit::new(WINDOW - OUTPUT);
    for (turn, said) in (1..).zip(&turns) {
        history.says(said.says);
        view.heading(&format!("TURN {turn}"), "")?;
        view.line("user", said.says)?;
        let mut answered = false;
        for call in 1..=CALLS_PER_TURN {
            let request = history.request().ok_or("a request without messages")?;
            let started = Instant::now();
            let (heard, selection) = agent.ready().await?.call(request).await?;
            view.call(call, &selection, started.elapsed())?;
            audit.call(turn, history.messages(), &heard, &selection);
            match &heard.reply.says {
                Says::Call(call) => {
                    let output = tools.run(call);
                    view.tool(call, &output)?;
                    history.called(call, &output);
                }
                Says::Answer(text) => {
                    let without = audit.answer(turn, said, &heard);
                    view.answer(text, without.as_ref())?;
                    history.answered(text);
                    answered = true;
                    break;
                }
            }
        }
        if !answered {
            audit.gave_up(turn);
            history.answered("I gave up.");
        }
        view.out.flush()?;
    }
    frame::sums(&mut view, &audit, history.messages().len())?;
    Ok(frame::verdict(&mut view, &audit.verdict(&turns))?)
}

/// Notes of the agent from an earlier session.
fn memory() -> Result<ConversationStore<&'static str>, CupelError> {
    let store = ConversationStore::new();
    for note in MEMORY {
        let note = ContextItem::builder(note, estimate_tokens(note)).kind(ContextKind::memory());
        store.append("user", note.build()?);
    }
    Ok(store)
}

/// The passages the index finds for the user's last words, one by one as they are fetched.
fn docs(index: Arc<DocsIndex>) -> Source<JsonBody> {
    Source::stream("docs", move |request: &JsonBody| {
        index.hits(&request.question().unwrap_or_default(), HITS).map(|hit| {
            // Without the index's own score: the layer judges passages, notes and old messages by
            // the same measure, and says which words it found.
            let text = hit?.text;
            let tokens = estimate_tokens(&text);
            Ok::<_, BoxError>(ContextItem::new(text, tokens)?)
        })
    })
    .default_kind(ContextKind::document())
    .default_source(ContextSource::rag())
    .deadline(PATIENCE)
}

fn is_broken_pipe(error: &BoxError) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
