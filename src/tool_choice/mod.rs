//! Tool definitions that are sent with a request that does not fit.
//!
//! An agent with a few servers of tools offers hundreds of them, and most have nothing to do with what the
//! user asks for. A request that fits is sent unchanged. In one that does not fit, and whose definitions
//! take more than a [share of the window](crate::model::ToolLimit), [`choose_tools`] says which stay:
//!
//! - always those that the history calls, that the request or its instructions name, and that the caller
//!   or the API wants kept: see [`ToolReason`];
//! - then those whose name, description and parameters have the words of the user's questions. Of every
//!   question its three best are in view, earlier questions count half as much each time, and a definition
//!   that is like one of the best, or like one that was called, gets part of its score: tools of one server
//!   help each other.
//!
//! Tools stand before everything else in a prompt, so another set loses the whole prompt cache. The set is
//! a function of the request alone: it is found by going through the conversation's questions again. It
//! does not change while the model works on a question, and another question changes it only if one of
//! its three best is not in view.
//!
//! ```
//! use cupel::tool_choice::{ToolCandidate, ToolExchange, ToolReason, choose_tools};
//! use cupel::model::ToolLimit;
//!
//! let tools = [
//!     ToolCandidate::new("send_mail", "Sends a mail to a person.", 40),
//!     ToolCandidate::new("get_weather", "Weather of a city for the next days.", 40),
//!     ToolCandidate::new("book_table", "Books a table in a restaurant.", 40),
//!     ToolCandidate::new("file_search", "", 40).keep(ToolReason::Hosted),
//! ];
//! let question = ToolExchange::new("Is it going to rain? I mean the weather in Lyon.");
//! let choice = choose_tools(&tools, &[question], &ToolLimit::new(), 80);
//! assert_eq!(choice.kept, [1, 3]);
//! assert_eq!(choice.verdicts[1].reason, ToolReason::Relevant);
//! assert_eq!(choice.verdicts[0].reason, ToolReason::LeftOut);
//! ```

mod candidate;
mod choice;
#[cfg(feature = "tools")]
mod definition_text;
mod offer;
mod replay;
mod report;

pub use candidate::{ToolCandidate, ToolReason, keep_named};
pub use choice::{ToolChoice, ToolExchange, ToolVerdict, choose_tools};
#[cfg(feature = "tools")]
pub use definition_text::definition_text;
pub use offer::ToolOffer;
pub use report::{ReportedTool, ToolReport};
