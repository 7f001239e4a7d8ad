//! The audit: its settings, and the run over files or sessions.

use std::path::PathBuf;

use cupel::Policy;

use crate::files;
use crate::planner::Planner;
use crate::prices::PriceTable;
use crate::prompt_cache::CacheMatch;
use crate::replay::ReplaySettings;
use crate::report::AuditReport;
use crate::run::AuditRun;
use crate::session::Session;

/// Replays recorded conversations, turn by turn, at several windows and with several policies.
///
/// ```
/// use cupel::Policy;
/// use cupel_audit::{Audit, Session};
///
/// let message = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
/// let mut messages = Vec::new();
/// for turn in 0..40 {
///     messages.push(message("user", &format!("Question {turn} about the order.")));
///     messages.push(message("assistant", &format!("Answer {turn}.")));
/// }
/// let json = format!(r#"{{"messages":[{}]}}"#, messages.join(","));
/// let session = Session::read("example", &json)?;
///
/// let audit = Audit::new().window(400).way("chat", Policy::chat());
/// let report = audit.sessions([session]);
/// assert_eq!(report.calls, 40);
/// let window = &report.windows[0];
/// assert!(window.larger > 0);
/// assert!(window.ways[0].tally.cut.cost < window.newest_first.tally.cut.cost);
/// println!("{report}");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Audit(ReplaySettings);

/// Progress of an audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditProgress {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes of all files.
    pub of_bytes: u64,
    /// Sessions that were replayed.
    pub sessions: u64,
    /// Calls that were replayed.
    pub calls: u64,
}

impl Default for Audit {
    fn default() -> Self {
        Self::new()
    }
}

impl Audit {
    /// An audit without windows and policies.
    pub fn new() -> Self {
        Self(ReplaySettings {
            windows: Vec::new(),
            ways: Vec::new(),
            prices: PriceTable::new(),
            planner: Planner::new(),
            model: "gpt-4o".to_owned(),
            cache: None,
        })
    }

    /// Adds a window: the most tokens of a prompt.
    pub fn window(mut self, tokens: i64) -> Self {
        self.0.windows.push(tokens.max(1));
        self
    }

    /// Adds a policy under a name.
    pub fn way(mut self, name: impl Into<String>, policy: Policy) -> Self {
        self.0.ways.push((name.into(), policy));
        self
    }

    /// Sets the prices.
    pub fn prices(mut self, prices: PriceTable) -> Self {
        self.0.prices = prices;
        self
    }

    /// Sets how requests are read and counted.
    pub fn planner(mut self, planner: Planner) -> Self {
        self.0.planner = planner;
        self
    }

    /// Sets the model of sessions that name none; `gpt-4o` unless set.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.0.model = model.into();
        self
    }

    /// Sets the rule of the provider's cache for all sessions. By default it follows from API and model.
    pub fn cache(mut self, rule: CacheMatch) -> Self {
        self.0.cache = Some(rule);
        self
    }

    /// Replays sessions.
    #[must_use]
    pub fn sessions(&self, sessions: impl IntoIterator<Item = Session>) -> AuditReport {
        let mut run = AuditRun::new(&self.0);
        sessions.into_iter().for_each(|session| run.session(session));
        run.finish()
    }

    /// Replays the sessions of files and folders. One session is in memory at a time. Lines that cannot be
    /// read are counted and named in the report.
    ///
    /// # Errors
    ///
    /// Names a path that does not exist, or a folder without recordings.
    pub fn files(
        &self,
        paths: &[PathBuf],
        on_progress: &mut dyn FnMut(AuditProgress),
    ) -> Result<AuditReport, AuditError> {
        let found = files::find(paths).map_err(AuditError)?;
        let paths = found.files;
        let size = |path: &PathBuf| path.metadata().map_or(0, |facts| facts.len());
        let mut progress =
            AuditProgress { of_bytes: paths.iter().map(size).sum(), ..AuditProgress::default() };
        let mut run = AuditRun::new(&self.0);
        found.skipped.into_iter().for_each(|skipped| run.skip(skipped));
        for path in paths {
            let before = progress.bytes;
            files::sessions(&path, &mut |session, bytes| {
                match session {
                    Ok(session) => run.session(session),
                    Err(skipped) => run.skip(skipped),
                }
                progress.bytes = before.saturating_add(bytes);
                (progress.sessions, progress.calls) = run.counts();
                on_progress(progress);
            });
            progress.bytes = before.saturating_add(size(&path));
        }
        Ok(run.finish())
    }
}

/// Error of an audit that cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuditError(String);
