//! Model that summarises what left the window.

use std::sync::Arc;
use std::time::Duration;

use super::{Protocol, Upstream, UpstreamKey};
use crate::credentials::Secret;

/// Model that summarises what left the window of conversations that have a name.
///
/// ```
/// use cupel_gateway::{Secret, SummaryModel};
///
/// let mut model = SummaryModel::new("api.openai.com", "gpt-4.1-nano");
/// model.key = Some(Secret::new("sk-1"));
/// assert_eq!((model.share, model.budget), (None, 0.05));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SummaryModel {
    /// Name of an upstream that speaks Chat Completions.
    pub upstream: String,
    /// Model that makes the summaries.
    pub model: String,
    /// Key of the operator's own. Without one the upstream's own key is used. A client's key never is.
    pub key: Option<Secret>,
    /// Instructions of the model. `{limit}` stands for the limit in tokens. There are built-in ones.
    pub prompt: Option<Arc<str>>,
    /// Share of the window that summaries take at most; 4 %, and no more than a sixteenth of the plan's grid, by
    /// default.
    pub share: Option<f64>,
    /// Tokens that one summary has at most; a twentieth of the plan's grid by default.
    pub limit: Option<i64>,
    /// Share of a conversation's input cost that its summaries may cost.
    pub budget: f64,
    /// Price of a token that the model reads, in new input tokens of the conversation's model.
    pub input_price: f64,
    /// Price of a token that the model writes, in new input tokens of the conversation's model.
    pub output_price: f64,
    /// Time for one summary.
    pub deadline: Duration,
    /// Number of summaries that are made at the same time.
    pub at_once: usize,
}

impl SummaryModel {
    /// Summaries by this model of this upstream.
    #[must_use]
    pub fn new(upstream: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            upstream: upstream.into(),
            model: model.into(),
            key: None,
            prompt: None,
            share: None,
            limit: None,
            budget: 0.05,
            input_price: 1.0,
            output_price: 5.0,
            deadline: Duration::from_secs(60),
            at_once: 4,
        }
    }

    /// The upstream, and the key that it gets.
    pub(crate) fn upstream<'a>(
        &'a self,
        upstreams: &'a [Upstream],
    ) -> Option<(&'a Upstream, Option<&'a Secret>)> {
        let upstream = upstreams.iter().find(|upstream| upstream.name == self.upstream)?;
        let own = match &upstream.key {
            UpstreamKey::Own(key) => Some(key),
            UpstreamKey::Client | UpstreamKey::None => None,
        };
        Some((upstream, self.key.as_ref().or(own)))
    }

    pub(super) fn problems(&self, upstreams: &[Upstream]) -> Vec<String> {
        let mut problems = Vec::new();
        match self.upstream(upstreams) {
            None => problems.push(format!(
                "compaction.upstream: there is no upstream {:?}, expected the name of one",
                self.upstream
            )),
            Some((upstream, _)) if upstream.protocol == Some(Protocol::Anthropic) => {
                problems.push(format!(
                    "compaction.upstream: {:?} does not speak Chat Completions, expected one that does",
                    self.upstream
                ));
            }
            Some((upstream, None)) if upstream.key == UpstreamKey::Client => {
                problems.push(format!(
                    "compaction.key: missing, and {:?} gets the clients' keys, which are never used for \
                     summaries; expected a key of your own",
                    self.upstream
                ));
            }
            Some(_) => {}
        }
        if self.model.trim().is_empty() {
            problems.push("compaction.model: empty, expected the name of a model".to_owned());
        }
        let shares = [("share", self.share.unwrap_or_default()), ("budget", self.budget)];
        for (key, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                problems.push(format!("compaction.{key}: {share}, expected a share from 0 to 1"));
            }
        }
        for (key, price) in [("input_price", self.input_price), ("output_price", self.output_price)]
        {
            if !(price.is_finite() && price >= 0.0) {
                problems.push(format!("compaction.{key}: {price}, expected a number from 0 on"));
            }
        }
        if let Some(limit) = self.limit.filter(|limit| *limit < 1) {
            problems.push(format!("compaction.limit: must be at least 1, got {limit}"));
        }
        if self.deadline.is_zero() {
            problems.push("compaction.deadline_seconds: must be more than 0, got 0".to_owned());
        }
        if self.at_once == 0 {
            problems.push("compaction.at_once: must be at least 1, got 0".to_owned());
        }
        problems
    }
}
