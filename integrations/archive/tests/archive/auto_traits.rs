//! Handles go anywhere.

use cupel_archive::{
    Archive, ArchiveError, ArchiveMessage, ConversationHandle, Namespace, StoredMessage,
};

fn anywhere<T: Send + Sync + Clone + std::fmt::Debug + 'static>() {}

#[test]
fn handles_and_messages_go_from_thread_to_thread() {
    anywhere::<Archive>();
    anywhere::<Namespace>();
    anywhere::<ConversationHandle>();
    anywhere::<ArchiveMessage>();
    anywhere::<StoredMessage>();
    anywhere::<ArchiveError>();
}
