//! Requests of other shapes: what an adapter takes out and puts back, and what it refuses.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::ContextItem;
use cupel::gather::{BoxError, Source};
use cupel::layer::{
    ContextAdapter, ContextError, CupelLayer, Edits, Error, RequestFacts, Split, Strategy,
};
use tower::{Layer, ServiceExt, service_fn};

use crate::common::{Recorder, budget, item, pipeline};

/// A request in somebody else's shape.
#[derive(Debug, Clone, PartialEq)]
struct Prompt {
    instructions: String,
    lines: Vec<String>,
    temperature: f32,
    refuse: &'static str,
}

fn prompt(lines: &[&str]) -> Prompt {
    Prompt {
        instructions: "be brief please".to_owned(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        temperature: 0.25,
        refuse: "",
    }
}

#[derive(Debug)]
struct RefusedItem(&'static str);

impl std::fmt::Display for RefusedItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {}", self.0)
    }
}

impl std::error::Error for RefusedItem {}

/// A word is a token.
struct Lines;

fn words(text: &str) -> i64 {
    text.split_whitespace().count() as i64
}

impl ContextAdapter<Prompt> for Lines {
    type Rest = Prompt;

    fn split(&self, mut prompt: Prompt, _: Strategy) -> Result<Split<Prompt>, BoxError> {
        if prompt.refuse == "split" {
            return Err(RefusedItem("split").into());
        }
        let lines = std::mem::take(&mut prompt.lines);
        let candidates = lines
            .iter()
            .map(|line| ContextItem::new(line.as_str(), words(line)))
            .collect::<Result<_, _>>()?;
        Ok(Split::new(candidates, words(&prompt.instructions), prompt))
    }

    fn join(&self, mut rest: Prompt, edits: &mut Edits) -> Result<Prompt, BoxError> {
        if rest.refuse == "join" {
            return Err(RefusedItem("join").into());
        }
        rest.lines = edits.placed.iter().map(|placed| placed.item.content().to_owned()).collect();
        Ok(rest)
    }
}

async fn send<A: ContextAdapter<Prompt> + 'static>(
    adapter: A,
    tokens: i64,
    prompt: Prompt,
) -> Result<Prompt, Error<Infallible>> {
    let layer = CupelLayer::builder()
        .adapter(adapter)
        .pipeline(pipeline())
        .budget(budget(tokens))
        .build()
        .unwrap();
    layer.layer(service_fn(|prompt: Prompt| ready(Ok(prompt)))).oneshot(prompt).await
}

#[tokio::test]
async fn the_request_is_edited_in_place() {
    let sent = send(Lines, 8, prompt(&["one two", "three four five", "six"])).await.unwrap();
    // Three tokens are fixed, so five are left.
    assert_eq!(sent, prompt(&["one two", "three four five"]));
}

#[tokio::test]
async fn an_adapter_can_be_shared() {
    let adapter: Arc<dyn ContextAdapter<Prompt, Rest = Prompt>> = Arc::new(Lines);
    assert_eq!(send(adapter, 4, prompt(&["one"])).await.unwrap(), prompt(&["one"]));
}

#[tokio::test]
async fn a_request_that_cannot_be_taken_apart_fails_before_anything_is_gathered() {
    let polled = Arc::new(AtomicUsize::new(0));
    let source = Source::stream("rag", {
        let polled = Arc::clone(&polled);
        move |_: &Prompt| {
            let polled = Arc::clone(&polled);
            futures::stream::poll_fn(move |_| {
                polled.fetch_add(1, Ordering::SeqCst);
                std::task::Poll::Ready(None::<Result<ContextItem, BoxError>>)
            })
        }
    });
    let hook = Recorder::default();
    let layer = CupelLayer::builder()
        .adapter(Lines)
        .pipeline(pipeline())
        .budget(budget(100))
        .source(source)
        .hook(hook.clone())
        .build()
        .unwrap();
    let service = layer.layer(service_fn(|prompt: Prompt| ready(Ok::<_, Infallible>(prompt))));
    let outcome = service.oneshot(Prompt { refuse: "split", ..prompt(&["one"]) }).await;
    let Err(Error::Context(error)) = outcome else { panic!("the call went through") };
    assert_eq!(error.to_string(), "the request could not be adapted: cannot split");
    assert!(error.source().unwrap().is::<RefusedItem>());
    assert_eq!(polled.load(Ordering::SeqCst), 0);
    assert_eq!(hook.failures.lock().unwrap().len(), 1);
    assert!(hook.selections.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_request_that_cannot_be_put_together_is_not_sent() {
    let calls = Arc::new(AtomicUsize::new(0));
    let model = service_fn({
        let calls = Arc::clone(&calls);
        move |_: Prompt| {
            calls.fetch_add(1, Ordering::SeqCst);
            ready(Ok::<_, Infallible>(()))
        }
    });
    let hook = Recorder::default();
    let layer = CupelLayer::builder()
        .adapter(Lines)
        .pipeline(pipeline())
        .budget(budget(100))
        .source(Source::items("notes", [item("a note", 2)]))
        .hook(hook.clone())
        .build()
        .unwrap();
    let outcome = layer.layer(model).oneshot(Prompt { refuse: "join", ..prompt(&[]) }).await;
    let Err(Error::Context(error @ ContextError::Adapter(_))) = outcome else {
        panic!("the call went through")
    };
    assert_eq!(error.to_string(), "the request could not be adapted: cannot join");
    assert!(error.source().unwrap().is::<RefusedItem>());
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // The selection was made and then failed; the hook knows what had been gathered.
    let failures = hook.failures.lock().unwrap();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].1.source("notes").unwrap().items, 1);
    // It is told of one thing: nothing was sent that it could have been told of before.
    assert!(hook.selections.lock().unwrap().is_empty());
}

/// Takes long to read a request, and remembers on which thread it did.
#[derive(Default)]
struct Slow(std::sync::Mutex<Option<std::thread::ThreadId>>);

impl ContextAdapter<Prompt> for Slow {
    type Rest = Prompt;

    fn facts<'a>(&'a self, _: &'a Prompt) -> RequestFacts<'a> {
        RequestFacts::default().steps(60_000_000_000)
    }

    fn split(&self, prompt: Prompt, strategy: Strategy) -> Result<Split<Prompt>, BoxError> {
        *self.0.lock().unwrap() = Some(std::thread::current().id());
        Lines.split(prompt, strategy)
    }

    fn join(&self, rest: Prompt, edits: &mut Edits) -> Result<Prompt, BoxError> {
        Lines.join(rest, edits)
    }
}

#[tokio::test]
async fn a_request_that_takes_long_to_read_is_read_on_the_blocking_pool() {
    let adapter = Arc::new(Slow::default());
    let sent = send(Arc::clone(&adapter), 100, prompt(&["one"])).await.unwrap();
    assert_eq!(sent.lines, ["one"]);
    let read_by = adapter.0.lock().unwrap().take();
    assert!(read_by.is_some_and(|thread| thread != std::thread::current().id()));
}
