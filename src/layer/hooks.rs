//! Hooks that are told what was selected, and observers that follow single calls.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use auto_impl::auto_impl;

use super::{ContextError, Selection};
use crate::diagnostics::TraceCollector;
use crate::gather::GatherReport;

/// Is told about every selection before the wrapped service is called.
///
/// A closure over `&Selection` is a hook for successes:
///
/// ```
/// use cupel::layer::{Selection, SelectionHook};
///
/// fn assert_hook(_: impl SelectionHook) {}
/// assert_hook(|selection: &Selection| println!("{} items", selection.report.included.len()));
/// ```
#[auto_impl(Arc)]
#[allow(unused_variables)] // the names are for those who override
pub trait SelectionHook: Send + Sync {
    /// A selection was made.
    fn on_selection(&self, selection: &Selection) {}

    /// No selection could be made; the wrapped service is not called.
    fn on_failure(&self, error: &ContextError, gather: &GatherReport) {}

    /// Returns true if [`on_selection`](Self::on_selection) shall be called. The layer asks before every
    /// call, and makes no report if no hook wants it.
    fn wants_selection(&self) -> bool {
        true
    }

    /// Follows a call that begins. Called in the caller's task at the first poll of the call, before
    /// the sources are polled.
    fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
        None
    }
}

impl SelectionHook for () {}

impl<F: Fn(&Selection) + Send + Sync> SelectionHook for F {
    fn on_selection(&self, selection: &Selection) {
        self(selection);
    }
}

impl fmt::Debug for dyn SelectionHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SelectionHook")
    }
}

/// A call that begins, for those who [follow](SelectionHook::observe) it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallStart {
    /// Time at which the layer was called.
    pub called_at: SystemTime,
    /// Model the request is for, where [the adapter](super::RequestFacts::model) knows it.
    pub model: Option<Arc<str>>,
}

impl CallStart {
    /// A call made at this time, for a model that is not known.
    #[must_use]
    pub fn new(called_at: SystemTime) -> Self {
        Self { called_at, model: None }
    }
}

/// Follows one call, for a hook that keeps something about each: a span, or when it began.
///
/// A [`SelectionHook`] makes one in [`observe`](SelectionHook::observe). It is dropped before the
/// wrapped service is called, and when the call is dropped.
///
/// ```
/// use std::time::SystemTime;
/// use cupel::layer::{CallObserver, CallStart, Selection, SelectionHook};
///
/// /// Says how long each call took until the model was asked.
/// struct Delay;
///
/// struct Begun(SystemTime);
///
/// impl SelectionHook for Delay {
///     fn wants_selection(&self) -> bool {
///         false
///     }
///
///     fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
///         Some(Box::new(Begun(call.called_at)))
///     }
/// }
///
/// impl CallObserver for Begun {
///     fn on_selection(self: Box<Self>, _selection: &Selection) {
///         println!("{:?}", self.0.elapsed().unwrap_or_default());
///     }
/// }
/// ```
#[allow(unused_variables)] // the names are for those who override
pub trait CallObserver: Send {
    /// Watches the pipeline, from wherever it runs. Asked for once, when gathering is over.
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        None
    }

    /// A selection was made and is in the request. Its report is empty unless
    /// [somebody wants it](SelectionHook::wants_selection).
    fn on_selection(self: Box<Self>, selection: &Selection) {}

    /// No selection could be made or sent.
    fn on_failure(self: Box<Self>, error: &ContextError, gather: &GatherReport) {}
}

impl fmt::Debug for dyn CallObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallObserver")
    }
}
