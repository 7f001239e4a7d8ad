//! An audit under way: every call of every session, at every window, with every policy.

use std::collections::BTreeMap;

use cupel::conversation::RehearsedMessage;
use cupel::{ContextBudget, Policy};
use cupel_json::JsonBody;

use crate::files::SkippedLine;
use crate::newest_first;
use crate::planner::PlannedRequest;
use crate::prompt_cache::{CacheUse, PromptCache};
use crate::replay::{ReplaySettings, SessionReplay};
use crate::report::{AuditReport, AuditedModel, WayReport, WindowReport};
use crate::session::{Session, SessionCall};
use crate::waste::LargestWaste;
use crate::way::{CallOutcome, WayRun};

/// Most calls of a session that are replayed. Each is made with all messages before it, so the time grows with
/// the square of their number.
const CALLS: usize = 2_000;

/// Most models that are listed.
const MODELS: usize = 200;

/// Most lines that are named.
const SKIPPED: usize = 100;

/// An audit under way.
pub(crate) struct AuditRun<'a> {
    settings: &'a ReplaySettings,
    report: AuditReport,
    waste: LargestWaste,
    models: BTreeMap<String, u64>,
}

impl<'a> AuditRun<'a> {
    pub(crate) fn new(settings: &'a ReplaySettings) -> Self {
        let way =
            |(name, _): &(String, Policy)| WayReport { name: name.clone(), ..WayReport::default() };
        let window = |window: &i64| WindowReport {
            window: *window,
            ways: settings.ways.iter().map(way).collect(),
            newest_first: WayReport { name: "newest first".to_owned(), ..WayReport::default() },
            ..WindowReport::default()
        };
        let report = AuditReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            windows: settings.windows.iter().map(window).collect(),
            ..AuditReport::default()
        };
        Self { settings, report, waste: LargestWaste::default(), models: BTreeMap::new() }
    }

    /// Counts a part that could not be read.
    pub(crate) fn skip(&mut self, skipped: SkippedLine) {
        self.report.skipped_count += 1;
        if self.report.skipped.len() < SKIPPED {
            self.report.skipped.push(skipped);
        }
    }

    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.report.sessions, self.report.calls)
    }

    /// Replays a session.
    pub(crate) fn session(&mut self, mut session: Session) {
        session.default_model(&self.settings.model);
        let mut calls = session.calls();
        let place = session.place.clone();
        if calls.len() > CALLS {
            let why = format!("only the first {CALLS} of its {} calls are replayed", calls.len());
            self.skip(SkippedLine { place: place.clone(), why });
            calls.truncate(CALLS);
        }
        let replay = match SessionReplay::new(self.settings, &session) {
            Ok(replay) => replay,
            Err(why) => return self.skip(SkippedLine { place, why }),
        };
        self.report.sessions += 1;
        self.report.calls += u64::try_from(calls.len()).unwrap_or(u64::MAX);
        let mut model = session.model().unwrap_or_default();
        if self.models.len() >= MODELS && !self.models.contains_key(&model) {
            model = "others".to_owned();
        }
        *self.models.entry(model).or_default() += 1;
        self.waste.add(&self.settings.planner, &session, &calls, &replay.whole);

        let mut cache = PromptCache::new(replay.rule);
        let everything: Vec<CacheUse> =
            calls.iter().map(|call| cache.call(replay.render_whole(call.known))).collect();
        for call in &everything {
            self.report.everything.add(call, replay.rule, replay.price);
        }
        for report in &mut self.report.windows {
            for (call, sent) in calls.iter().zip(&everything) {
                match replay.tokens(call.known) > report.window {
                    true => report.larger += 1,
                    false => report.everything.add(sent, replay.rule, replay.price),
                }
            }
            for ((_, policy), way) in self.settings.ways.iter().zip(&mut report.ways) {
                planned(self.settings, &replay, &calls, report.window, policy, way);
            }
            trimmed(&replay, &calls, report.window, &mut report.newest_first);
        }
    }

    pub(crate) fn finish(self) -> AuditReport {
        let Self { settings, mut report, waste, models } = self;
        report.waste = waste.into_list();
        let model = |(name, sessions): (String, u64)| AuditedModel {
            price: settings.prices.get(&name),
            name,
            sessions,
        };
        report.models = models.into_iter().map(model).collect();
        let ways = report.windows.iter_mut().flat_map(|window| &mut window.ways);
        ways.for_each(|way| way.unfitted.sort_by_key(|entry| std::cmp::Reverse(entry.calls)));
        report
    }
}

/// Replays the calls as a policy plans them.
fn planned(
    settings: &ReplaySettings,
    replay: &SessionReplay<'_>,
    calls: &[SessionCall],
    window: i64,
    policy: &Policy,
    report: &mut WayReport,
) {
    let Ok(budget) = ContextBudget::builder(window).build() else { return };
    let mut run = WayRun::new(replay, window, report);
    for (number, call) in calls.iter().enumerate() {
        let whole = replay.session.json(0..call.known, |_| true);
        let body = JsonBody::parse(replay.session.endpoint, whole.as_str());
        let body = body.ok_or_else(|| "the request has no list of messages".to_owned());
        let fitted = body.and_then(|body| settings.planner.plan(body, policy, &budget));
        let outcome = fitted.and_then(|planned| match planned.is_cut {
            false => Ok(CallOutcome::whole(replay.render_whole(call.known))),
            true => {
                let PlannedRequest { body, forms, .. } = planned;
                let rendered = replay.render(settings, &body)?;
                Ok(CallOutcome { rendered, sent: Some(body.json().to_owned()), forms })
            }
        });
        run.call(number, call, &whole, outcome);
    }
}

/// Replays the calls as newest-first trimming sends them.
fn trimmed(replay: &SessionReplay<'_>, calls: &[SessionCall], window: i64, report: &mut WayReport) {
    let mut run = WayRun::new(replay, window, report);
    for (number, call) in calls.iter().enumerate() {
        let whole = replay.session.json(0..call.known, |_| true);
        let kept = newest_first::kept(replay, call.known, window);
        let outcome = match kept.len() == call.known {
            true => CallOutcome::whole(replay.render_whole(call.known)),
            false => {
                let mut forms = vec![RehearsedMessage::Dropped; call.known];
                for at in &kept {
                    forms.get_mut(*at).into_iter().for_each(|form| *form = RehearsedMessage::Whole);
                }
                let sent = replay.session.json(kept.iter().copied(), |_| true);
                CallOutcome { rendered: replay.render_items(kept), sent: Some(sent), forms }
            }
        };
        run.call(number, call, &whole, Ok(outcome));
    }
}
