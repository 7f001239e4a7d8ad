//! Reads what there is to show from JSON.

use std::fmt;

use serde_json::Value;

use super::Explanation;
use crate::diagnostics::SelectionReport;

/// The JSON is neither an explanation nor a report.
#[derive(Debug)]
pub struct ReadError {
    what: &'static str,
    source: serde_json::Error,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.source)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Explanation {
    /// As JSON, which [`from_json`](Self::from_json) reads.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists of them: there is nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads an explanation from JSON, or a report, of which nothing else is known then.
    ///
    /// ```
    /// use cupel::explain::Explanation;
    /// use cupel::{ContextBudget, ContextItem, Policy};
    ///
    /// let budget = ContextBudget::builder(60).build()?;
    /// let report = Policy::rag().dry_run(&[ContextItem::new("a match", 40)?], &budget)?;
    /// let read = Explanation::from_json(&serde_json::to_string(&report)?)?;
    /// assert_eq!(read.report, report);
    ///
    /// let error = Explanation::from_json(r#"{"included": 7}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("not a report: invalid type: integer `7`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ReadError`] says where the JSON is wrong, or which field is.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let error = |what| move |source| ReadError { what, source };
        let value: Value = serde_json::from_str(text).map_err(error("not JSON"))?;
        if value.get("report").is_some() {
            Self::deserialize(value).map_err(error("not an explanation"))
        } else {
            let report = SelectionReport::deserialize(value).map_err(error("not a report"))?;
            Ok(Self::new(report))
        }
    }
}
