//! The connections that are open, and which of them nobody would miss.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;

use crate::answer::{Body, BoxError};

/// Stands for a connection on which an answer is under way.
const BUSY: u64 = u64::MAX;

/// All connections. Time is counted in changes: only their order matters.
#[derive(Debug, Default)]
pub(super) struct Slots {
    open: Mutex<HashMap<u64, Arc<Slot>>>,
    changes: AtomicU64,
}

/// One connection, as the others see it.
#[derive(Debug)]
pub(super) struct Slot {
    id: u64,
    /// Since when it has been idle, or [`BUSY`].
    idle_since: AtomicU64,
    close: Notify,
    slots: Arc<Slots>,
}

impl Slots {
    /// Adds a connection, which is idle until it asks something.
    pub(super) fn add(self: &Arc<Self>) -> Arc<Slot> {
        let id = self.changes.fetch_add(1, Ordering::Relaxed);
        let idle_since = AtomicU64::new(id);
        let slot = Slot { id, idle_since, close: Notify::new(), slots: Arc::clone(self) };
        let slot = Arc::new(slot);
        self.open().insert(id, Arc::clone(&slot));
        slot
    }

    pub(super) fn len(&self) -> usize {
        self.open().len()
    }

    /// Closes the connection that has been idle for longest, if there is one.
    pub(super) fn close_idle(&self) -> bool {
        let mut open = self.open();
        let idle = open.values().map(|slot| (slot.idle_since.load(Ordering::Relaxed), slot.id));
        let longest = idle.filter(|(since, _)| *since != BUSY).min();
        // It is not counted any more: it only has to hear of it.
        let closed = longest.and_then(|(_, id)| open.remove(&id));
        closed.inspect(|slot| slot.close.notify_one()).is_some()
    }

    /// Closes all connections, each once its answer is over.
    pub(super) fn close_all(&self) {
        self.open().values().for_each(|slot| slot.close.notify_one());
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Slot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Until the connection is to be closed.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    pub(super) fn remove(&self) {
        self.slots.open().remove(&self.id);
    }

    /// Marks the connection as busy until what comes back is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.idle_since.store(BUSY, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }
}

/// An answer under way.
#[derive(Debug)]
pub(super) struct Busy(Arc<Slot>);

impl Drop for Busy {
    fn drop(&mut self) {
        let now = self.0.slots.changes.fetch_add(1, Ordering::Relaxed);
        self.0.idle_since.store(now, Ordering::Relaxed);
    }
}

/// The body of an answer that is under way as long as it is there.
pub(super) struct BusyBody {
    pub(super) inner: Body,
    pub(super) _busy: Busy,
}

impl http_body::Body for BusyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
