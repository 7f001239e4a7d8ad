//! Chat messages as candidates, and back into a conversation that a model's API accepts.
//!
//! An adapter for a chat API says what each message is: who speaks, which tools it calls, which
//! calls it answers. A [`Conversation`] makes units of them that are kept or dropped whole, pins
//! what no request can do without, refuses what no API would take, and puts the kept messages
//! back in their order:
//!
//! ```
//! use cupel::conversation::{Conversation, Message, Role, Rules};
//! use cupel::model::{Origin, PlacedItem};
//!
//! let messages = vec![
//!     Message::new(Role::System, "You are a calculator.", 8),
//!     Message::new(Role::User, "What is 6 x 7?", 9),
//!     Message::new(Role::Assistant, "multiply(6, 7)", 12).calls("call_1"),
//!     Message::new(Role::Tool, "42", 4).answers("call_1"),
//! ];
//! let conversation = Conversation::new(messages, &Rules::new())?;
//! let candidates = conversation.candidates();
//! // The call and its answer are one candidate. All are pinned here: instructions, question, and
//! // what the model has just asked for.
//! assert_eq!(candidates.len(), 3);
//! assert_eq!(candidates[2].content(), "[2] assistant: multiply(6, 7)\n[3] tool: 42");
//! assert_eq!(candidates[2].tokens(), 16);
//!
//! // Whatever order the selection comes in, the conversation keeps its own.
//! let placed = [2, 0, 1].map(|unit| PlacedItem {
//!     item: candidates[unit].clone(),
//!     origin: Origin::Request(unit),
//! });
//! assert_eq!(conversation.arrange(&placed).kept, [0, 1, 2, 3]);
//! # Ok::<(), cupel::CupelError>(())
//! ```

pub(crate) mod edits;
mod held_texts;
mod message;
mod outline;
mod pairing;
pub mod plan;
mod rehearsal;
mod repeats;
mod rules;
pub(crate) mod tools;
mod units;
pub mod what_if;

pub use edits::{Edits, QuotationEdit, SentSummary};
pub use message::{Attributes, Message, MessageTexts, Role, Texts};
pub use outline::outline;
pub use rehearsal::{DryRun, Rehearsal, RehearsedMessage};
pub use rules::{Answers, Exchanges, Rules};
pub use units::{Arrangement, Conversation, PartTokens, QuotableDocument};
