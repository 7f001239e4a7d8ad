//! Archives the requests and answers of a service, after each answer.
//!
//! [`RecordLayer`] stands outside of everything that changes a request, so that it sees what the
//! client sent. When a call has succeeded, its new messages go into a bounded queue, and the
//! response goes on at once; [`Recorder`] writes them in their order, counts what it had to drop,
//! and waits for the rest on [`flush`](Recorder::flush). Only an append's own return acknowledges:
//! whoever must not lose a message calls [`ConversationHandle::append`](crate::ConversationHandle::append).
//!
//! ```
//! use cupel_archive::record::{RecordLayer, Recorder, RecordedTurn, whole};
//! use cupel_archive::{Archive, ArchiveMessage};
//! use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let tenant = Archive::open("sqlite::memory:").await?.namespace("acme")?;
//! let conversation = tenant.conversation("thread-1")?;
//!
//! let recorder = Recorder::new();
//! let thread = conversation.clone();
//! let layer = RecordLayer::new(
//!     recorder.clone(),
//!     whole(
//!         // The whole history that a request brings; what is archived already is left out.
//!         move |request: &Vec<String>| {
//!             let history = request.iter().map(ArchiveMessage::user);
//!             Some(RecordedTurn::new(thread.clone(), history))
//!         },
//!         |answer: &String| vec![ArchiveMessage::assistant(answer.as_str())],
//!     ),
//! );
//! let model = service_fn(async |_: Vec<String>| Ok::<_, BoxError>("In Lyon.".to_owned()));
//! let mut model = ServiceBuilder::new().layer(layer).service(model);
//!
//! model.ready().await?.call(vec!["Where is INV-2041?".to_owned()]).await?;
//! recorder.flush().await;
//! assert_eq!(conversation.recent(10).await?.len(), 2);
//! assert_eq!(recorder.dropped(), 0);
//! # Ok(())
//! # }
//! ```

mod anthropic;
mod api;
mod chat;
mod content;
mod layer;
mod queue;
mod responses;
mod share;
mod stream;
mod transcript;
mod wire;

pub use anthropic::anthropic_messages;
pub use api::{ApiTranscript, StreamedApiTranscript};
pub use chat::{Chat, StreamedChat, chat_messages};
pub use layer::{RecordFuture, RecordLayer, RecordService};
pub use queue::Recorder;
pub use responses::{Responses, StreamedResponses, responses_messages, responses_turn};
pub use stream::{Listener, RecordedStream};
pub use transcript::{OpenTurn, RecordedTurn, Transcript, WholeTranscript, whole};
pub use wire::Wire;
