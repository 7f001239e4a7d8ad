//! The terms of long conversations side by side, as they were read last.
//!
//! On its next turn a long conversation has the same texts in the same order. Looked up one by one
//! their terms lie all over the memory, and fetching them takes most of the time; here they lie in
//! a row. What does not follow on is looked up.

use std::sync::Mutex;

use super::super::Language;
use super::terms::{Key, Term, key_of, terms_by_key};

/// Shorter conversations are fast either way.
const LEAST_TEXTS: usize = 1_000;
/// How many terms of a conversation lie in a row: 8 MiB.
const MOST_TERMS: usize = 2 << 20;
/// How many conversations are remembered so.
const MOST_RUNS: usize = 4;

static RUNS: Mutex<Vec<Run>> = Mutex::new(Vec::new());

/// Texts in their order, and their terms in a row.
#[derive(Debug, Default)]
struct Run {
    keys: Vec<Key>,
    /// Where each text's terms end.
    ends: Vec<usize>,
    terms: Vec<Term>,
}

impl Run {
    /// The remembered run that begins with this text, which is nobody else's meanwhile.
    fn beginning_with(key: &Key) -> Self {
        let mut runs = RUNS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = runs.iter().position(|run| run.keys.first() == Some(key));
        found.map(|at| runs.remove(at)).unwrap_or_default()
    }

    fn remember(self) {
        let mut runs = RUNS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Two calls of one conversation at once: the later one is the longer one.
        runs.retain(|run| run.keys.first() != self.keys.first());
        if runs.len() >= MOST_RUNS {
            runs.remove(0);
        }
        runs.push(self);
    }

    fn terms_at(&self, position: usize) -> &[Term] {
        let before = position.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(position).copied().unwrap_or(0);
        self.terms.get(before.copied().unwrap_or(0)..end).unwrap_or_default()
    }

    fn truncate(&mut self, texts: usize) {
        self.keys.truncate(texts);
        self.ends.truncate(texts);
        self.terms.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

/// Reads one text of a conversation after another.
pub(super) struct Reader {
    language: Language,
    /// None where a conversation is short.
    run: Option<Run>,
    position: usize,
    /// Whether everything so far was as it is remembered.
    in_step: bool,
}

impl Reader {
    pub(super) fn new(language: Language, texts: usize) -> Self {
        let run = (texts >= LEAST_TEXTS).then(Run::default);
        Self { language, run, position: 0, in_step: true }
    }

    /// Hands out the terms of the next text.
    pub(super) fn with<R>(&mut self, text: &str, read: impl FnOnce(&[Term]) -> R) -> R {
        let key = key_of(text, self.language);
        let Some(run) = &mut self.run else { return read(&terms_by_key(&key, text)) };
        if self.position == 0 {
            *run = Run::beginning_with(&key);
        }
        let position = self.position;
        self.position += 1;
        if self.in_step && run.keys.get(position) == Some(&key) {
            return read(run.terms_at(position));
        }
        if self.in_step {
            run.truncate(position);
            self.in_step = false;
        }
        let terms = terms_by_key(&key, text);
        // Only while there is no gap: what follows one could not be found again.
        if run.keys.len() == position && run.terms.len() + terms.len() <= MOST_TERMS {
            run.keys.push(key);
            run.terms.extend_from_slice(&terms);
            run.ends.push(run.terms.len());
        }
        read(&terms)
    }

    /// Remembers what was read for the next turn.
    pub(super) fn finish(self) {
        if let Some(run) = self.run.filter(|run| !run.keys.is_empty()) {
            run.remember();
        }
    }
}
