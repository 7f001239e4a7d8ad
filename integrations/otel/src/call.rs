//! One call through a layer, until the wrapped service is called.

use std::time::SystemTime;

use cupel::TraceCollector;
use cupel::gather::GatherReport;
use cupel::layer::{CallObserver, CallStart, ContextError, Selection, SelectionHook};
use opentelemetry::Context;

use crate::call_spans::CallSpans;
use crate::collector::Handover;
use crate::tracers::Tracers;
use crate::{CupelOtel, CupelOtelTraceCollector};

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call {
    hook: CupelOtel,
    called_at: SystemTime,
    /// Set while somebody records the call.
    spans: Option<CallSpans>,
    /// Holds the call's span if there is one, and the caller's otherwise.
    context: Context,
    /// The numbers of the pipeline's run, when it is over.
    run: Handover,
    ended: bool,
}

impl Call {
    /// Starts the span, in the caller's context; None when there is nobody to tell.
    pub(crate) fn begin(hook: &CupelOtel, start: &CallStart) -> Option<Self> {
        let caller = Context::current();
        let call = |hook, spans, context| Self {
            hook,
            called_at: start.called_at,
            spans,
            context,
            run: Handover::default(),
            ended: false,
        };
        let Some((spans, context)) = CallSpans::begin(hook, start, &caller) else {
            hook.metrics.as_ref()?;
            // The pipeline's spans would have nothing to be in: there are none.
            let hook = CupelOtel { tracers: Tracers::Off, ..hook.clone() };
            return Some(call(hook, None, caller));
        };
        Some(call(hook.clone(), Some(spans), context))
    }

    /// Writes what there is to say about the time until the model is asked.
    fn end(&mut self, gather: Option<&GatherReport>, error: Option<&'static str>) {
        self.ended = true;
        if let Some(metrics) = &self.hook.metrics {
            metrics.record_call(self.called_at.elapsed().unwrap_or_default(), error);
            gather.into_iter().for_each(|gather| metrics.record_gather(gather));
        }
        if let Some(spans) = self.spans.take() {
            spans.end(&self.context, gather, error);
        }
    }
}

/// A call that came to no end of its own was cut off: by a panic, or by whoever dropped it.
impl SelectionHook for CupelOtel {
    /// The collector hears everything a report would say.
    fn wants_selection(&self) -> bool {
        false
    }

    fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
        let call = Call::begin(self, call)?;
        Some(Box::new(call))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            let error = if std::thread::panicking() { "Panicked" } else { "Cancelled" };
            self.end(None, Some(error));
        }
    }
}

impl CallObserver for Call {
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        let CupelOtel { verbosity, tracers, metrics } = self.hook.clone();
        let (context, run) = (self.context.clone(), self.run.clone());
        Some(Box::new(CupelOtelTraceCollector::of_call(verbosity, tracers, metrics, context, run)))
    }

    fn on_selection(mut self: Box<Self>, selection: &Selection) {
        if let (Some(metrics), Some(run)) = (&self.hook.metrics, self.run.get()) {
            metrics.record_selection(selection, run);
        }
        if let Some(spans) = &self.spans {
            spans.write_selection(selection, &self.context);
        }
        self.end(Some(&selection.gather), None);
    }

    fn on_failure(mut self: Box<Self>, error: &ContextError, gather: &GatherReport) {
        self.end(Some(gather), Some(error.name()));
    }
}
