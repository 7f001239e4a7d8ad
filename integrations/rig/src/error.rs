//! Errors of a Tower stack in the words of rig.

use cupel::gather::{BoxError, SourceOutcome};
use cupel::layer::{ContextError, Error};
use rig_core::error::{ErrorKind, ErrorReport, ProviderError};
use tower::timeout::error::Elapsed;

/// Report to rig about a failed stack: the provider's own report if the provider failed, and otherwise
/// the reason why it was not called.
pub(crate) fn report(error: BoxError) -> ErrorReport {
    let error = match error.downcast::<ProviderError>() {
        Ok(error) => return ErrorReport::from(*error),
        Err(error) => error,
    };
    let error = match error.downcast::<Error<ProviderError>>() {
        Ok(error) => return layer_report(*error),
        Err(error) => error,
    };
    // Layers such as a time-out or a buffer box whatever is below them.
    let error = match error.downcast::<Error<BoxError>>() {
        Ok(error) => return layer_report(*error),
        Err(error) => error,
    };
    let late = error.is::<Elapsed>();
    let kind = if late { ErrorKind::Timeout } else { ErrorKind::Other };
    let report = ErrorReport::new(kind, error.to_string());
    chained(if late { report.with_retryable(true) } else { report }, &*error)
}

fn layer_report(error: Error<impl Into<BoxError>>) -> ErrorReport {
    match error {
        Error::Inner(error) => report(error.into()),
        Error::Context(error) => context_report(&error),
    }
}

/// Why no context was selected, as rig's kind of error.
pub(crate) fn context_report(error: &ContextError) -> ErrorReport {
    let (kind, retryable) = match error {
        ContextError::Source { outcome: SourceOutcome::TimedOut, .. } => (ErrorKind::Timeout, true),
        ContextError::Source { .. } => (ErrorKind::Other, true),
        // Sent again, the same request fails the same way.
        _ => (ErrorKind::Request, false),
    };
    let report = ErrorReport::new(kind, error.to_string()).with_retryable(retryable);
    chained(report, error)
}

fn chained(mut report: ErrorReport, error: &(dyn std::error::Error + 'static)) -> ErrorReport {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    report.source_chain = causes.map(ToString::to_string).collect();
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_of_the_stack_is_one_to_rig_and_worth_another_try() {
        let timed_out = report(Box::new(Elapsed::new()));
        assert_eq!((timed_out.kind, timed_out.retryable), (ErrorKind::Timeout, true));
        let other = report("the stack is shut down".into());
        assert_eq!(other.kind, ErrorKind::Other);
        // Around the selection it comes wrapped.
        let wrapped: Error<BoxError> = Error::Inner(Box::new(Elapsed::new()));
        assert_eq!(report(Box::new(wrapped)).kind, ErrorKind::Timeout);
    }
}
