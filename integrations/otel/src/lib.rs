//! OpenTelemetry for `tower-cupel`: spans and metrics of every selection, and never its content.
//!
//! - [`CupelOtel`] is a hook for the layer: a tree of spans for each call, with what each source
//!   did.
//! - [`CupelOtelTraceCollector`] is for a pipeline that is run without the layer.
//! - [`CupelMetrics`] goes with either.
//! - With the feature `otlp`, `otlp` sends both to a collector, as the environment says.
//! - [`attributes`] and [`names`] list everything that is exported, by name.
//!
//! ```
//! use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
//! use cupel::{ContextBudget, Policy};
//! use cupel_otel::{CupelOtel, CupelVerbosity};
//!
//! let layer = CupelLayer::<ContextRequest<String>, _>::builder()
//!     .adapter(ContextRequestAdapter)
//!     .policy(Policy::chat())
//!     .budget(ContextBudget::builder(8_192).build()?)
//!     .hook(CupelOtel::new(CupelVerbosity::StageOnly))
//!     .build()?;
//! # let _ = layer;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod collector;
mod conversation;
mod hook;
mod metrics;
mod run;
mod tracers;
mod verbosity;

pub mod attributes;
pub mod names;
#[cfg(feature = "otlp")]
pub mod otlp;

pub use collector::CupelOtelTraceCollector;
pub use conversation::ConversationId;
pub use hook::CupelOtel;
pub use metrics::CupelMetrics;
pub use verbosity::CupelVerbosity;

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
