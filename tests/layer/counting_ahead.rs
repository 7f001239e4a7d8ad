//! A vocabulary is loaded where it holds nobody up.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use cupel::tokens::{TokenCounter, load_in_background};

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
