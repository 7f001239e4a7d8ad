//! Counting that would hold the executor, done before a request is taken apart.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::runtime::Handle;

use crate::tokens::TokenCounter;

/// Makes the counts of a request that take long on Tokio's blocking pool: other tasks go on, and a
/// time-out around the call fires in time. It is for
/// [`ContextAdapter::before_split`](super::ContextAdapter::before_split).
///
/// What takes long is the first count of a counter that is not [ready](TokenCounter::is_ready), and
/// texts of [`LONG_TEXT`](Self::LONG_TEXT) bytes or more. The counter has to remember what it
/// counted, as a [`CachedCounter`](crate::tokens::CachedCounter) does.
///
/// ```
/// use cupel::layer::CountAhead;
/// use cupel::tokens::counter_for_model;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let mut ahead = CountAhead::new(counter_for_model("gpt-4o"));
/// ahead.text("a short text is not noted down");
/// ahead.text(&"a long one is ".repeat(10_000));
/// if let Some(counted) = ahead.start() {
///     counted.await;
/// }
/// # });
/// ```
#[must_use]
pub struct CountAhead {
    counter: Arc<dyn TokenCounter>,
    texts: Vec<String>,
}

impl CountAhead {
    /// Texts of so many bytes take milliseconds to count.
    pub const LONG_TEXT: usize = 64 * 1024;

    /// How many of the newest messages are worth a look: what is older was counted on an earlier
    /// turn.
    pub const NEWEST: usize = 16;

    /// Counts ahead with the counter that will count the request.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, texts: Vec::new() }
    }

    /// Notes a text down if it is long.
    pub fn text(&mut self, text: &str) {
        if text.len() >= Self::LONG_TEXT {
            self.texts.push(text.to_owned());
        }
    }

    /// Begins; none when counting will be quick, or when there is no runtime, and so no executor to
    /// hold up.
    #[must_use]
    pub fn start(self) -> Option<BoxFuture<'static, ()>> {
        let Self { counter, texts } = self;
        if texts.is_empty() && counter.is_ready() {
            return None;
        }
        let work = Handle::try_current().ok()?.spawn_blocking(move || {
            if !counter.is_ready() {
                counter.count("load");
            }
            for text in &texts {
                counter.count(text);
            }
        });
        // What goes wrong there goes wrong again when it is counted, and is reported then.
        Some(Box::pin(async move { drop(work.await) }))
    }
}

impl fmt::Debug for CountAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountAhead")
            .field("counter", &self.counter)
            .field("texts", &self.texts.len())
            .finish()
    }
}
