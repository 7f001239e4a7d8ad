//! The plan of a turn: what of a long conversation is sent, so that the model keeps its thread and
//! the provider's cache keeps its prefix.
//!
//! A function of the request alone: nothing is stored, and any replica sends the same bytes. What
//! fits is sent unchanged. Otherwise, in the order of the request:
//!
//! 1. the **head**: instructions, wherever they stand, and what the caller has pinned;
//! 2. the **tail**: the newest messages without holes. It begins where the tokens since the
//!    conversation's start cross a line of a grid, so it moves rarely, and the requests between two
//!    moves begin alike. Long tool results in it are [excerpts](Excerpt), shorter ones in its older,
//!    **faded** part. Its first user message begins with the user's
//!    [standing orders](StandingBlock) from before the cut, and, if a compactor is set and they are there,
//!    [summaries](TurnSummaries) of what left the window;
//! 3. what is **recalled**: passages of messages before the cut and what sources bring, by relevance to
//!    the user's last words, [quoted](Quotation) in the conversation's order as the first part of the
//!    user's last message. A share of the window is the limit; less is quoted if less is relevant;
//! 4. that message and the exchange under way.
//!
//! The user's last message is the last one with words, an image, a file or audio: a blank one asks
//! nothing. If no user has asked anything, as in a tool loop that a system prompt began, the whole
//! history is the exchange under way. Nothing is recalled then.
//!
//! If an API wants the user first, the tail begins with a user's message. If there is none between
//! two lines of the grid, it begins inside an exchange, behind the message that opened it.
//!
//! If room is short the older tail gives way, then what is recalled, then the message the user
//! replies to, then the oldest steps of the exchange, then standing orders. The share of recall halves
//! before it is gone. The question and the newest result are always there.
//!
//! Planning has three steps and no call-backs: [`decide`](super::Conversation::decide) says what is sent,
//! [`TurnDraft::task`] what still has to be judged, and [`TurnDraft::finish`] takes the verdict.
//! [`Conversation::plan`](super::Conversation::plan) does all three at once:
//!
//! ```
//! use cupel::conversation::plan::{Part, Turn};
//! use cupel::conversation::{Conversation, Message, MessageTexts, Role, Rules};
//! use cupel::model::TurnPlan;
//!
//! let mut messages = vec![Message::new(Role::System, "Be brief.", 6)];
//! for turn in 0..40 {
//!     messages.push(Message::new(Role::User, format!("Question {turn}?"), 100));
//!     messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
//! }
//! messages.push(Message::new(Role::User, "And what was answer 3?", 10));
//!
//! let conversation = Conversation::new(messages, &Rules::new())?;
//! let plan = TurnPlan::new();
//! let turn = Turn::new(&plan, 4_000);
//! let planned = conversation.plan(&turn, None, &MessageTexts).expect("a question");
//! assert_eq!(planned.parts.first(), Some(&Part::Head));
//! assert_eq!(planned.parts.last(), Some(&Part::Question));
//! assert_eq!(planned.share - planned.frame, 400);
//! let sent: i64 = planned.pinned_tokens();
//! assert!(sent + planned.share <= 4_000 && sent > 2_500);
//! # Ok::<(), cupel::CupelError>(())
//! ```

mod cache;
mod decide;
mod documents;
mod excerpt;
mod ladder;
mod ladder_units;
mod passage;
mod planned;
mod quote;
mod recall;
mod recall_slice;
mod report;
mod source_label;
mod standing;
mod standing_block;
mod summary;
mod summary_block;
mod summary_cells;
mod turn;

pub use decide::TurnDraft;
pub use excerpt::Excerpt;
pub use planned::{CacheExpectation, NewestFirst, Part, PlanOutcome, PrefixBreak, Prices};
pub use quote::Quotation;
pub use report::TurnReport;
pub(crate) use report::{ReportedRequest, SentMessage};
pub use standing_block::StandingBlock;
pub(crate) use summary::is_usable;
pub use summary::{
    ANY_CUT, CellContent, CellMessage, PlacedSummary, StoredSummary, SummaryCell, SummaryKey,
    SummaryRules, TurnSummaries,
};
pub use summary_cells::SummaryCells;
pub use turn::Turn;
pub(crate) use turn::{TurnFacts, recall_pipeline};
