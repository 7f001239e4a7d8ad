//! Items that are sent while a call gathers, as a source.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::ready;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::stream::{self, StreamExt};
use tokio::sync::{mpsc, oneshot};

use super::{CandidateStream, Source};
use crate::model::ContextItem;

/// Sends items to calls that gather, turn by turn.
///
/// What is sent through a [`Turn`] becomes candidates of one call: the one with the turn's key that
/// gathers, or the next one that does. The call takes items until the turn ends or a deadline
/// passes, and with the call the turn is over: what is sent too late comes back in an error, and
/// no other call ever sees it.
///
/// A key has one turn at a time: a turn that no call has taken is over when the next one begins.
/// Where calls can be cancelled, or several of one conversation can be under way, give each call
/// a key of its own.
///
/// Cheap to clone; all clones share the same turns.
///
/// ```
/// use std::time::Duration;
/// use cupel::gather::{Source, TurnChannel};
/// use cupel::ContextItem;
///
/// struct Step { conversation: u64, number: u64 }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let tools = TurnChannel::new(32);
/// let source: Source<Step> = tools
///     .source("tools", |step: &Step| (step.conversation, step.number))
///     .deadline(Duration::from_millis(200))
///     .optional();
///
/// let turn = tools.turn((7, 1));
/// turn.send(ContextItem::new("42", 1)?).await?;
/// turn.end();
/// # let _ = source;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct TurnChannel<K = ()> {
    ends: Arc<SendingEnd<K>>,
}

type Items = mpsc::Receiver<ContextItem>;

type Turns<K> = Arc<Mutex<HashMap<K, Slot>>>;

/// What a key has.
enum Slot {
    /// A turn that no call has taken yet.
    Begun(Items),
    /// Calls that wait for a turn, in their order.
    Awaited(VecDeque<oneshot::Sender<Items>>),
}

/// What all clones of a channel share, and its sources do not.
struct SendingEnd<K> {
    turns: Turns<K>,
    capacity: usize,
}

impl<K> Drop for SendingEnd<K> {
    /// Nobody can begin a turn any more, so no call needs to wait for one.
    fn drop(&mut self) {
        lock(&self.turns).retain(|_, slot| matches!(slot, Slot::Begun(_)));
    }
}

fn lock<K>(turns: &Turns<K>) -> MutexGuard<'_, HashMap<K, Slot>> {
    turns.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Eq + Hash> TurnChannel<K> {
    /// A channel without turns, each of which will hold up to `capacity` items for its call.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let ends = SendingEnd { turns: Turns::default(), capacity: capacity.max(1) };
        Self { ends: Arc::new(ends) }
    }

    /// Begins a turn for the call with this key.
    #[must_use = "a turn ends when its handle is dropped"]
    pub fn turn(&self, key: K) -> Turn {
        let (items, mut taken) = mpsc::channel(self.ends.capacity);
        let mut turns = lock(&self.ends.turns);
        if let Some(Slot::Awaited(calls)) = turns.get_mut(&key) {
            while let Some(call) = calls.pop_front() {
                match call.send(taken) {
                    Ok(()) => return Turn { items },
                    // That call is over.
                    Err(back) => taken = back,
                }
            }
        }
        turns.insert(key, Slot::Begun(taken));
        Turn { items }
    }

    /// Forgets the turn of a key that no call has taken.
    pub fn remove(&self, key: &K) {
        let mut turns = lock(&self.ends.turns);
        if let Some(Slot::Begun(_)) = turns.get(key) {
            turns.remove(key);
        }
    }

    /// A source that gives each request the items of its turn.
    pub fn source<Req>(
        &self,
        name: impl Into<Arc<str>>,
        key_of: impl Fn(&Req) -> K + Send + Sync + 'static,
    ) -> Source<Req>
    where
        K: Clone + Send + Sync + 'static,
    {
        let (turns, ends) = (Arc::clone(&self.ends.turns), Arc::downgrade(&self.ends));
        Source::new(name, move |request: &Req| -> CandidateStream {
            let (turns, ends, key) = (Arc::clone(&turns), Weak::clone(&ends), key_of(request));
            let taken = stream::once(async move {
                let mut waiting = Waiting::new(turns, &ends, key);
                (&mut waiting.turn).await.ok()
            });
            let items = taken
                .filter_map(ready)
                .flat_map(|mut items| stream::poll_fn(move |cx| items.poll_recv(cx)).map(Ok));
            Box::pin(items)
        })
    }
}

/// A call that waits for its turn to begin.
struct Waiting<K: Eq + Hash> {
    turns: Turns<K>,
    key: K,
    turn: oneshot::Receiver<Items>,
}

impl<K: Eq + Hash + Clone> Waiting<K> {
    fn new(turns: Turns<K>, ends: &Weak<SendingEnd<K>>, key: K) -> Self {
        let (hand_over, turn) = oneshot::channel();
        let mut all = lock(&turns);
        match all.remove(&key) {
            // The receiver is right here, so it arrives.
            Some(Slot::Begun(items)) => drop(hand_over.send(items)),
            Some(Slot::Awaited(mut calls)) => {
                calls.push_back(hand_over);
                all.insert(key.clone(), Slot::Awaited(calls));
            }
            None if ends.strong_count() > 0 => {
                all.insert(key.clone(), Slot::Awaited(VecDeque::from([hand_over])));
            }
            None => {}
        }
        drop(all);
        Self { turns, key, turn }
    }
}

impl<K: Eq + Hash> Drop for Waiting<K> {
    /// A call that is over waits for nothing.
    fn drop(&mut self) {
        self.turn.close();
        let mut turns = lock(&self.turns);
        if let Some(Slot::Awaited(calls)) = turns.get_mut(&self.key) {
            calls.retain(|call| !call.is_closed());
            if calls.is_empty() {
                turns.remove(&self.key);
            }
        }
    }
}

/// One turn of a [`TurnChannel`]: what is sent through it is for one call.
///
/// The turn ends when [`end`](Self::end) has been called on all clones, or they are dropped.
#[derive(Clone)]
pub struct Turn {
    items: mpsc::Sender<ContextItem>,
}

/// Nobody will take the item: the call of the turn is over, or the key's next turn has begun.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the turn is over: its call has ended, or the next turn has begun before a call took it")]
pub struct TurnOver {
    /// The item that was not sent.
    pub item: ContextItem,
}

impl Turn {
    /// Sends an item, waiting while the turn holds as many as it may.
    ///
    /// # Errors
    ///
    /// [`TurnOver`] gives the item back when nobody can take it any more.
    pub async fn send(&self, item: ContextItem) -> Result<(), TurnOver> {
        self.items.send(item).await.map_err(|mpsc::error::SendError(item)| TurnOver { item })
    }

    /// Says that nothing more will be sent, so that the call need not wait for its deadline.
    pub fn end(self) {}
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("over", &self.items.is_closed()).finish()
    }
}

impl<K> Clone for TurnChannel<K> {
    fn clone(&self) -> Self {
        Self { ends: Arc::clone(&self.ends) }
    }
}

impl<K> fmt::Debug for TurnChannel<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = lock(&self.ends.turns).len();
        f.debug_struct("TurnChannel").field("keys", &keys).finish_non_exhaustive()
    }
}
