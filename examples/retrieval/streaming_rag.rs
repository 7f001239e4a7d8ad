//! Four retrievers, of which one is slow, one breaks and one hangs: under two deadlines, and
//! selected from in two ways.
//!
//! Run it with `cargo run -p cupel-example-retrieval --example streaming_rag`. All four search the documentation of this
//! repository; what a network would do to them is simulated: delays between passages, a broken
//! connection, a server that never answers. A call goes out with what arrived in time. The same
//! call with more patience stands beside it. At the end, a call that gathers everything before it
//! selects stands beside one that selects while passages arrive: the same selection, earlier.

mod docs_index;
mod remotes;

use std::convert::Infallible;
use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;

use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::{ContextBudget, ContextItem, Policy};
use cupel_dev::terminal::Paint;
use docs_index::index::DocsIndex;
use docs_index::{estimate_tokens, load};
use remotes::remote::{Fault, Log, Remote, Search};
use remotes::view::{Outcome, View};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

const QUESTION: &str = "What happens to a call when a source fails or misses its deadline?";

/// The deadlines of the two calls.
const DEADLINES: [Duration; 2] = [ms(300), ms(900)];

/// Retrievers, and the behaviour of their networks.
const REMOTES: [Remote; 4] = [
    Remote { name: "guides", part: "md", first: ms(20), next: ms(10), ..Remote::DEFAULT },
    Remote { name: "api", part: "src/", first: ms(80), next: ms(60), ..Remote::DEFAULT },
    // A copy of the whole index: what it finds, others may find too.
    Remote {
        name: "mirror",
        first: ms(40),
        next: ms(25),
        fault: Fault::Breaks(5),
        ..Remote::DEFAULT
    },
    // Known to be unreliable, so it has a deadline of its own.
    Remote { name: "archive", fault: Fault::Hangs, deadline: Some(ms(200)), ..Remote::DEFAULT },
];

/// The same without the faults, and with an archive that is slow and has only long, old passages.
const PATIENT: [Remote; 4] = [
    Remote { hits: 12, ..REMOTES[0] },
    Remote { hits: 6, ..REMOTES[1] },
    Remote { fault: Fault::None, hits: 6, ..REMOTES[2] },
    Remote {
        name: "archive",
        first: ms(500),
        next: ms(100),
        at_least: 60,
        weight: 0.3,
        ..Remote::DEFAULT
    },
];

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let index = Arc::new(DocsIndex::build(&load()?)?);
    let mut outcomes = Vec::new();
    for deadline in DEADLINES {
        outcomes.push(call(&index, &REMOTES, deadline, false).await?);
    }
    let batch = call(&index, &PATIENT, ms(5_000), false).await?;
    let streaming = call(&index, &PATIENT, ms(5_000), true).await?;
    let paint = Paint::for_stdout();
    let mut view = View { out: BufWriter::new(io::stdout().lock()), paint, question: QUESTION };
    let printed = view.print(&outcomes).and_then(|()| view.two_ways(&batch, &streaming));
    match printed.and_then(|()| view.out.flush()) {
        // `| head` has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        printed => printed?,
    }
    if batch.contents() != streaming.contents() {
        return Err("selecting while passages arrived gave another selection".into());
    }
    Ok(())
}

/// One call, with every source cut off at the deadline.
async fn call(
    index: &Arc<DocsIndex>,
    remotes: &[Remote],
    deadline: Duration,
    streaming: bool,
) -> Result<Outcome, Box<dyn Error + Send + Sync>> {
    let mut layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(600).output_reserve(100).build()?)
        .gather_deadline(deadline)
        .select_while_gathering(streaming);
    for remote in remotes {
        layer = layer.source(remote.source(index)?);
    }
    let model = service_fn(|request: ContextRequest<Search>| async move {
        Ok::<_, Infallible>(request.items().count())
    });
    let mut model = ServiceBuilder::new().layer(layer.build()?.with_report()).service(model);

    let log = Arc::new(Log::start());
    let question =
        ContextItem::builder(QUESTION, estimate_tokens(QUESTION)).pinned(true).build()?;
    let search = Search { question: QUESTION.to_owned(), log: Arc::clone(&log) };
    let request = ContextRequest::new(search).item(question);
    let (sent, selection) = model.ready().await?.call(request).await?;
    Ok(Outcome { deadline, elapsed: log.elapsed(), sent, arrivals: log.arrivals(), selection })
}
