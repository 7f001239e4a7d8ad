//! Settings for requests whose tool definitions take too much of the window.

use crate::error::CupelError;

/// Share of the window that tool definitions may take in a request that does not fit, and the tools that
/// always stay.
///
/// A request that fits is sent with all its tools. In one that does not fit, tools beyond the share are left
/// out; see [`tool_choice`](crate::tool_choice) for which.
///
/// ```
/// use cupel::Policy;
/// use cupel::model::ToolLimit;
///
/// let policy = Policy::chat().with_tools(ToolLimit::new().share(0.1).keep("github_*"));
/// assert_eq!(policy.tools().tokens(32_000), Some(3_200));
/// assert!(policy.tools().keeps("github_list_issues"));
/// assert_eq!(ToolLimit::never().tokens(32_000), None);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ToolLimit {
    pub(crate) share: Option<f64>,
    pub(crate) keep: Vec<String>,
}

/// Share of the window that is left to tools.
const SHARE: f64 = 0.25;

impl ToolLimit {
    /// A quarter of the window.
    pub const fn new() -> Self {
        Self { share: Some(SHARE), keep: Vec::new() }
    }

    /// Leaves no tool out, ever.
    pub const fn never() -> Self {
        Self { share: None, keep: Vec::new() }
    }

    /// Sets the share of the window, from 0 to 1.
    pub fn share(mut self, share: f64) -> Self {
        self.share = Some(share);
        self
    }

    /// Adds tools that always stay: a name, or a pattern in which `*` stands for any characters.
    pub fn keep(mut self, pattern: impl Into<String>) -> Self {
        self.keep.push(pattern.into());
        self
    }

    /// Most tokens of tools in a window of so many. None if tools are never left out.
    #[must_use]
    pub fn tokens(&self, window: i64) -> Option<i64> {
        // `as` saturates.
        self.share.map(|share| (window.max(0) as f64 * share).floor() as i64)
    }

    /// Returns true if a tool of this name always stays.
    #[must_use]
    pub fn keeps(&self, name: &str) -> bool {
        self.keep.iter().any(|pattern| matches(pattern, name))
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] if the share is not from 0 to 1, or a pattern is empty.
    pub fn check(self) -> Result<Self, CupelError> {
        match self.problems().into_iter().next() {
            None => Ok(self),
            Some((field, problem)) => {
                Err(CupelError::PipelineConfig(format!("tools.{field} {problem}")))
            }
        }
    }

    /// Every invalid setting, by its name in files.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if let Some(share) = self.share.filter(|share| !(0.0..=1.0).contains(share)) {
            problems.push(("share", format!("must be between 0 and 1, got {share}")));
        }
        if self.keep.iter().any(|pattern| pattern.trim().is_empty()) {
            problems.push(("keep", "must hold names or patterns, got an empty text".to_owned()));
        }
        problems
    }
}

impl Default for ToolLimit {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns true if a name has the form of a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let cases = [
            ("read", "read", true),
            ("read", "reader", false),
            ("read*", "reader", true),
            ("*_file", "read_file", true),
            ("*_file", "read_file_now", false),
            ("mcp__*__list*", "mcp__git__list_issues", true),
            ("mcp__*__list*", "mcp__list", false),
            ("a*a", "a", false),
            ("*", "", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_share_beyond_the_window_is_an_error_that_names_it() {
        let error = ToolLimit::new().share(1.5).check().unwrap_err().to_string();
        assert!(error.contains("tools.share must be between 0 and 1, got 1.5"), "{error}");
        assert!(ToolLimit::new().keep(" ").check().is_err());
        assert!(ToolLimit::never().check().is_ok());
        assert_eq!(ToolLimit::new().tokens(-5), Some(0));
    }
}
