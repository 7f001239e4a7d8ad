//! Work that would hold the executor, done before a request is counted: loading an encoding, and
//! counting long texts that have just come in.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cupel::tokens::{Encoding, TokenCounter, shared_counter};
use serde_json::Value;

use crate::request::Parts;

/// Texts of so many bytes take milliseconds to count.
const LONG: usize = 64 * 1024;

/// New texts stand at the end, and what is older has been counted on an earlier turn.
const NEWEST: usize = 16;

/// Loads an encoding, unless that is done.
pub(crate) fn load(encoding: Encoding) {
    shared_counter(encoding).count("load");
    if let Some(loaded) = flag(encoding) {
        loaded.store(true, Ordering::Release);
    }
}

fn flag(encoding: Encoding) -> Option<&'static AtomicBool> {
    static O200K: AtomicBool = AtomicBool::new(false);
    static CL100K: AtomicBool = AtomicBool::new(false);
    match encoding {
        Encoding::O200k => Some(&O200K),
        Encoding::Cl100k => Some(&CL100K),
        _ => None,
    }
}

/// What is to be done before a request is counted.
pub(crate) struct Ahead {
    /// An encoding that has not been loaded yet.
    encoding: Option<Encoding>,
    counter: Arc<dyn TokenCounter>,
    texts: Vec<String>,
}

impl Ahead {
    /// None when counting will be quick. `counter`: counts in place of the encoding's own.
    pub(crate) fn of(
        request: &impl Parts,
        encoding: Encoding,
        counter: Option<&Arc<dyn TokenCounter>>,
    ) -> Option<Self> {
        let is_loaded = flag(encoding).is_none_or(|loaded| loaded.load(Ordering::Acquire));
        let load = (counter.is_none() && !is_loaded).then_some(encoding);
        let texts = long_texts(request);
        if load.is_none() && texts.is_empty() {
            return None;
        }
        let counter = counter.map_or_else(|| shared_counter(encoding), Arc::clone);
        Some(Self { encoding: load, counter, texts })
    }

    /// Does it; the counts stay in the counter's cache.
    pub(crate) fn run(self) {
        self.encoding.into_iter().for_each(load);
        for text in &self.texts {
            self.counter.count(text);
        }
    }
}

/// The long texts of the newest messages.
fn long_texts(request: &impl Parts) -> Vec<String> {
    let seen = Cell::new(0);
    let texts = RefCell::new(Vec::new());
    request.look_back(|json| {
        if json.len() >= LONG {
            if let Ok(message) = serde_json::from_str(json) {
                collect(message, &mut texts.borrow_mut());
            }
        }
        seen.set(seen.get() + 1);
        (seen.get() == NEWEST).then_some(())
    });
    texts.into_inner()
}

fn collect(value: Value, texts: &mut Vec<String>) {
    match value {
        // Images, sounds and files are not counted as text.
        Value::String(text) if text.len() >= LONG && !text.starts_with("data:") => texts.push(text),
        Value::Array(values) => values.into_iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| collect(value, texts)),
        _ => {}
    }
}
