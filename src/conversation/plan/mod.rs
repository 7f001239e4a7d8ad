//! The plan of a turn: what of a long conversation is sent, so that the model keeps its thread and
//! the provider's cache keeps its prefix.
//!
//! A function of the request alone: nothing is stored, and any replica sends the same bytes. What
//! fits is sent as it came. Otherwise, in the order of the request:
//!
//! 1. the **head**: instructions, wherever they stand, and what the caller has pinned;
//! 2. the **tail**: the newest messages without holes. It begins where the tokens since the
//!    conversation's start cross a line of a grid, so it moves rarely, and the requests between two
//!    moves begin alike. Long tool results in it are [excerpts](Excerpt), shorter ones in its older,
//!    **faded** part;
//! 3. what is **recalled**: messages before the cut and what sources bring, by relevance to the
//!    user's last words, in a fixed share of the window, [quoted](Quotation) as the first part of
//!    the user's last message;
//! 4. that message and the exchange under way.
//!
//! Where an API wants the user first, the tail begins with a user's message. Where there is none between
//! two lines of the grid, it begins inside an exchange, behind the message that opened it.
//!
//! When room is short the older tail gives way, then what is recalled, then the message the user
//! replies to, then the oldest steps of the exchange. The question and the newest result are always
//! there.
//!
//! ```
//! use cupel::conversation::plan::{Part, Plain, Turn};
//! use cupel::conversation::{Conversation, Message, Role, Rules};
//! use cupel::model::TurnPlan;
//! use cupel::tokens::HeuristicCounter;
//!
//! let mut messages = vec![Message::new(Role::System, "Be brief.", 6)];
//! for turn in 0..40 {
//!     messages.push(Message::new(Role::User, format!("Question {turn}?"), 100));
//!     messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
//! }
//! messages.push(Message::new(Role::User, "And what was answer 3?", 10));
//! let texts = Plain::new(&messages, &HeuristicCounter);
//!
//! let mut conversation = Conversation::new(messages.clone(), &Rules::new())?;
//! let plan = TurnPlan::new();
//! let planned = conversation.plan(&Turn::new(&plan, 4_000), &texts).expect("a question");
//! assert_eq!(planned.parts.first(), Some(&Part::Head));
//! assert_eq!(planned.parts.last(), Some(&Part::Question));
//! assert_eq!(planned.share - planned.frame, 400);
//! let sent: i64 = planned.pinned_tokens();
//! assert!(sent + planned.share <= 4_000 && sent > 3_000);
//! # Ok::<(), cupel::CupelError>(())
//! ```

mod excerpt;
mod expect;
mod judged;
mod ladder;
mod newest;
mod planned;
mod quote;
mod texts;
pub(super) mod units;

use std::collections::BTreeMap;

pub use excerpt::Excerpt;
pub use expect::{Broke, Expected};
pub use newest::{NewestFirst, Prices};
pub use planned::{Part, Planned};
pub use quote::Quotation;
pub use texts::{Plain, Texts};

use super::arranged::{Arranged, Conversation};
use crate::model::{Origin, Placed, TurnPlan};
use crate::relevance::Judge;
use ladder::{Decision, Ladder, Room, Step};
use newest::newest_first;
use units::{Outline, Sums, Unit};

/// What there is to plan a turn with.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct Turn<'a> {
    /// The settings.
    pub plan: &'a TurnPlan,
    /// The model's window, on which the grid, the shares and the lengths of excerpts depend.
    pub window: i64,
    /// What of it the conversation and what is recalled may take.
    pub room: i64,
    /// What is sent besides: tools and formats.
    pub fixed_tokens: i64,
    /// Whether there are sources: what they bring needs room in any request.
    pub has_sources: bool,
    /// Says how relevant what lies before the cut is; without one the newest is recalled.
    pub judge: Option<&'a (dyn Judge + 'static)>,
    /// Whether the request stands for more than it holds, so that nothing is known of its prefix.
    pub remote: bool,
}

impl<'a> Turn<'a> {
    /// A window that is all the conversation's.
    pub fn new(plan: &'a TurnPlan, window: i64) -> Self {
        Self {
            plan,
            window,
            room: window,
            fixed_tokens: 0,
            has_sources: false,
            judge: None,
            remote: false,
        }
    }

    /// Sets what of the window the conversation may take.
    pub fn room(mut self, tokens: i64) -> Self {
        self.room = tokens;
        self
    }

    /// Sets what is sent besides.
    pub fn fixed_tokens(mut self, tokens: i64) -> Self {
        self.fixed_tokens = tokens;
        self
    }

    /// Sets who says how relevant what lies before the cut is.
    pub fn judge(mut self, judge: &'a (dyn Judge + 'static)) -> Self {
        self.judge = Some(judge);
        self
    }

    /// Says that there are sources.
    pub fn has_sources(mut self, there_are: bool) -> Self {
        self.has_sources = there_are;
        self
    }
}

impl Conversation {
    /// Plans a turn; [`arrange`](Self::arrange) follows the plan from then on. None where no user
    /// has asked anything: then there is nothing to plan around.
    pub fn plan(&mut self, turn: &Turn<'_>, texts: &dyn Texts) -> Option<&Planned> {
        self.planned = None;
        let short = turn.plan.excerpt_tokens(turn.window);
        let faded = turn.plan.faded_tokens(turn.window);
        let units = self.plan_units(short, faded);
        if !units.iter().any(|unit| unit.asks && !unit.stays) {
            return None;
        }
        let sums = Sums::of(&units);
        let recall = turn.plan.recall_tokens(turn.window, turn.has_sources);
        let frame = if recall > 0 { Quotation::frame_tokens(texts.counter()) } else { 0 };
        let room = Room {
            tokens: turn.room,
            share: recall.saturating_add(frame).min(turn.room.max(0)),
            has_sources: turn.has_sources,
            width: turn.plan.width(turn.window),
            user_first: self.user_first,
            excerpt: short,
        };
        let decide = |units: &[Unit]| Ladder { units, sums: &sums, room }.decide();
        let now = decide(&units);
        let known = units.iter().rposition(|unit| unit.by_model);
        let before = known.and_then(|known| Some((known, decide(units.get(..known)?))));
        let before = before.as_ref().map(|(known, decision)| (*known, decision));
        let common = expect::compare(&units, before, &now);
        let mut planned = self.follow(&now, &units, turn, faded, texts);
        planned.expected = match turn.remote {
            true => Expected { broke: Some(Broke::Unknown), ..Expected::default() },
            false => common.expected(&planned, turn.fixed_tokens),
        };
        if turn.plan.compare {
            let newest = newest_first(&units, &sums, turn.room, turn.fixed_tokens, known);
            planned.newest_first = Some(newest);
        }
        Some(self.planned.insert(Box::new(planned)))
    }

    /// The plan that was made, if one was.
    #[must_use]
    pub fn planned(&self) -> Option<&Planned> {
        self.planned.as_deref()
    }

    fn plan_units(&self, short: i64, faded: i64) -> Vec<Unit> {
        let unit = |(number, members): (usize, &[usize])| {
            let mut unit = Unit { needs: self.needs.get(&number).copied(), ..Unit::default() };
            for (at, message) in members.iter().enumerate() {
                if let Some(outline) = self.outlines.get(*message) {
                    unit.add(outline, at == 0, short, faded);
                }
            }
            unit
        };
        self.all_members().enumerate().map(unit).collect()
    }

    fn follow(
        &self,
        decision: &Decision,
        units: &[Unit],
        turn: &Turn<'_>,
        faded: i64,
        texts: &dyn Texts,
    ) -> Planned {
        let frame = Quotation::frame_tokens(texts.counter());
        let share = if decision.share > frame { decision.share } else { 0 };
        let mut planned = Planned {
            parts: Vec::with_capacity(units.len()),
            tokens: Vec::with_capacity(units.len()),
            whole: decision.step == Step::Whole,
            share,
            frame: if share > 0 { frame } else { 0 },
            question: None,
            excerpts: BTreeMap::new(),
            expected: Expected::default(),
            newest_first: None,
            quoted: turn.plan.quoted_tokens(turn.window, turn.has_sources),
            hints: vec![None; units.len()],
            later: judged::Later::default(),
        };
        let mut text = String::new();
        for (number, (unit, members)) in units.iter().zip(self.all_members()).enumerate() {
            let part = part(number, unit, decision);
            let tokens = if part.is_sent() {
                let limit = match part {
                    _ if planned.whole || unit.stays => i64::MAX,
                    _ if number < decision.faded_to && number >= decision.cut => faded,
                    _ => self.limit(decision, number, members),
                };
                self.shorten(members, limit, turn.plan.hash, texts, &mut planned)
            } else if share == 0 || part == Part::Dropped {
                unit.whole
            } else {
                self.quoted_tokens(members, planned.quoted, texts, &mut text)
            };
            if part == Part::Question {
                let asks = |message: &&usize| self.outlines.get(**message).is_some_and(|o| o.asks);
                planned.question = members.iter().rfind(asks).or(members.first()).copied();
            }
            planned.parts.push(part);
            planned.tokens.push(tokens);
        }
        if share > 0 {
            self.judge(&mut planned, turn.judge, texts);
            self.count_best(&mut planned, texts);
        }
        planned
    }

    /// How long a result may be; shorter in the newest unit, where nothing else is left to give way.
    fn limit(&self, decision: &Decision, number: usize, members: &[usize]) -> i64 {
        let Some(room) = decision.squeeze.filter(|_| number == decision.cut) else {
            return decision.excerpt;
        };
        let size = |limit: i64| {
            let outlines = members.iter().filter_map(|message| self.outlines.get(*message));
            outlines.map(|outline| outline.within(limit)).fold(0, i64::saturating_add)
        };
        let mut limit = decision.excerpt;
        while limit > 0 && size(limit) > room {
            limit /= 2;
        }
        limit
    }

    /// Makes excerpts of results that are too long. The tokens of the unit after that.
    fn shorten(
        &self,
        members: &[usize],
        limit: i64,
        hash: bool,
        texts: &dyn Texts,
        planned: &mut Planned,
    ) -> i64 {
        let mut tokens = 0_i64;
        for message in members {
            let Some(outline) = self.outlines.get(*message) else { continue };
            tokens = tokens.saturating_add(outline.tokens);
            for (number, result) in outline.results.iter().enumerate() {
                if *result <= limit {
                    continue;
                }
                let Some(text) = texts.result(*message, number) else { continue };
                let excerpt = Excerpt::of(&text, limit, hash, texts.counter());
                tokens = tokens.saturating_sub(result.saturating_sub(excerpt.tokens).max(0));
                planned.excerpts.insert((*message, number), excerpt);
            }
        }
        tokens
    }

    fn quoted_tokens(
        &self,
        members: &[usize],
        limit: i64,
        texts: &dyn Texts,
        text: &mut String,
    ) -> i64 {
        let message = |message: &usize| {
            let outline = self.outlines.get(*message)?;
            text.clear();
            texts.write(*message, text);
            Some(quote::message_tokens(outline.within(limit), outline.role, text))
        };
        members.iter().filter_map(message).fold(0, i64::saturating_add)
    }

    /// The text of a message as it is quoted; none when nothing of it may be.
    fn quotable(&self, message: usize, limit: i64, texts: &dyn Texts, text: &mut String) -> bool {
        text.clear();
        texts.write(message, text);
        let results = self.outlines.get(message).map_or(&[][..], |outline| &outline.results);
        if results.iter().any(|tokens| *tokens > limit) {
            *text = Excerpt::of(text, limit, false, texts.counter()).text;
        }
        !text.trim().is_empty()
    }

    /// Counts what has a chance to be recalled as it is quoted, instead of by an upper bound.
    fn count_best(&self, planned: &mut Planned, texts: &dyn Texts) {
        let mut order: Vec<(f64, usize)> = planned
            .hints
            .iter()
            .enumerate()
            .filter_map(|(unit, hint)| Some((hint.as_ref()?.value(), unit)))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let members: Vec<&[usize]> = self.all_members().collect();
        let mut left = planned.share.saturating_mul(2);
        let mut text = String::new();
        for (_, unit) in order {
            let Some(tokens) = planned.tokens.get_mut(unit).filter(|_| left > 0) else { break };
            if *tokens > planned.share.saturating_mul(2) {
                continue;
            }
            left = left.saturating_sub(*tokens);
            *tokens = 0;
            for message in members.get(unit).copied().unwrap_or_default() {
                let Some(outline) = self.outlines.get(*message) else { continue };
                if self.quotable(*message, planned.quoted, texts, &mut text) {
                    let counter = texts.counter();
                    let quoted = Quotation::message_tokens(*message, outline.role, &text, counter);
                    *tokens = tokens.saturating_add(quoted);
                }
            }
        }
    }

    /// What is recalled of a selection, as [`quotation`](Self::quotation) writes it, before the
    /// selection is [arranged](Self::arrange).
    #[must_use]
    pub fn quote(&self, placed: &[Placed], texts: &dyn Texts) -> Option<String> {
        let planned = self.planned()?;
        let is_recalled = |placed: &&Placed| match placed.origin {
            Origin::Request(unit) => planned.parts.get(unit).is_some_and(|part| !part.is_sent()),
            Origin::Source { .. } => true,
        };
        let recalled = placed.iter().filter(is_recalled).cloned().collect();
        self.quotation(&self.arrange(recalled), texts)
    }

    /// What is recalled, as the first part of the user's last message; none when nothing is.
    #[must_use]
    pub fn quotation(&self, arranged: &Arranged, texts: &dyn Texts) -> Option<String> {
        let planned = self.planned()?;
        if arranged.recalled.is_empty() && arranged.retrieved.is_empty() {
            return None;
        }
        let mut quotation = Quotation::new();
        let mut text = String::new();
        for message in &arranged.recalled {
            let outline = self.outlines.get(*message)?;
            if self.quotable(*message, planned.quoted, texts, &mut text) {
                quotation.message(*message, outline.role, &text);
            }
        }
        for placed in &arranged.retrieved {
            let name: &str = match &placed.origin {
                Origin::Source { name, .. } => name,
                Origin::Request(_) => "source",
            };
            quotation.source(name, &texts.retrieved(&placed.item));
        }
        (!quotation.is_empty()).then(|| quotation.finish())
    }
}

/// The part that a unit is in.
fn part(number: usize, unit: &Unit, decision: &Decision) -> Part {
    let question = decision.question;
    match () {
        () if unit.stays => Part::Head,
        () if Some(number) == question => Part::Question,
        () if number >= decision.cut => match question {
            Some(question) if number > question => Part::Exchange,
            _ if number < decision.faded_to && decision.step != Step::Whole => Part::Faded,
            _ => Part::Tail,
        },
        () if decision.beside.contains(&number) => match question {
            Some(question) if number > question => Part::Exchange,
            _ if decision.step == Step::Tail || unit.opens => Part::Opening,
            _ => Part::Replied,
        },
        () if question.is_some_and(|question| number > question) => Part::Dropped,
        () => Part::Earlier,
    }
}

impl Outline {
    /// One for each message.
    pub(super) fn all(messages: &[super::Message]) -> Vec<Self> {
        messages.iter().map(Self::of).collect()
    }
}
