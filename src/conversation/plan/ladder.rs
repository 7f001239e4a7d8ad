//! Decides which messages give way when room is short, and in which order.

use std::collections::BTreeSet;

use super::ladder_units::{LadderUnit, Sums, run};
use super::summary_block::SummaryBlocks;

/// Room and settings that a decision is made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Tokens for the conversation and what is recalled.
    pub(super) tokens: i64,
    /// Share of these tokens for what is recalled, its frame included.
    pub(super) share: i64,
    /// Tokens of the share for the frame around what is recalled.
    pub(super) frame: i64,
    /// Share of these tokens for standing orders, if the user has given any.
    pub(super) standing: i64,
    pub(super) has_sources: bool,
    /// The grid's width.
    pub(super) width: i64,
    /// The first message that is sent has to be a user's.
    pub(super) user_first: bool,
    /// The longest result that is sent whole.
    pub(super) excerpt: i64,
}

/// Stage of giving way, from nothing to almost everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Nothing gives way: the conversation is sent unchanged.
    Whole,
    /// The tail begins on the grid.
    Tail,
    /// Only the message the user replies to is left of it,
    Replied,
    /// and less is recalled,
    LessRecall,
    /// and nothing is recalled,
    WithoutRecall,
    /// and that message is gone as well.
    Alone,
    /// The oldest steps of the exchange have gone, up to the grid.
    Steps,
    /// Only the newest is left of them.
    Newest,
}

/// Cut of a conversation: the units that are sent, and how long their results may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) step: Step,
    /// The first unit of what is kept without holes.
    pub(super) cut: usize,
    /// The units before it that are kept as well.
    pub(super) beside: BTreeSet<usize>,
    /// The first unit that has not faded.
    pub(super) faded_to: usize,
    pub(super) share: i64,
    /// The share before anything gave way.
    pub(super) full_share: i64,
    /// Tokens kept for standing orders.
    pub(super) standing: i64,
    /// Tokens of the summaries before the tail; 0 if there are none.
    pub(super) summaries: i64,
    /// The longest result that is sent whole.
    pub(super) excerpt: i64,
    /// Tokens for the newest unit, if its excerpts have to be shorter than the others.
    pub(super) squeeze: Option<i64>,
    pub(super) question: Option<usize>,
}

/// Permission to cut a conversation at a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitPlace {
    Nowhere,
    /// If the exchange that it is a step of keeps its opening, and what is behind all that it needs.
    Inside,
    Here,
}

/// The units of a request, or of the one before it.
pub(super) struct Ladder<'a> {
    pub(super) units: &'a [LadderUnit],
    pub(super) sums: &'a Sums,
    pub(super) room: Room,
    /// Summaries that each cut could carry.
    pub(super) summaries: &'a SummaryBlocks,
}

/// Doubles the share of sources as often as there is room: they may take more while the conversation is
/// short. So it changes seldom while the conversation grows; and a quarter of what the question
/// left is kept for what the model does about it, so that what was recalled stays in the meantime.
fn doubled(share: i64, room_asked: i64, room_now: i64) -> i64 {
    let mut doubled = share;
    while doubled > 0 && doubled <= room_asked / 8 * 3 && doubled <= room_now / 2 {
        doubled = doubled.saturating_mul(2);
    }
    doubled
}

/// Fewest tokens that are worth a frame around them.
const LEAST_RECALL: i64 = 64;
/// Number of times that the share of recall halves before nothing is recalled. Each time the prompt cache
/// loses the exchange: on recorded runs of a coding agent three cost .02 of newest-first trimming.
const HALVINGS: u32 = 1;

/// Smaller shares that recall gives way by, the largest first.
fn halved(share: i64, frame: i64) -> impl Iterator<Item = i64> {
    let recall = share.saturating_sub(frame).max(0);
    let halves = (1..=HALVINGS).map(move |times| recall >> times);
    halves.take_while(|half| *half >= LEAST_RECALL).map(move |half| half.saturating_add(frame))
}

impl Ladder<'_> {
    pub(super) fn decide(&self) -> Decision {
        let end = self.units.len();
        let question = self.question();
        let share = if question.is_some() { self.room.share } else { 0 };
        let base = Decision {
            step: Step::Whole,
            cut: 0,
            beside: BTreeSet::new(),
            faded_to: 0,
            share,
            full_share: share,
            standing: 0,
            summaries: 0,
            excerpt: i64::MAX,
            squeeze: None,
            question,
        };
        let fixed = run(&self.sums.fixed, 0, end);
        let room = self.room.tokens.saturating_sub(fixed);
        let sources = if self.room.has_sources { share } else { 0 };
        let whole = run(&self.sums.whole, 0, end);
        if whole.saturating_add(sources) <= room {
            let asked = question.map_or(whole, |question| run(&self.sums.whole, 0, question + 1));
            let [asked, now] = [asked, whole].map(|taken| room.saturating_sub(taken));
            let share = doubled(sources, asked, now);
            return Decision { share, full_share: share, ..base };
        }
        // Kept from the first order on, so that the cut does not depend on what they come to.
        let has_orders = |question| self.units.iter().take(question).any(|unit| unit.orders);
        let standing = if question.is_some_and(has_orders) { self.room.standing } else { 0 };
        let room = room.saturating_sub(standing);
        let base = Decision { excerpt: self.room.excerpt, standing, ..base };
        // Summaries give way before anything else.
        let summarised = !self.summaries.is_empty();
        let without = || if summarised { self.tail(false, room, &base) } else { None };
        if let Some(decision) = self.tail(summarised, room, &base).or_else(without) {
            return decision;
        }
        match question {
            Some(question) => self.around(question, self.before(question), room, base),
            None => self.newest(None, room, base),
        }
    }

    /// The longest tail that fits, with the summaries before it or without any.
    fn tail(&self, summarised: bool, room: i64, base: &Decision) -> Option<Decision> {
        let (share, question) = (base.share, base.question);
        for (line, cut) in self.cuts(0, self.last_cut(question)) {
            let summaries = if summarised { self.summaries.tokens(cut) } else { 0 };
            // Recall pays for summaries, so that they neither move the cut nor add to the request.
            let paid = if share.saturating_sub(summaries) >= share / 2 { summaries } else { 0 };
            let room = room.saturating_sub(summaries - paid);
            let faded_to = self.faded_to(line, cut, room.saturating_sub(share));
            let tokens = self.size(cut, faded_to).saturating_add(share);
            if tokens > room {
                continue;
            }
            // Inside an exchange its opening is kept as well.
            let beside = self.with_needs(BTreeSet::new(), cut);
            let tokens = tokens.saturating_add(self.tokens_of(&beside));
            if tokens <= room {
                // Without a question the whole history is one exchange.
                let step = if question.is_some() { Step::Tail } else { Step::Steps };
                let full_share = base.full_share.saturating_sub(paid);
                let base = Decision { share: share - paid, full_share, ..base.clone() };
                return Some(Decision { step, cut, faded_to, beside, summaries, ..base });
            }
        }
        None
    }

    /// The last unit at which a tail may begin.
    fn last_cut(&self, question: Option<usize>) -> usize {
        let replied = question.and_then(|question| self.before(question));
        replied.or(question).unwrap_or_else(|| self.newest_unit())
    }

    /// Cuts before the question that later messages do not move. Two neighbours enclose a cell.
    pub(super) fn settled_cuts(&self) -> Vec<usize> {
        let Some(question) = self.question() else { return Vec::new() };
        let mut cuts: Vec<usize> =
            self.cuts(0, self.last_cut(Some(question))).map(|(_, cut)| cut).collect();
        let places = self.places();
        // A better place may still come.
        if cuts.last().is_some_and(|cut| places.get(*cut) == Some(&UnitPlace::Inside)) {
            let _ = cuts.pop();
        }
        cuts
    }

    /// The last unit in which a user asks something, pinned or not.
    fn question(&self) -> Option<usize> {
        self.units.iter().rposition(|unit| unit.asks)
    }

    /// The question, its exchange, and as much of the rest as there is room for.
    fn around(
        &self,
        question: usize,
        replied: Option<usize>,
        room: i64,
        base: Decision,
    ) -> Decision {
        let exchange = self.size(question, question);
        let base = Decision { cut: question, faded_to: question, ..base };
        let kept = |units: BTreeSet<usize>| {
            let beside = self.with_needs(units, question);
            let tokens = self.tokens_of(&beside).saturating_add(exchange);
            (beside, tokens)
        };
        let (beside, tokens) = kept(replied.into_iter().collect());
        if tokens.saturating_add(base.share) <= room {
            return Decision { step: Step::Replied, beside, ..base };
        }
        let fits = |share: &i64| tokens.saturating_add(*share) <= room;
        if let Some(share) = halved(base.share, self.room.frame).find(fits) {
            return Decision { step: Step::LessRecall, share, beside, ..base };
        }
        let base = Decision { share: 0, ..base };
        if tokens <= room && replied.is_some() {
            return Decision { step: Step::WithoutRecall, beside, ..base };
        }
        let (beside, tokens) = kept(BTreeSet::new());
        if tokens <= room {
            return Decision { step: Step::Alone, beside, ..base };
        }
        for (line, cut) in self.cuts(question + 1, self.newest_unit()) {
            let faded_to = self.faded_to(line, cut, room);
            let tokens = self.size(cut, faded_to);
            // Looking for what the steps need takes long: not before they fit themselves.
            if tokens > room {
                continue;
            }
            let beside = self.with_needs([question].into(), cut);
            if tokens.saturating_add(self.tokens_of(&beside)) <= room {
                return Decision { step: Step::Steps, cut, faded_to, beside, ..base };
            }
        }
        // Standing orders give way last.
        self.newest(Some(question), room.saturating_add(base.standing), base)
    }

    /// The newest unit that says something, all behind it, and the question, with excerpts as long as
    /// they fit.
    fn newest(&self, question: Option<usize>, room: i64, base: Decision) -> Decision {
        let end = self.units.len();
        let newest = self.newest_unit().max(question.unwrap_or_default());
        let question = question.filter(|question| *question < newest);
        let beside = self.with_needs(question.into_iter().collect(), newest);
        let others = self.tokens_of(&beside);
        let left =
            room.saturating_sub(others).saturating_sub(run(&self.sums.short, newest + 1, end));
        let over = self.units.get(newest).is_some_and(|unit| unit.short > left);
        let squeeze = over.then_some(left.max(0));
        let decision = Decision { step: Step::Newest, cut: newest, faded_to: newest, ..base };
        Decision { share: 0, standing: 0, beside, squeeze, ..decision }
    }

    /// The last unit that says something and does not stay anyway.
    fn newest_unit(&self) -> usize {
        let says = self.units.iter().rposition(|unit| !unit.stays && !unit.blank);
        says.unwrap_or(self.units.len().saturating_sub(1))
    }

    /// The last unit before another that does not stay anyway.
    fn before(&self, unit: usize) -> Option<usize> {
        self.units.get(..unit)?.iter().rposition(|unit| !unit.stays)
    }

    /// Tokens of everything from `cut` on.
    fn size(&self, cut: usize, faded_to: usize) -> i64 {
        let end = self.units.len();
        run(&self.sums.faded, cut, faded_to).saturating_add(run(&self.sums.short, faded_to, end))
    }

    fn unit(&self, number: usize) -> Option<&LadderUnit> {
        #[cfg(test)]
        tests::LOOKS.set(tests::LOOKS.get() + 1);
        self.units.get(number)
    }

    fn tokens_of(&self, units: &BTreeSet<usize>) -> i64 {
        // Those that stay are counted already.
        let units = units.iter().filter_map(|unit| self.unit(*unit)).filter(|it| !it.stays);
        units.map(|unit| unit.short).fold(0, i64::saturating_add)
    }

    /// The grid's lines and the units at which they may be cut, from `first` to `last`.
    fn cuts(&self, first: usize, last: usize) -> impl Iterator<Item = (i64, usize)> {
        let mut cuts: Vec<usize> = Vec::new();
        // The beginning is a place to cut; inside a conversation only the grid's lines are.
        let mut next_line = first.checked_sub(1).map_or(0, |before| self.line_after(before));
        // Inside an exchange that has no better place up to the next line.
        let mut inside: Option<usize> = None;
        let places = self.places().into_iter().enumerate();
        for (unit, place) in places.take(last.saturating_add(1)).skip(first) {
            let start = self.start_of(unit);
            if let Some(passed) = inside.take_if(|inside| start >= self.line_after(*inside)) {
                cuts.push(passed);
                next_line = self.line_after(passed);
            }
            match place {
                _ if start < next_line => {}
                UnitPlace::Here => {
                    inside = None;
                    cuts.push(unit);
                    next_line = self.line_after(unit);
                }
                UnitPlace::Inside => inside = inside.or(Some(unit)),
                UnitPlace::Nowhere => {}
            }
        }
        cuts.extend(inside);
        let width = self.room.width;
        cuts.into_iter().map(move |unit| (self.start_of(unit) / width, unit))
    }

    /// The tokens before a unit, on the grid.
    fn start_of(&self, unit: usize) -> i64 {
        self.sums.short.get(unit).copied().unwrap_or_default()
    }

    /// Place of the first line behind the start of a unit.
    fn line_after(&self, unit: usize) -> i64 {
        let lines = self.start_of(unit) / self.room.width;
        lines.saturating_add(1).saturating_mul(self.room.width)
    }

    /// At which units the conversation may be cut: nothing behind needs what is before.
    fn places(&self) -> Vec<UnitPlace> {
        let question = self.question();
        let opening = self.units.iter().position(|unit| unit.opens && !unit.stays);
        let mut places = vec![UnitPlace::Nowhere; self.units.len()];
        let mut needed = usize::MAX;
        for (index, (unit, slot)) in self.units.iter().zip(&mut places).enumerate().rev() {
            let always = |need: &usize| {
                Some(*need) == question || self.unit(*need).is_some_and(|unit| unit.stays)
            };
            if let Some(need) = unit.needs.filter(|need| !always(need)) {
                needed = needed.min(need);
            }
            let inside = question.is_none_or(|question| index > question);
            // Steps of an exchange bring along what they need.
            let whole = needed >= index || inside;
            let first = unit.opens || !self.room.user_first || inside;
            let is_opened = opening.is_some_and(|opening| opening < index);
            *slot = match () {
                () if unit.stays => UnitPlace::Nowhere,
                () if whole && first => UnitPlace::Here,
                () if self.room.user_first && is_opened => UnitPlace::Inside,
                () => UnitPlace::Nowhere,
            };
        }
        places
    }

    /// Up to which unit results fade: all but the newest two steps of the grid.
    fn faded_to(&self, line: i64, cut: usize, room: i64) -> usize {
        let lines = (room / self.room.width).saturating_sub(1).max(0);
        let to = line.saturating_add(lines).saturating_mul(self.room.width);
        let starts = self.sums.short.get(..self.units.len()).unwrap_or_default();
        starts.partition_point(|start| *start < to).max(cut)
    }

    /// Adds what `units` and those from `cut` on need.
    fn with_needs(&self, mut units: BTreeSet<usize>, cut: usize) -> BTreeSet<usize> {
        let mut open: Vec<usize> = units.iter().copied().chain(cut..self.units.len()).collect();
        if self.room.user_first {
            // What is sent of an exchange begins with its user.
            let opener = |unit: usize| {
                self.units.get(..=unit)?.iter().rposition(|unit| unit.opens && !unit.stays)
            };
            let openers = units.iter().copied().chain([cut]).filter_map(opener);
            let openers: Vec<usize> = openers.filter(|opener| *opener < cut).collect();
            units.extend(openers);
        }
        while let Some(unit) = open.pop() {
            if let Some(need) = self.unit(unit).and_then(|unit| unit.needs) {
                let stays = self.unit(need).is_some_and(|unit| unit.stays);
                if need < cut && !stays && units.insert(need) {
                    open.push(need);
                }
            }
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::super::message::Message;
    use super::*;
    use crate::conversation::Role;

    thread_local! {
        /// Number of units that were looked at one by one.
        pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    /// Looks that a decision about an exchange of so many steps takes, each of which needs the one before.
    fn looks(steps: usize, user_first: bool) -> usize {
        let message = Message::new(Role::Assistant, "step", 10);
        let step = |at: usize| LadderUnit {
            opens: at == 0,
            asks: at == 0,
            ..LadderUnit::of([&message].into_iter(), (at > 1).then(|| at - 1), 600, 600)
        };
        let units: Vec<LadderUnit> = (0..steps).map(step).collect();
        let (tokens, share, frame, standing, width, excerpt) = (5_000, 500, 40, 0, 325, 600);
        let has_sources = false;
        let room = Room { tokens, share, frame, standing, has_sources, width, user_first, excerpt };
        LOOKS.set(0);
        let (sums, summaries) = (Sums::of(&units), SummaryBlocks::default());
        Ladder { units: &units, sums: &sums, room, summaries: &summaries }.decide();
        LOOKS.get()
    }

    #[test]
    fn a_decision_about_a_long_exchange_is_linear() {
        for user_first in [false, true] {
            let (short, long) = (looks(2_000, user_first), looks(20_000, user_first));
            assert!(short > 2_000 && long <= short * 11, "{short}, {long}");
        }
    }
}
