//! A selection of the layer as something to look at.

use super::{Selection, StreamReport};
use crate::explain::{Explanation, SourceTiming};
use crate::gather::{SourceOutcome, SourceReport};

impl Selection {
    /// The selection as something to look at: as text, or as a page.
    ///
    /// ```
    /// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, Selection};
    /// use cupel::{ContextBudget, Policy};
    ///
    /// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
    ///     .adapter(ContextRequestAdapter)
    ///     .policy(Policy::chat())
    ///     .budget(ContextBudget::builder(8_192).output_reserve(1_024).build()?)
    ///     .on_selection(|selection: &Selection| print!("{}", selection.explain().text().brief()))
    ///     .build()?;
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let mut explanation = Explanation::new(self.report.clone())
            .budget(self.budget.clone())
            .fixed_tokens(self.fixed_tokens);
        if !self.gather.sources.is_empty() {
            let elapsed = self.gather.elapsed.as_secs_f64() * 1_000.0;
            explanation =
                explanation.gathered(elapsed, self.gather.sources.iter().map(timing).collect());
        }
        if let Some(StreamReport { arrived, .. }) = &self.stream {
            explanation = explanation.note(format!("selected while {arrived} items arrived"));
        }
        let uncounted = self.uncounted.iter().map(|what| format!("not counted: {what}"));
        uncounted.fold(explanation, Explanation::note)
    }
}

impl From<&Selection> for Explanation {
    fn from(selection: &Selection) -> Self {
        selection.explain()
    }
}

fn timing(source: &SourceReport) -> SourceTiming {
    let elapsed_ms = source.elapsed.as_secs_f64() * 1_000.0;
    let timing = SourceTiming::new(&*source.name, source.items, source.tokens, elapsed_ms)
        .outcome(source.outcome.name(), source.outcome.is_failure());
    let mut details = Vec::new();
    match &source.outcome {
        SourceOutcome::Failed { error } => details.push(error.clone()),
        SourceOutcome::Panicked { message } => details.push(message.clone()),
        _ => {}
    }
    if source.broke_promise {
        details.push("an item broke a promise".to_owned());
    }
    if source.pins_lifted > 0 {
        details.push(format!("{} pins lifted", source.pins_lifted));
    }
    if details.is_empty() { timing } else { timing.detail(details.join("; ")) }
}
