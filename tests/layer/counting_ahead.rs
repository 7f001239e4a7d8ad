//! Counts that take long are made where they hold nobody up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, ContextRequestAdapter, CountAhead, CupelLayer, Placed, Split};
use cupel::tokens::{CachedCounter, TokenCounter, load_in_background};

use crate::common::{Request, budget, pipeline};

/// Ready once it has counted something; remembers which threads asked it.
#[derive(Default)]
struct Vocabulary {
    asked_by: std::sync::Mutex<Vec<(ThreadId, usize)>>,
}

impl Vocabulary {
    fn asked_by(&self) -> Vec<(ThreadId, usize)> {
        self.asked_by.lock().unwrap().clone()
    }
}

impl TokenCounter for Vocabulary {
    fn count(&self, text: &str) -> i64 {
        self.asked_by.lock().unwrap().push((thread::current().id(), text.len()));
        1
    }

    fn is_ready(&self) -> bool {
        !self.asked_by().is_empty()
    }
}

fn elsewhere(counter: &Vocabulary) -> Vec<usize> {
    let here = thread::current().id();
    counter.asked_by().into_iter().filter(|(by, _)| *by != here).map(|(_, length)| length).collect()
}

#[tokio::test]
async fn a_vocabulary_is_loaded_and_long_texts_are_counted_on_the_blocking_pool() {
    let counter = Arc::new(CachedCounter::new(Vocabulary::default()));
    let long = "x".repeat(CountAhead::LONG_TEXT);
    let mut ahead = CountAhead::new(Arc::clone(&counter) as _);
    ahead.text("short");
    ahead.text(&long);
    ahead.start().unwrap().await;
    assert_eq!(elsewhere(counter.inner()), ["load".len(), long.len()]);
    // Now both are there.
    assert!(CountAhead::new(Arc::clone(&counter) as _).start().is_none());
    assert_eq!(counter.count(&long), 1);
    assert_eq!(counter.inner().asked_by().len(), 2);
}

#[test]
fn without_a_runtime_there_is_nobody_to_hold_up() {
    let counter = Arc::new(Vocabulary::default());
    assert!(CountAhead::new(Arc::clone(&counter) as _).start().is_none());
    assert!(counter.asked_by().is_empty());
}

#[test]
fn loading_in_the_background_ends_when_the_counter_is_ready() {
    let counter = Arc::new(Vocabulary::default());
    load_in_background(Arc::clone(&counter) as _);
    while !counter.is_ready() {
        thread::yield_now();
    }
    load_in_background(Arc::clone(&counter) as _);
    assert_eq!(elsewhere(&counter), ["load".len()]);
}

/// Counts how often it is told that a layer is built.
#[derive(Default)]
struct Told(AtomicUsize);

impl ContextAdapter<Request> for Told {
    type Rest = <ContextRequestAdapter as ContextAdapter<Request>>::Rest;

    fn built(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn split(&self, request: Request) -> Result<Split<Self::Rest>, BoxError> {
        ContextRequestAdapter.split(request)
    }

    fn join(&self, rest: Self::Rest, placed: Vec<Placed>) -> Result<Request, BoxError> {
        ContextRequestAdapter.join(rest, placed)
    }
}

#[test]
fn an_adapter_is_told_when_its_layer_is_built_and_not_when_it_is_not() {
    let adapter = Arc::new(Told::default());
    let builder = || CupelLayer::builder().adapter(Arc::clone(&adapter)).pipeline(pipeline());
    builder().build().unwrap_err();
    assert_eq!(adapter.0.load(Ordering::SeqCst), 0);
    builder().budget(budget(10)).build().unwrap();
    assert_eq!(adapter.0.load(Ordering::SeqCst), 1);
}
