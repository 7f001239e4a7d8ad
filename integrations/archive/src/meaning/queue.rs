//! Conversations that have new messages, for the task that embeds them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// A conversation by the names of its namespace and its own.
pub(super) type ConversationNames = (Arc<str>, Arc<str>);

/// The most conversations that are remembered. Of more it is only known that there are some; then all
/// conversations are looked at.
const MOST: usize = 1_024;

/// Conversations with new messages.
#[derive(Debug)]
pub(crate) struct NewMessages {
    waiting: Mutex<Waiting>,
    pub(super) notify: Notify,
}

#[derive(Debug)]
struct Waiting {
    conversations: HashSet<ConversationNames>,
    /// More than are remembered, or nobody has looked yet.
    others: bool,
}

impl NewMessages {
    pub(super) fn new() -> Self {
        let waiting = Waiting { conversations: HashSet::new(), others: true };
        Self { waiting: Mutex::new(waiting), notify: Notify::new() }
    }

    /// Notes a conversation. Takes next to no time, and never waits.
    pub(super) fn add(&self, namespace: &Arc<str>, conversation: &Arc<str>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.conversations.len() < MOST {
            waiting.conversations.insert((Arc::clone(namespace), Arc::clone(conversation)));
        } else {
            waiting.others = true;
        }
        drop(waiting);
        self.notify.notify_one();
    }

    /// Has all conversations looked at.
    pub(super) fn add_all(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).others = true;
        self.notify.notify_one();
    }

    /// Takes what was noted; the flag says that there are others.
    pub(super) fn take(&self) -> (HashSet<ConversationNames>, bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut waiting.conversations), std::mem::take(&mut waiting.others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_conversations_than_are_remembered_are_looked_for() {
        let queue = NewMessages::new();
        assert!(queue.take().1, "at first nobody knows");
        let namespace = Arc::from("t");
        for number in 0..5_000 {
            queue.add(&namespace, &format!("conversation {}", number % 1_030).into());
        }
        let (conversations, others) = queue.take();
        assert_eq!((conversations.len(), others), (MOST, true));
        queue.add(&namespace, &"c".into());
        let (conversations, others) = queue.take();
        assert_eq!((conversations.len(), others), (1, false));
    }
}
