//! A judge that takes long plans the same turn off the executor.

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Judge, Lexical, Question, Verdict};
use serde_json::Value;

use crate::support::{SentSummary, Settings, assistant, filler, user};

type Answer = fn(&Question, &[Candidate<'_>]) -> Option<Verdict>;

/// Says how long it takes, and remembers where it ran.
struct Told {
    steps: u64,
    threads: Arc<Mutex<Vec<ThreadId>>>,
    answer: Answer,
}

impl Judge for Told {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        self.threads.lock().unwrap().push(thread::current().id());
        (self.answer)(question, candidates)
    }

    fn steps(&self, _: &[Candidate<'_>]) -> Option<u64> {
        Some(self.steps)
    }
}

/// Sends a request, and returns true beside it if the judge ran on this thread.
fn sent(steps: u64, answer: Answer) -> (SentSummary, bool) {
    let threads = Arc::default();
    let judge = Told { steps, threads: Arc::clone(&threads), answer };
    let mut settings = Settings::new(1_000);
    settings.relevance = Some(Relevance::new(judge));
    settings.documents = vec!["The garden order is late.".into(), "Nothing of it.".into()];
    let sent = settings.send(&conversation()).unwrap();
    let threads = threads.lock().unwrap();
    assert_eq!(threads.len(), 1, "asked once a call");
    (sent, threads[0] == thread::current().id())
}

/// A fact at the start of a long conversation, and a question about it at the end.
fn conversation() -> Vec<Value> {
    let mut messages = vec![user("My order is INV-2041, for the garden."), assistant("Noted.")];
    for turn in 0..60 {
        messages.push(user(&filler(&format!("q{turn}x"), 20)));
        messages.push(assistant(&filler(&format!("a{turn}x"), 20)));
    }
    messages.push(user("Which order was it, INV-2041?"));
    messages
}

#[test]
fn a_turn_is_planned_alike_wherever_its_judge_runs() {
    let lexical: Answer = |question, candidates| Lexical::new().judge(question, candidates);
    let (here, ran_here) = sent(0, lexical);
    assert!(ran_here);
    let (elsewhere, ran_here) = sent(u64::MAX, lexical);
    assert!(!ran_here, "judged on the caller's task");
    assert!(here.recalled().contains("[0] user: My order is INV-2041"), "{}", here.recalled());
    assert!(here.recalled().contains("The garden order is late."), "{}", here.recalled());
    assert_eq!(elsewhere.json, here.json);
    let hints = |sent: &SentSummary| -> Vec<Option<f64>> {
        sent.plan.parts().map(|(item, _)| item.future_relevance_hint()).collect()
    };
    assert_eq!(hints(&elsewhere), hints(&here));
}

#[test]
fn a_judge_that_panics_elsewhere_costs_the_turn_the_relevance_and_nothing_else() {
    let (without, _) = sent(0, |_, _| None);
    let (panicked, _) = sent(u64::MAX, |_, _| panic!("no"));
    assert_eq!(panicked.json, without.json);
}
