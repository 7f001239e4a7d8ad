//! The long texts that have just come in, which are counted before a request is taken apart.

use std::sync::{Arc, Mutex, PoisonError};

use cupel::layer::CountAhead;
use cupel::tokens::TokenCounter;
use rig_core::completion::CompletionRequest;

use super::count::Count;
use super::{MediaTokens, fixed, message};

/// What of a request takes long to count.
pub(super) fn of(
    request: &CompletionRequest,
    counter: Arc<dyn TokenCounter>,
    media: MediaTokens,
) -> CountAhead {
    let noting = Arc::new(Noting(Mutex::new(CountAhead::new(Arc::clone(&counter)))));
    // What will be counted passes by here in the very form in which it will be counted.
    let mut count = Count::new(Arc::clone(&noting) as _, None, media, fixed::has_tools(request));
    for newest in request.chat_history.iter().rev().take(CountAhead::NEWEST) {
        drop(message::read(newest, &mut count));
    }
    let is_long = |text: &str| text.len() >= CountAhead::LONG_TEXT;
    for document in request.documents.iter().filter(|document| is_long(&document.text)) {
        count.document(&document.to_string());
    }
    drop(count);
    let noted = Arc::into_inner(noting).map(|Noting(ahead)| ahead.into_inner());
    noted.and_then(Result::ok).unwrap_or_else(|| CountAhead::new(counter))
}

/// Stands where a counter would, and notes long texts down.
struct Noting(Mutex<CountAhead>);

impl TokenCounter for Noting {
    fn count(&self, text: &str) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text(text);
        0
    }
}
