//! Replays recorded conversations with [`cupel`]: what would be sent, what a prompt cache would read of it,
//! and what a model would miss.
//!
//! ```
//! use cupel::Policy;
//! use cupel_audit::{Audit, Session};
//!
//! let json = r#"{"messages": [{"role": "user", "content": "Where is the key?"},
//!                             {"role": "assistant", "content": "Under the mat."}]}"#;
//! let audit = Audit::new().window(8_000).way("chat", Policy::chat());
//! let report = audit.sessions([Session::read("line 1", json)?]);
//! assert_eq!((report.sessions, report.calls), (1, 1));
//! assert_eq!(report.windows[0].ways[0].tally.regretted_calls, 0);
//! # Ok::<(), String>(())
//! ```
//!
//! The plan of a turn is a function of the request, so any transcript can be replayed. Nothing is sent, and no
//! source is asked. The [`guide`] shows what the numbers mean.

mod audit;
mod blocks;
mod field;
mod files;
pub mod guide;
mod item;
mod layer;
mod local_count;
mod newest_first;
mod page;
mod planner;
mod planner_settings;
mod prices;
mod prompt_cache;
mod receipt;
mod regret;
mod repeats;
mod replay;
mod report;
mod run;
mod search;
mod session;
mod table;
mod tally;
mod transcript;
mod turn_repeats;
mod verify;
mod waste;
mod way;

pub use audit::{Audit, AuditError, AuditProgress};
pub use files::SkippedLine;
pub use layer::{RepeatLayer, RepeatService};
pub use local_count::LocalCountSettings;
pub use page::AuditPage;
pub use planner::{PlannedRequest, Planner};
pub use planner_settings::PlannerSettings;
pub use prices::{InputPrice, PriceTable};
pub use prompt_cache::CacheMatch;
pub use receipt::{Receipt, ReceiptCall, ReceiptCounts, ReceiptForm, ReceiptUnit};
pub use repeats::RepeatKind;
pub use report::{
    AuditReport, AuditedModel, RegretEntry, RepeatEntry, TurnPoint, UnfittedEntry, WasteEntry,
    WasteKind, WayReport, WindowReport,
};
pub use session::Session;
pub use tally::{CallTally, WayTally};
pub use turn_repeats::TurnRepeats;
pub use verify::Verification;

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
