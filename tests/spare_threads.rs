//! Long work while other work on the spare threads never ends. A process of its own, since the threads are shared.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};

use cupel::conversation::{Conversation, Edits, Message, Role, Rules};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, CupelLayer, RequestFacts, Split, Strategy, off_executor};
use cupel::tokens::{CachedCounter, CounterFn, TokenCounter, counter_fn};
use cupel::{ContextBudget, Policy};

/// Number of spare threads of a process, as the documentation of `off_executor` says.
const SPARE_THREADS: usize = 8;

/// Runs a future while something holds the blocking pool and all spare threads.
fn with_no_thread_free<T>(call: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let (release, busy) = channel::<()>();
    let busy = Arc::new(Mutex::new(busy));
    let held = Arc::clone(&busy);
    runtime.spawn_blocking(move || held.lock().unwrap().recv());

    let outcome = runtime.block_on(async {
        let started = Arc::new(Barrier::new(SPARE_THREADS + 1));
        let (end, ended) = channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        for _ in 0..SPARE_THREADS {
            let (started, ended) = (Arc::clone(&started), Arc::clone(&ended));
            let hangs = move || {
                started.wait();
                let _ = ended.lock().unwrap().recv();
            };
            tokio::spawn(off_executor(u64::MAX, hangs));
        }
        tokio::task::yield_now().await;
        let all_taken = thread::spawn(move || started.wait());
        while !all_taken.is_finished() {
            tokio::task::yield_now().await;
        }
        let outcome = call.await;
        drop(end);
        outcome
    });
    drop(release);
    outcome
}

type WordCounter = CachedCounter<CounterFn<fn(&str) -> i64>>;

/// Counts words, says that reading takes long, and notes in which threads it reads.
struct Words {
    counter: Arc<WordCounter>,
    threads: Arc<Mutex<Vec<ThreadId>>>,
}

fn words(text: &str) -> i64 {
    i64::try_from(text.split_whitespace().count()).unwrap()
}

impl ContextAdapter<Vec<Message>> for Words {
    type Rest = Vec<Message>;

    fn facts<'a>(&'a self, _: &'a Vec<Message>) -> RequestFacts<'a> {
        RequestFacts::default().steps(u64::MAX)
    }

    fn split(&self, mut talk: Vec<Message>, _: Strategy) -> Result<Split<Self::Rest>, BoxError> {
        self.threads.lock().unwrap().push(thread::current().id());
        talk.iter_mut().for_each(|message| message.tokens = self.counter.count(&message.text));
        let counter: Arc<dyn TokenCounter> = self.counter.clone();
        let conversation = Conversation::new(talk.clone(), &Rules::new())?.counter(counter);
        Split::conversation(conversation, 0, talk)
    }

    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<Vec<Message>, BoxError> {
        Ok(edits.kept.iter().map(|at| rest[*at].clone()).collect())
    }
}

// One test, because the threads are shared.
#[test]
fn a_call_that_gets_no_thread_runs_here_with_estimates_and_says_so() {
    let here = with_no_thread_free(off_executor(u64::MAX, || thread::current().id()));
    assert_eq!(here.unwrap(), thread::current().id());

    let counter = Arc::new(CachedCounter::new(counter_fn("words", words as fn(&str) -> i64)));
    let threads = Arc::new(Mutex::new(Vec::new()));
    let layer = CupelLayer::builder()
        .adapter(Words { counter: Arc::clone(&counter), threads: Arc::clone(&threads) })
        .policy(Policy::chat())
        .budget(ContextBudget::builder(400).build().unwrap())
        .build()
        .unwrap();
    let selector = layer.selector();
    let message = |number: usize| Message::new(Role::User, format!("Parcel {number} is blue."), 0);
    let mut talk: Vec<Message> = (0..60).map(message).collect();
    talk.push(Message::new(Role::User, "Which parcel is red?", 0));
    let bytes = |talk: &[Message]| talk.iter().map(|it| it.text.len() as i64).sum::<i64>();

    // The newest message is known, the others are new: a byte of them is a token at most.
    counter.count(&talk[60].text);
    let selected = with_no_thread_free(selector.select(talk.clone()));
    let (sent, selection) = selected.unwrap().into_parts();
    assert_eq!(threads.lock().unwrap().pop(), Some(thread::current().id()));
    assert!(selection.estimated);
    assert!(selection.explain().text().to_string().contains("tokens are estimated"));
    let quoted = selection.plan.as_ref().unwrap().recalled_tokens;
    assert_eq!(selection.sent.tokens, bytes(&sent[..sent.len() - 1]) + 4 + quoted);
    assert!(selection.sent.tokens <= 400 && sent.len() < 30, "{}", sent.len());

    // No estimate is remembered.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (sent, selection) = runtime.block_on(selector.select(talk.clone())).unwrap().into_parts();
    assert!(!selection.estimated);
    assert_eq!((sent.len(), selection.sent.tokens), (61, 61 * 4));
}
