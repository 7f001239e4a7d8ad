//! One way through a session: sums, regret, and the calls that could not be fitted.

use cupel::conversation::RehearsedMessage;

use crate::prompt_cache::{PromptCache, RenderedRequest};
use crate::regret;
use crate::replay::SessionReplay;
use crate::report::{RegretEntry, RepeatEntry, TurnPoint, UnfittedEntry, WayReport};
use crate::session::SessionCall;

/// Most entries of each list.
const LISTED: usize = 500;

/// Most reasons that are told apart.
const REASONS: usize = 50;

/// Characters of a text in a list.
const SHOWN: usize = 200;

/// Request of a call as it would be sent.
pub(crate) struct CallOutcome {
    pub(crate) rendered: RenderedRequest,
    /// The JSON, if it is not the whole request.
    pub(crate) sent: Option<String>,
    pub(crate) forms: Vec<RehearsedMessage>,
}

impl CallOutcome {
    pub(crate) fn whole(rendered: RenderedRequest) -> Self {
        Self { rendered, sent: None, forms: Vec::new() }
    }
}

/// A way through the calls of one session.
pub(crate) struct WayRun<'a> {
    replay: &'a SessionReplay<'a>,
    cache: PromptCache,
    window: i64,
    report: &'a mut WayReport,
}

impl<'a> WayRun<'a> {
    pub(crate) fn new(
        replay: &'a SessionReplay<'a>,
        window: i64,
        report: &'a mut WayReport,
    ) -> Self {
        Self { replay, cache: PromptCache::new(replay.rule), window, report }
    }

    /// Adds the next call.
    pub(crate) fn call(
        &mut self,
        number: usize,
        call: &SessionCall,
        whole: &str,
        outcome: Result<CallOutcome, String>,
    ) {
        let replay = self.replay;
        let place = || replay.session.place.clone();
        let turn = number + 1;
        let CallOutcome { rendered, sent, forms } = match outcome {
            Ok(outcome) => outcome,
            Err(why) => return self.unfitted(&why, turn),
        };
        let taken = self.cache.call(rendered);
        let tally = &mut self.report.tally;
        tally.all.add(&taken, replay.rule, replay.price);
        if replay.tokens(call.known) > self.window {
            tally.cut.add(&taken, replay.rule, replay.price);
        }
        if self.report.turns.len() <= number {
            self.report.turns.resize(turn, TurnPoint::default());
        }
        if let Some(point) = self.report.turns.get_mut(number) {
            point.tokens = point.tokens.saturating_add(taken.tokens);
            point.cached = point.cached.saturating_add(taken.cached);
        }
        let Some(sent) = sent else { return };
        let items = &replay.session.items;
        let answer = items.get(call.answer.clone()).unwrap_or_default();
        let missing = regret::missing_values(answer, whole, &sent);
        let tally = &mut self.report.tally;
        tally.regretted_calls += u64::from(!missing.is_empty());
        tally.regretted_values += missing.len() as u64;
        for missing in missing {
            if self.report.regrets.len() < LISTED {
                let (tool, value) = (missing.tool, shown(&missing.value));
                self.report.regrets.push(RegretEntry { place: place(), turn, tool, value });
            }
        }
        for repeat in regret::cut_repeats(items, call.known, &call.answer, &forms) {
            self.report.tally.repeats += 1;
            if self.report.repeats.len() < LISTED {
                let (kind, what) = (repeat.kind, shown(&repeat.what));
                self.report.repeats.push(RepeatEntry { place: place(), turn, kind, what });
            }
        }
    }

    fn unfitted(&mut self, why: &str, turn: usize) {
        self.report.tally.unfitted += 1;
        let known = self.report.unfitted.iter_mut().find(|entry| entry.why == why);
        if let Some(entry) = known {
            entry.calls += 1;
        } else if self.report.unfitted.len() < REASONS {
            let place = self.replay.session.place.clone();
            self.report.unfitted.push(UnfittedEntry { why: why.to_owned(), calls: 1, place, turn });
        }
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
