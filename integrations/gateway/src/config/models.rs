//! What is known of models beyond the built-in table, or otherwise.

use cupel::Policy;
use cupel::tokens::Encoding;
use cupel_json::CacheRule;

/// How the texts of a model are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Count {
    /// By an encoding of OpenAI's.
    Exactly(Encoding),
    /// By an estimate, for models whose encoding is not here.
    Estimate,
}

/// What is said of a model, or of all whose names begin alike.
///
/// ```
/// use cupel_gateway::ModelRule;
///
/// let rule = ModelRule::new("llama-*").window(32_768).factor(1.1);
/// # let _ = rule;
/// ```
#[derive(Debug, Clone)]
pub struct ModelRule {
    pub(crate) name: String,
    pub(crate) window: Option<i64>,
    pub(crate) at_most: Option<i64>,
    pub(crate) count: Option<Count>,
    pub(crate) factor: f64,
    pub(crate) policy: Option<Policy>,
    pub(crate) cache: Option<CacheRule>,
}

impl ModelRule {
    /// A rule for a model, or for all whose names begin so when the name ends with `*`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            window: None,
            at_most: None,
            count: None,
            factor: 1.0,
            policy: None,
            cache: None,
        }
    }

    /// Sets the window, for prompt and answer together.
    #[must_use]
    pub fn window(mut self, tokens: i64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Uses no more of the window than so many tokens.
    #[must_use]
    pub fn at_most(mut self, tokens: i64) -> Self {
        self.at_most = Some(tokens);
        self
    }

    /// Sets how texts are counted.
    #[must_use]
    pub fn count(mut self, count: Count) -> Self {
        self.count = Some(count);
        self
    }

    /// Takes one token of ours for so many of the model's, as its own `usage` has shown.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Sets how the prompt cache finds what it has seen. Unless set, requests get breakpoints only
    /// where OpenAI itself is asked, for models of its own that need them.
    #[must_use]
    pub fn cache(mut self, rule: CacheRule) -> Self {
        self.cache = Some(rule);
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }
}

/// How well a pattern fits a name: by its length, and an exact one better than any other.
pub(crate) fn fits(pattern: &str, name: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning).then_some(beginning.len() + 1),
        None => (pattern == name).then_some(usize::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn the_longest_beginning_fits_best_and_the_name_itself_better() {
        assert!(fits("gpt-4o", "gpt-4o") > fits("gpt-*", "gpt-4o"));
        assert!(fits("gpt-*", "gpt-4o") > fits("*", "gpt-4o"));
        assert_eq!(fits("gpt-4", "gpt-4o"), None);
        assert!(fits("*", "").is_some());
    }
}
