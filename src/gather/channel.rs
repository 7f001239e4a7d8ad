//! Items that are sent while a call gathers, as a source.

use std::fmt;
use std::sync::Arc;

use futures::stream;
use tokio::sync::{Mutex, mpsc};

use super::{CandidateStream, Source};
use crate::model::ContextItem;

/// A channel of items: what is sent becomes candidates of the call that is gathering.
///
/// A call takes items until the sender says that its turn is over ([`ChannelSender::end_turn`]),
/// all senders are dropped, or a deadline passes. Items that no call has taken wait for the next
/// one. There is one stream of items: of several calls at once, one takes them and the others
/// wait.
///
/// ```
/// use std::time::Duration;
/// use cupel::gather::{Source, channel};
/// use cupel::ContextItem;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (tools, source) = channel::<String>("tools", 32);
/// let source: Source<String> = source.deadline(Duration::from_millis(200)).optional();
/// tools.send(ContextItem::new("42", 1)?).await?;
/// tools.end_turn().await?;
/// # let _ = source;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn channel<Req>(name: impl Into<Arc<str>>, capacity: usize) -> (ChannelSender, Source<Req>) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    let receiver = Arc::new(Mutex::new(receiver));
    let source = Source::new(name, move |_: &Req| -> CandidateStream {
        let receiver = Arc::clone(&receiver);
        Box::pin(stream::unfold(None, move |taken| {
            let receiver = Arc::clone(&receiver);
            async move {
                // Holding the receiver for the whole turn keeps the items of one turn together.
                let mut taken = match taken {
                    Some(taken) => taken,
                    None => receiver.lock_owned().await,
                };
                let item = taken.recv().await.flatten()?;
                Some((Ok(item), Some(taken)))
            }
        }))
    });
    (ChannelSender { sender }, source)
}

/// Sends items into a [`channel`].
#[derive(Clone)]
pub struct ChannelSender {
    /// Nothing is the end of a turn.
    sender: mpsc::Sender<Option<ContextItem>>,
}

/// Nobody will take the item: the layer that had the source is gone.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the source of this channel has been dropped, so nobody will take what is sent")]
pub struct ChannelClosed {
    /// The item that was not sent; none for the end of a turn.
    pub item: Option<ContextItem>,
}

impl ChannelSender {
    /// Sends an item, waiting while the channel is full.
    ///
    /// # Errors
    ///
    /// [`ChannelClosed`] gives the item back when nobody can take it any more.
    pub async fn send(&self, item: ContextItem) -> Result<(), ChannelClosed> {
        self.put(Some(item)).await
    }

    /// Says that nothing more will be sent for the current turn, so that a call need not wait for
    /// its deadline.
    ///
    /// # Errors
    ///
    /// [`ChannelClosed`] when nobody can take it any more.
    pub async fn end_turn(&self) -> Result<(), ChannelClosed> {
        self.put(None).await
    }

    async fn put(&self, item: Option<ContextItem>) -> Result<(), ChannelClosed> {
        self.sender.send(item).await.map_err(|mpsc::error::SendError(item)| ChannelClosed { item })
    }
}

impl fmt::Debug for ChannelSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelSender").field("closed", &self.sender.is_closed()).finish()
    }
}
