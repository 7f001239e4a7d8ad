//! Decides what of a conversation is sent, and finishes the plan with a judge's verdict.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::super::message::{Message, Texts};
use super::super::units::{Arrangement, Conversation, PartTokens};
use super::cache::{Before, Choice, newest_first};
use super::documents::{DocumentRoom, OWN};
use super::excerpt::Excerpt;
use super::ladder::{Decision, Ladder, Room, Step};
use super::ladder_units::{LadderUnit, Sums};
use super::passage;
use super::planned::{CacheExpectation, Part, PlanOutcome, PrefixBreak, SharedVerdict};
use super::quote::Quotation;
use super::recall::LEAST;
use super::summary_block::SummaryBlocks;
use super::turn::Turn;
use crate::relevance::{Hint, Judge, JudgeTask, Question, Verdict};

/// A turn that is decided but for what is recalled.
#[derive(Debug, Clone)]
#[must_use]
pub struct TurnDraft {
    planned: PlanOutcome,
    documents: DocumentRoom,
    /// Index of the first message behind the cut, where a tail begins there.
    cut: Option<usize>,
}

impl Conversation {
    /// Plans a turn at once, with the judge here. None as for [`decide`](Self::decide).
    #[must_use]
    pub fn plan(
        &self,
        turn: &Turn<'_>,
        judge: Option<&dyn Judge>,
        texts: &dyn Texts,
    ) -> Option<PlanOutcome> {
        let draft = self.decide(turn, texts)?;
        let task = judge.and_then(|judge| Some((judge, draft.task(self, texts)?)));
        let verdict = task.and_then(|(judge, task)| task.run(judge).ok().flatten());
        Some(draft.finish(verdict, self, texts))
    }

    /// Decides what is sent as messages, what is cut to an excerpt, and how much is recalled. None if no
    /// user has asked anything and sources bring something: there is no message to quote it in.
    #[must_use]
    pub fn decide(&self, turn: &Turn<'_>, texts: &dyn Texts) -> Option<TurnDraft> {
        let units = self.plan_units(turn, texts);
        let now = self.choose(&units, turn)?;
        let mut planned = self.follow(&now, &units, texts);
        if let (PartTokens::OfShare(tokens), true) = (self.part, planned.share > 0) {
            planned.frame = planned.frame.saturating_add(tokens);
        }
        let before = Before::of(self, &units, turn);
        planned.expected = match turn.remote {
            true => CacheExpectation {
                broke: Some(PrefixBreak::Unknown),
                ..CacheExpectation::default()
            },
            false => self.expect(&now, &units, before.as_ref(), &planned, texts),
        };
        if turn.tools_changed {
            planned.expected = planned.expected.with_other_tools();
        }
        if turn.plan.compare {
            let known = before.as_ref().map(|before| before.units.len());
            planned.newest_first = Some(newest_first(&units, &now.turn, known));
        }
        let is_tail = now.decision.step == Step::Tail;
        let cut = is_tail.then(|| self.messages_of(now.decision.cut).first().copied()).flatten();
        Some(TurnDraft { planned, documents: now.documents, cut })
    }

    /// Facts of all units.
    pub(super) fn plan_units(&self, turn: &Turn<'_>, texts: &dyn Texts) -> Vec<LadderUnit> {
        let (short, faded) = turn.excerpt_limits();
        let message = |index: &usize| self.messages.get(*index);
        let unit = |(number, members): (usize, &[usize])| {
            let needs = self.needs.get(&number).copied();
            LadderUnit::of(members.iter().filter_map(message), needs, short, faded)
        };
        let mut units: Vec<LadderUnit> = self.all_members().enumerate().map(unit).collect();
        self.find_orders(&mut units, turn, texts);
        units
    }

    /// Decides about a request with these units.
    pub(super) fn choose<'a>(&self, units: &[LadderUnit], turn: &Turn<'a>) -> Option<Choice<'a>> {
        let (mut turn, has_sources) = (turn.clone(), turn.has_sources);
        let tokens = units.iter().map(|unit| unit.whole).fold(0, i64::saturating_add);
        let documents = DocumentRoom::of(self, &turn, tokens);
        documents.leave_room(&mut turn);
        if turn.has_sources && !units.iter().any(|unit| unit.asks) {
            return None;
        }
        let recall = turn.plan.recall_tokens(turn.window, turn.has_sources);
        let frame = if recall > 0 { Quotation::frame_tokens(&*self.counter) } else { 0 };
        let room = Room {
            tokens: turn.room,
            standing: self.standing_tokens(&turn),
            share: recall.saturating_add(frame).min(turn.room.max(0)),
            frame,
            has_sources: turn.has_sources,
            width: turn.width(),
            user_first: self.user_first,
            excerpt: turn.excerpt_limits().0,
        };
        let sums = Sums::of(units);
        let mut summaries = SummaryBlocks::default();
        if let Some(given) = turn.summaries {
            let ladder = Ladder { units, sums: &sums, room, summaries: &summaries };
            let mut blocks = self.summary_blocks(&ladder, given, &turn);
            blocks.add_part(self.part.tokens());
            summaries = blocks;
        }
        let mut decision = Ladder { units, sums: &sums, room, summaries: &summaries }.decide();
        // Nothing is recalled in a share that its frame fills.
        if decision.share <= frame {
            decision.share = 0;
        }
        Some(Choice { decision, documents, turn, frame, has_sources, room, summaries })
    }

    fn follow(&self, choice: &Choice<'_>, units: &[LadderUnit], texts: &dyn Texts) -> PlanOutcome {
        let Choice { decision, turn, .. } = choice;
        let share = decision.share;
        let mut planned = PlanOutcome {
            parts: Vec::with_capacity(units.len()),
            tokens: Vec::with_capacity(units.len()),
            whole: decision.step == Step::Whole,
            share,
            full_share: if decision.full_share > choice.frame { decision.full_share } else { 0 },
            frame: if share > 0 { choice.frame } else { 0 },
            question: self.question_of(decision),
            excerpts: BTreeMap::new(),
            expected: CacheExpectation::default(),
            standing: None,
            newest_first: None,
            quoted: turn.plan.quoted_tokens(turn.window, turn.has_sources),
            hints: vec![None; units.len()],
            candidates: Vec::new(),
            passages: BTreeMap::new(),
            verdict: SharedVerdict::default(),
        };
        let splits = share > 0 && self.splits_messages(planned.question, texts);
        for (number, (unit, members)) in units.iter().zip(self.all_members()).enumerate() {
            let part = part(number, unit, decision);
            let tokens = match self.limit(choice, number, unit) {
                Some(limit) => self.shorten(members, limit, turn.plan.hash, texts, &mut planned),
                None if share == 0 || part == Part::Dropped => unit.whole,
                None => {
                    let limit = planned.quoted;
                    self.add_passages(number, limit, splits, texts, &mut planned.candidates)
                }
            };
            planned.parts.push(part);
            planned.tokens.push(tokens);
        }
        let summaries = match decision.summaries {
            0 => None,
            _ => choice.summaries.get(decision.cut),
        };
        self.add_standing(&mut planned, units, (decision.standing, summaries), texts);
        planned
    }

    /// The message with the question of a decision.
    pub(super) fn question_of(&self, decision: &Decision) -> Option<usize> {
        let members = self.messages_of(decision.question?);
        let asks = |index: &&usize| self.messages.get(**index).is_some_and(Message::asks);
        members.iter().rfind(asks).or(members.first()).copied()
    }

    /// Longest result that is sent whole in a unit. None if the unit is not sent.
    pub(super) fn limit(
        &self,
        choice: &Choice<'_>,
        number: usize,
        unit: &LadderUnit,
    ) -> Option<i64> {
        let decision = &choice.decision;
        part(number, unit, decision).is_sent().then(|| match () {
            () if decision.step == Step::Whole || unit.stays => i64::MAX,
            () if (decision.cut..decision.faded_to).contains(&number) => {
                choice.turn.excerpt_limits().1
            }
            () => self.squeezed_limit(decision, number),
        })
    }

    /// Longest result that is sent whole; shorter in the newest unit, where nothing else is left to give
    /// way.
    fn squeezed_limit(&self, decision: &Decision, number: usize) -> i64 {
        let Some(room) = decision.squeeze.filter(|_| number == decision.cut) else {
            return decision.excerpt;
        };
        // A result of which nothing is left still takes its placeholder.
        let least = match self.empty_result.is_empty() {
            true => 0,
            false => self.counter.count(self.empty_result).max(0),
        };
        let members = self.messages_of(number);
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
        planned: &mut PlanOutcome,
    ) -> i64 {
        let mut tokens = 0_i64;
        for index in members {
            let Some(message) = self.messages.get(*index) else { continue };
            for (number, result) in message.results.iter().enumerate() {
                if *result <= limit {
                    continue;
                }
                let Some(text) = texts.result(*index, message, number) else { continue };
                planned.excerpts.insert((*index, number), self.excerpt(&text, limit, hash));
            }
            tokens = tokens.saturating_add(self.sent_tokens(*index, &planned.excerpts));
        }
        tokens
    }

    /// Tokens that are sent of a message if these excerpts stand for its results.
    pub(in crate::conversation) fn sent_tokens(
        &self,
        index: usize,
        excerpts: &BTreeMap<(usize, usize), Excerpt>,
    ) -> i64 {
        let Some(message) = self.messages.get(index) else { return 0 };
        let saved = |(number, result): (usize, &i64)| {
            // A placeholder may be longer than what it stands for.
            Some(result.saturating_sub(excerpts.get(&(index, number))?.tokens))
        };
        let saved = message.results.iter().enumerate().filter_map(saved);
        message.tokens.saturating_sub(saved.fold(0, i64::saturating_add))
    }

    /// The excerpt of a result, or the placeholder of one of which nothing is left.
    pub(super) fn excerpt(&self, text: &str, limit: i64, hash: bool) -> Excerpt {
        let excerpt = Excerpt::of(text, limit, hash, &*self.counter);
        if excerpt.text.trim().is_empty() && !self.empty_result.is_empty() {
            let tokens = self.counter.count(self.empty_result).max(0);
            return Excerpt { text: self.empty_result.to_owned(), tokens };
        }
        excerpt
    }

    /// Text of a message as it may be quoted.
    pub(in crate::conversation) fn text<'a>(
        &self,
        index: usize,
        message: &'a Message,
        texts: &'a dyn Texts,
    ) -> Cow<'a, str> {
        if message.private { "".into() } else { texts.message(index, message) }
    }

    /// Adds a message to a quotation. Returns false if it has no text that may be quoted.
    pub(super) fn quote_message(
        &self,
        quotation: &mut Quotation,
        index: usize,
        limit: i64,
        passages: Option<&[Range<usize>]>,
        texts: &dyn Texts,
    ) -> bool {
        let Some(message) = self.messages.get(index) else { return false };
        let Some(text) = self.quoted_text(index, limit, passages, texts) else { return false };
        quotation.place(index, message.role, message.is_derived(), &text);
        true
    }

    /// Text of a message as it is quoted. None if there is none that may be.
    pub(in crate::conversation) fn quoted_text<'a>(
        &'a self,
        index: usize,
        limit: i64,
        passages: Option<&[Range<usize>]>,
        texts: &'a dyn Texts,
    ) -> Option<Cow<'a, str>> {
        let message = self.messages.get(index)?;
        let mut text = self.text(index, message, texts);
        if let Some(ranges) = passages {
            text = passage::quoted(&text, ranges).into();
        } else if message.results.iter().any(|tokens| *tokens > limit) {
            text = Excerpt::of(&text, limit, false, &*self.counter).text.into();
        }
        (!text.trim().is_empty()).then_some(text)
    }

    /// Returns true if a request with this decision quotes something. What sources bring is not known
    /// here: they count as if they brought something.
    pub(super) fn recalls(
        &self,
        choice: &Choice<'_>,
        units: &[LadderUnit],
        texts: &dyn Texts,
    ) -> bool {
        let Choice { decision, turn, frame, documents, .. } = choice;
        if decision.share == 0 || choice.has_sources {
            return decision.share > 0;
        }
        let of_share = match self.part {
            PartTokens::OfShare(tokens) => tokens,
            PartTokens::Free | PartTokens::Beside(_) => 0,
        };
        let room = decision.share.saturating_sub(*frame).saturating_sub(of_share);
        if documents.fits_one(self, room) {
            return true;
        }
        let limit = turn.plan.quoted_tokens(turn.window, turn.has_sources);
        let splits = self.splits_messages(self.question_of(decision), texts);
        let mut earlier = units.iter().enumerate().rev().filter(|(number, unit)| {
            !unit.absent && part(*number, unit, decision) == Part::Earlier
        });
        let most = decision.share.saturating_mul(2);
        earlier.any(|(number, _)| {
            self.fitting_passage(number, (limit, splits), (room, most), texts).is_some()
        })
    }

    /// Text of the quotation before the user's last message, and the messages that it quotes. None if
    /// nothing is recalled.
    pub(in crate::conversation) fn quotation(
        &self,
        planned: &PlanOutcome,
        arranged: &Arrangement,
        documents: &[usize],
        texts: &dyn Texts,
    ) -> Option<(String, Vec<usize>)> {
        let mut quotation = Quotation::new();
        let mut quote = |index: &usize| {
            let passages = planned.passages.get(index).map(Vec::as_slice);
            self.quote_message(&mut quotation, *index, planned.quoted, passages, texts)
        };
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

impl TurnDraft {
    /// Texts before the cut that have to be judged by the user's last words. None if nothing can be
    /// recalled.
    #[must_use]
    pub fn task(&self, conversation: &Conversation, texts: &dyn Texts) -> Option<JudgeTask> {
        let question = self.planned.question.filter(|_| self.planned.share > 0)?;
        let mut task = JudgeTask::new(Question::new(conversation.asked_words(question, texts)));
        for passage in &self.planned.candidates {
            let write = |out: &mut String| conversation.write_passage(passage, texts, out);
            task.add(passage.tokens, Some(passage.unit), write);
        }
        Some(task)
    }

    /// Index of the first message behind the cut, where a tail begins there.
    pub(crate) fn cut(&self) -> Option<usize> {
        self.cut
    }

    /// The user's last message, by its index.
    #[must_use]
    pub fn question(&self) -> Option<usize> {
        self.planned.question
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
    ) -> PlanOutcome {
        let earlier: Vec<usize> = self.earlier().collect();
        let Self { mut planned, documents, .. } = self;
        let candidates = std::mem::take(&mut planned.candidates);
        if planned.share > 0 {
            let hints = verdict.as_ref().map_or(&[][..], |verdict| &verdict.hints);
            let hints = hints.get(..candidates.len()).unwrap_or_default();
            if !conversation.choose_passages(&mut planned, &candidates, hints, texts) {
                let count = earlier.len().max(1) as f64;
                for (rank, unit) in earlier.iter().enumerate() {
                    let hint = Hint::new(LEAST * (rank + 1) as f64 / count);
                    let slot = planned.hints.get_mut(*unit);
                    slot.into_iter().for_each(|slot| *slot = Some(hint.clone()));
                }
                conversation.count_best(&mut planned, &BTreeMap::new(), texts);
            }
            conversation.recall_any(&mut planned, &earlier, texts);
            planned.verdict = SharedVerdict(verdict);
        }
        documents.add_to(&mut planned, conversation);
        planned
    }
}

/// The part that a unit is in.
fn part(number: usize, unit: &LadderUnit, decision: &Decision) -> Part {
    // Without a question the whole history is one exchange.
    let in_exchange = decision.question.is_none_or(|question| number > question);
    match () {
        () if Some(number) == decision.question => Part::Question,
        () if unit.stays => Part::Head,
        () if number >= decision.cut => match decision.step {
            _ if in_exchange => Part::Exchange,
            step if number < decision.faded_to && step != Step::Whole => Part::Faded,
            _ => Part::Tail,
        },
        () if decision.beside.contains(&number) => match decision.step {
            _ if in_exchange => Part::Exchange,
            step if step == Step::Tail || unit.opens => Part::Opening,
            _ => Part::Replied,
        },
        () if in_exchange => Part::Dropped,
        () => Part::Earlier,
    }
}
