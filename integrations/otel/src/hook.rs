//! The hook: every call through a layer as a tree of spans, and its numbers.

use cupel::layer::{CallObserver, CallStart, SelectionHook};
use opentelemetry::trace::{Span, Tracer, TracerProvider};

use crate::call::Call;
use crate::tracers::Tracers;
use crate::{CupelMetrics, CupelVerbosity};

/// Watches every call through a layer.
///
/// A call becomes the span `cupel.selection`, a child of the span that is active where the call is
/// polled first, with `cupel.gather` (a `cupel.source` for each source) and `cupel.pipeline` (a
/// `cupel.stage.{name}` for each stage) inside. It begins when the layer is called, so taking the
/// request apart is inside as well, and ends before the wrapped service is called, so the model's
/// own span stands beside it.
///
/// ```
/// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
/// use cupel::{ContextBudget, Policy};
/// use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};
///
/// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
///     .adapter(ContextRequestAdapter)
///     .policy(Policy::rag())
///     .budget(ContextBudget::builder(8_192).build()?)
///     .hook(CupelOtel::new(CupelVerbosity::StageOnly).metrics(CupelMetrics::global()))
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CupelOtel {
    pub(crate) verbosity: CupelVerbosity,
    pub(crate) tracers: Tracers,
    pub(crate) metrics: Option<CupelMetrics>,
}

impl CupelOtel {
    /// A hook for the global tracer provider, under the scope `cupel`.
    #[must_use]
    pub fn new(verbosity: CupelVerbosity) -> Self {
        Self { verbosity, tracers: Tracers::default(), metrics: None }
    }

    /// Measures as well. Every item is counted then, even when no meter provider is set.
    #[must_use]
    pub fn metrics(mut self, metrics: CupelMetrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Sends spans to this provider instead of the global one.
    #[must_use]
    pub fn tracer_provider<P>(mut self, provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Tracer + Send + Sync + 'static,
        <P::Tracer as Tracer>::Span: Span + Send + Sync + 'static,
    {
        self.tracers = Tracers::of(provider);
        self
    }
}

impl SelectionHook for CupelOtel {
    /// The collector hears everything a report would say.
    fn wants_selection(&self) -> bool {
        false
    }

    fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
        Some(Box::new(Call::begin(self, call)?))
    }
}
