//! OpenTelemetry for `tower-cupel`: spans and metrics of every selection, and never its content.
//!
//! - [`CupelOtel`] is a hook for the layer: a tree of spans for each call, with one for each source.
//! - [`CupelOtelTraceCollector`] is for a pipeline without the layer.
//! - [`CupelMetrics`] adds metrics to either.
//! - [`ModelCallSpan`] is the span of a whole call, for programs that stand between clients and models.
//! - With the feature `otlp`, the module `otlp` sends both to a collector, as the environment says.
//! - [`attributes`] and [`names`] list the names of everything that is exported.
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

mod hook;
mod metrics;
mod model_call;
mod spans;

pub mod attributes;
pub mod names;
#[cfg(feature = "otlp")]
pub mod otlp;

pub use hook::{CupelOtel, CupelOtelTraceCollector};
pub use metrics::CupelMetrics;
pub use model_call::{ModelCallSpan, ModelCallUsage};
pub use spans::{ConversationId, CupelVerbosity};

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
