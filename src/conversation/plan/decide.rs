//! Decides what of a conversation is sent, and finishes the plan with a judge's verdict.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::message::Message;
use super::super::texts::Texts;
use super::super::units::{Arranged, Conversation, PartTokens};
use super::cache::{Broke, Expected, compare, newest_first};
use super::documents::{DocumentRoom, OWN};
use super::excerpt::Excerpt;
use super::ladder::{Decision, Ladder, Room, Step, Sums, Unit};
use super::planned::{Part, Planned, SharedVerdict};
use super::quote::{Quotation, message_tokens};
use super::turn::Turn;
use crate::relevance::{Hint, Judge, JudgeTask, Question, Verdict};

/// A turn that is decided but for what is recalled.
#[derive(Debug, Clone)]
#[must_use]
pub struct Draft {
    planned: Planned,
    documents: DocumentRoom,
}

/// Below this a hint says nothing: then the newest comes first.
const LEAST: f64 = 0.01;

impl Conversation {
    /// Plans a turn at once, with the judge here. None if no user has asked anything: then there is
    /// nothing to plan around.
    #[must_use]
    pub fn plan(
        &self,
        turn: &Turn<'_>,
        judge: Option<&dyn Judge>,
        texts: &dyn Texts,
    ) -> Option<Planned> {
        let draft = self.decide(turn, texts)?;
        let task = judge.and_then(|judge| Some((judge, draft.task(self, texts)?)));
        let verdict = task.and_then(|(judge, task)| task.run(judge).ok().flatten());
        Some(draft.finish(verdict, self, texts))
    }

    /// Decides what is sent as messages, what is cut to an excerpt, and how much is recalled. None if no
    /// user has asked anything.
    #[must_use]
    pub fn decide(&self, turn: &Turn<'_>, texts: &dyn Texts) -> Option<Draft> {
        let documents = DocumentRoom::of(self, turn);
        let mut turn = turn.clone();
        documents.leave_room(&mut turn);
        let mut planned = self.decide_messages(&turn, texts)?;
        documents.expect(&mut planned, turn.fixed_tokens);
        if let (PartTokens::OfShare(tokens), true) = (self.part, planned.share > 0) {
            planned.frame = planned.frame.saturating_add(tokens);
        }
        Some(Draft { planned, documents })
    }

    fn decide_messages(&self, turn: &Turn<'_>, texts: &dyn Texts) -> Option<Planned> {
        let short = turn.plan.excerpt_tokens(turn.window);
        let faded = turn.plan.faded_tokens(turn.window);
        let message = |index: &usize| self.messages.get(*index);
        let unit = |(number, members): (usize, &[usize])| {
            let needs = self.needs.get(&number).copied();
            Unit::of(members.iter().filter_map(message), needs, short, faded)
        };
        let units: Vec<Unit> = self.all_members().enumerate().map(unit).collect();
        if !units.iter().any(|unit| unit.asks && !unit.stays) {
            return None;
        }
        let sums = Sums::of(&units);
        let recall = turn.plan.recall_tokens(turn.window, turn.has_sources);
        let frame = if recall > 0 { Quotation::frame_tokens(&*self.counter) } else { 0 };
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
        let common = compare(&units, before, &now);
        let mut planned = self.follow(&now, &units, turn, faded, texts);
        planned.expected = match turn.remote {
            true => Expected { broke: Some(Broke::Unknown), ..Expected::default() },
            false => common.expected(planned.sent_tokens(), turn.fixed_tokens),
        };
        if turn.plan.compare {
            let newest = newest_first(&units, &sums, turn.room, turn.fixed_tokens, known);
            planned.newest_first = Some(newest);
        }
        Some(planned)
    }

    fn follow(
        &self,
        decision: &Decision,
        units: &[Unit],
        turn: &Turn<'_>,
        faded: i64,
        texts: &dyn Texts,
    ) -> Planned {
        let frame = Quotation::frame_tokens(&*self.counter);
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
            verdict: SharedVerdict::default(),
        };
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
                self.most_quoted_tokens(members, planned.quoted, texts)
            };
            if part == Part::Question {
                let asks = |index: &&usize| self.messages.get(**index).is_some_and(Message::asks);
                planned.question = members.iter().rfind(asks).or(members.first()).copied();
            }
            planned.parts.push(part);
            planned.tokens.push(tokens);
        }
        planned
    }

    /// Longest result that is sent whole; shorter in the newest unit, where nothing else is left to give
    /// way.
    fn limit(&self, decision: &Decision, number: usize, members: &[usize]) -> i64 {
        let Some(room) = decision.squeeze.filter(|_| number == decision.cut) else {
            return decision.excerpt;
        };
        // A result of which nothing is left still takes its placeholder.
        let least = match self.empty_result.is_empty() {
            true => 0,
            false => self.counter.count(self.empty_result).max(0),
        };
        let size = |limit: i64| {
            let messages = members.iter().filter_map(|index| self.messages.get(*index));
            messages.map(|message| message.within(limit.max(least))).fold(0, i64::saturating_add)
        };
        // The largest that fits: what halving would leave free is worth having.
        let (mut low, mut high) = (0, decision.excerpt);
        while low < high {
            let middle = low + (high - low + 1) / 2;
            if size(middle) <= room {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Makes excerpts of results that are too long. Returns the tokens of the unit after that.
    fn shorten(
        &self,
        members: &[usize],
        limit: i64,
        hash: bool,
        texts: &dyn Texts,
        planned: &mut Planned,
    ) -> i64 {
        let mut tokens = 0_i64;
        for index in members {
            let Some(message) = self.messages.get(*index) else { continue };
            tokens = tokens.saturating_add(message.tokens);
            for (number, result) in message.results.iter().enumerate() {
                if *result <= limit {
                    continue;
                }
                let Some(text) = texts.result(*index, message, number) else { continue };
                let mut excerpt = Excerpt::of(&text, limit, hash, &*self.counter);
                let mut saved = result.saturating_sub(excerpt.tokens).max(0);
                if excerpt.text.trim().is_empty() && !self.empty_result.is_empty() {
                    let tokens = self.counter.count(self.empty_result).max(0);
                    excerpt = Excerpt { text: self.empty_result.to_owned(), tokens };
                    // It may be longer than the result.
                    saved = saved.saturating_sub(tokens);
                }
                tokens = tokens.saturating_sub(saved);
                planned.excerpts.insert((*index, number), excerpt);
            }
        }
        tokens
    }

    /// Upper bound of what a unit takes when it is quoted, without counting its text anew.
    fn most_quoted_tokens(&self, members: &[usize], limit: i64, texts: &dyn Texts) -> i64 {
        let tokens = |index: &usize| {
            let message = self.messages.get(*index)?;
            let text = self.text(*index, message, texts);
            Some(message_tokens(message.within(limit), message.role, &text))
        };
        members.iter().filter_map(tokens).fold(0, i64::saturating_add)
    }

    /// Text of a message as it may be quoted.
    fn text<'a>(&self, index: usize, message: &'a Message, texts: &'a dyn Texts) -> Cow<'a, str> {
        if message.private { "".into() } else { texts.message(index, message) }
    }

    /// Adds a message to a quotation. Returns false if it has no text that may be quoted.
    fn quote_message(
        &self,
        quotation: &mut Quotation,
        index: usize,
        limit: i64,
        texts: &dyn Texts,
    ) -> bool {
        let Some(message) = self.messages.get(index) else { return false };
        let mut text = self.text(index, message, texts);
        if message.results.iter().any(|tokens| *tokens > limit) {
            text = Excerpt::of(&text, limit, false, &*self.counter).text.into();
        }
        let has_text = !text.trim().is_empty();
        if has_text {
            quotation.message(index, message.role, &text);
        }
        has_text
    }

    /// Counts what has a chance to be recalled as it is quoted, instead of by an upper bound.
    fn count_best(&self, planned: &mut Planned, texts: &dyn Texts) {
        let hint = |(unit, hint): (usize, &Option<Hint>)| Some((hint.as_ref()?.value(), unit));
        let mut order: Vec<(f64, usize)> =
            planned.hints.iter().enumerate().filter_map(hint).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut left = planned.share.saturating_mul(2);
        for (_, unit) in order {
            let Some(tokens) = planned.tokens.get_mut(unit).filter(|_| left > 0) else { break };
            if *tokens > planned.share.saturating_mul(2) {
                continue;
            }
            left = left.saturating_sub(*tokens);
            *tokens = 0;
            for index in self.messages_of(unit) {
                let mut quotation = Quotation::unframed();
                self.quote_message(&mut quotation, *index, planned.quoted, texts);
                *tokens = tokens.saturating_add(quotation.tokens(&*self.counter));
            }
        }
    }

    /// What was recalled, as the text before the user's last message, and the messages that it quotes;
    /// none when nothing was.
    pub(in crate::conversation) fn quotation(
        &self,
        planned: &Planned,
        arranged: &Arranged,
        documents: &[usize],
        texts: &dyn Texts,
    ) -> Option<(String, Vec<usize>)> {
        let mut quotation = Quotation::new();
        let mut quote =
            |index: &usize| self.quote_message(&mut quotation, *index, planned.quoted, texts);
        let messages = arranged.recalled.iter().copied().filter(&mut quote).collect();
        for document in documents.iter().filter_map(|number| self.documents.get(*number)) {
            // A document without a text says nothing.
            if !document.text.is_empty() {
                quotation.source(OWN, &document.text);
            }
        }
        quotation.sources(&arranged.retrieved, texts);
        (!quotation.is_empty()).then(|| (quotation.finish(), messages))
    }
}

impl Draft {
    /// Texts before the cut that have to be judged by the user's last words. None if nothing can be
    /// recalled.
    #[must_use]
    pub fn task(&self, conversation: &Conversation, texts: &dyn Texts) -> Option<JudgeTask> {
        let question = self.planned.question.filter(|_| self.planned.share > 0)?;
        let mut task = JudgeTask::new(Question::new(conversation.words(question, texts)));
        for unit in self.earlier() {
            let tokens = self.planned.tokens.get(unit).copied().unwrap_or_default();
            task.add(tokens, Some(unit), |out| conversation.write_candidate(unit, texts, out));
        }
        Some(task)
    }

    /// Units before the cut.
    fn earlier(&self) -> impl Iterator<Item = usize> {
        let parts = self.planned.parts.iter().enumerate();
        parts.filter(|(_, part)| **part == Part::Earlier).map(|(unit, _)| unit)
    }

    /// The plan with the judge's verdict on what [`task`](Self::task) asked. Without one the newest is
    /// recalled.
    ///
    /// Statistics come from the texts before the cut alone, so hints stay as they are for as long as the
    /// question and the cut do.
    #[must_use]
    pub fn finish(
        self,
        verdict: Option<Verdict>,
        conversation: &Conversation,
        texts: &dyn Texts,
    ) -> Planned {
        let earlier: Vec<usize> = self.earlier().collect();
        let Self { mut planned, documents } = self;
        if planned.share > 0 {
            let count = earlier.len().max(1) as f64;
            for (rank, unit) in earlier.into_iter().enumerate() {
                let hint = verdict.as_ref().and_then(|verdict| verdict.hints.get(rank));
                let believed = hint.filter(|hint| (LEAST..=1.0).contains(&hint.value())).cloned();
                let newest_first = || Hint::new(LEAST * (rank + 1) as f64 / count);
                let hint = believed.unwrap_or_else(newest_first);
                planned.hints.get_mut(unit).into_iter().for_each(|slot| *slot = Some(hint.clone()));
            }
            planned.verdict = SharedVerdict(verdict);
            conversation.count_best(&mut planned, texts);
        }
        documents.add_to(&mut planned, conversation);
        planned
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
