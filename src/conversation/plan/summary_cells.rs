//! Cells of a conversation, and the summaries that stand for those before a cut.

use super::super::message::{Message, Texts};
use super::super::units::Conversation;
use super::cache::Choice;
use super::ladder::{Ladder, Step};
use super::ladder_units::{LadderUnit, Sums};
use super::summary::{
    ANY_CUT, CellContent, CellMessage, CellPlace, SummaryCell, SummaryRules, TurnSummaries,
};
use super::summary_block::{SummaryBlock, SummaryBlocks};
use super::turn::Turn;

/// Units of a cell: those from the first one to the one before the second.
#[derive(Debug, Clone, Copy)]
struct CellUnits(usize, usize);

/// Cells of a request whose summaries a plan could use, now or soon.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SummaryCells {
    /// Cells whose summaries are looked up, the newest first: those before the cut, and those that leave the
    /// window next.
    pub looked_up: Vec<SummaryCell>,
    /// Cells that are worth a summary, the oldest first: those before the cut, and those that leave the
    /// window next.
    pub wanted: Vec<SummaryCell>,
    /// Index of the first message behind the cut. None if nothing is cut, or no summary could be placed.
    pub cut: Option<usize>,
}

impl SummaryCells {
    /// Value of [`StoredSummary::asked_at`](super::StoredSummary::asked_at) for a cell that is asked for
    /// under this request's cut.
    #[must_use]
    pub fn asked_at(&self, cell: &SummaryCell) -> i64 {
        let number = |index: usize| i64::try_from(index).unwrap_or(i64::MAX);
        self.cut.map_or(ANY_CUT, |cut| number(cut).saturating_sub(number(cell.place().0)))
    }

    /// Returns true if a cell is before the cut.
    #[must_use]
    pub fn is_before_cut(&self, cell: &SummaryCell) -> bool {
        self.cut.is_some_and(|cut| cell.place().1 < cut)
    }
}

impl Conversation {
    /// The cells of a turn whose summaries are worth looking up or making.
    ///
    /// Nothing is worth a summary while the conversation is far from filling the window, and only what
    /// stands before the user's last question is. `turn` is the turn without summaries, or with those that
    /// are there; the cut is the one that it comes to.
    ///
    /// ```
    /// use cupel::conversation::plan::{StoredSummary, SummaryRules, Turn, TurnSummaries};
    /// use cupel::conversation::{Conversation, Message, MessageTexts, Role, Rules};
    /// use cupel::model::TurnPlan;
    ///
    /// let mut messages = Vec::new();
    /// for turn in 0..40 {
    ///     messages.push(Message::new(Role::User, format!("Question {turn}?"), 100));
    ///     messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
    /// }
    /// messages.push(Message::new(Role::User, "And what was answer 3?", 10));
    /// let conversation = Conversation::new(messages, &Rules::new())?;
    ///
    /// let (plan, rules) = (TurnPlan::new(), SummaryRules::new("by hand", "1").share(0.05));
    /// let turn = Turn::new(&plan, 4_000);
    /// let cells = conversation.summary_cells(&turn, &rules, &MessageTexts);
    /// let newest = cells.looked_up.iter().find(|cell| cells.is_before_cut(cell)).unwrap();
    ///
    /// let text = "The user asked for several answers and got them.";
    /// let cut_before = cells.asked_at(newest) - 1;
    /// let summaries = TurnSummaries::new(rules).with(newest, StoredSummary::new(text, cut_before));
    /// let planned = conversation.plan(&turn.summaries(&summaries), None, &MessageTexts).unwrap();
    /// assert!(planned.standing.unwrap().text.contains(text));
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    #[must_use]
    pub fn summary_cells(
        &self,
        turn: &Turn<'_>,
        rules: &SummaryRules,
        texts: &dyn Texts,
    ) -> SummaryCells {
        // One that could not be sent is not worth its price.
        if rules.share_tokens(turn.plan, turn.window) <= rules.limit_tokens(turn.plan, turn.window)
        {
            return SummaryCells::default();
        }
        let units = self.plan_units(turn, texts);
        let Some(choice) = self.choose(&units, turn) else { return SummaryCells::default() };
        let Choice { decision, .. } = &choice;
        let (room, summaries) = (choice.room, &choice.summaries);
        let ends =
            Ladder { units: &units, sums: &Sums::of(&units), room, summaries }.settled_cuts();
        let cells: Vec<CellUnits> =
            ends.iter().zip(ends.iter().skip(1)).map(|(from, to)| CellUnits(*from, *to)).collect();
        let whole = decision.step == Step::Whole;
        if whole {
            // Far from the window nothing is worth its price.
            let tokens = units.iter().map(|unit| unit.whole).fold(0, i64::saturating_add);
            let soon = turn.plan.width(turn.window).saturating_mul(2);
            if tokens.saturating_add(soon) <= choice.turn.room {
                return SummaryCells::default();
            }
        }
        let is_tail = decision.step == Step::Tail;
        // Without a tail, those before the question.
        let cut = if whole { 0 } else { decision.cut };
        let left = cells.partition_point(|CellUnits(_, to)| *to <= cut);
        let least = rules.least_tokens(turn.plan, turn.window);
        let limit = rules.limit_tokens(turn.plan, turn.window);
        let cell = |units_of: &CellUnits| self.cell(*units_of, &units, rules, limit, texts);
        let most = rules.most_cells(turn.plan, turn.window);
        let next = (left + SOON).min(cells.len());
        let from = left.saturating_sub(most);
        let mut made: Vec<SummaryCell> = cells
            .get(from..(left + SOON).min(cells.len()))
            .unwrap_or_default()
            .iter()
            .map(cell)
            .collect();
        let place = |number: usize| number.saturating_sub(from).min(made.len());
        let mut looked_up: Vec<SummaryCell> = made.get(..place(next)).unwrap_or_default().to_vec();
        let fits =
            usize::try_from(rules.share_tokens(turn.plan, turn.window) / limit.max(1)).unwrap_or(1);
        let worth = place(left).saturating_sub(fits.max(1));
        made.drain(..worth);
        for list in [&mut looked_up, &mut made] {
            list.retain(|cell| cell.tokens >= least);
        }
        looked_up.reverse();
        let cut = is_tail.then(|| self.messages_of(decision.cut).first().copied()).flatten();
        SummaryCells { looked_up, wanted: made, cut }
    }

    /// The text of a cell, for a compactor.
    #[must_use]
    pub fn cell_content(&self, cell: &SummaryCell, texts: &dyn Texts) -> CellContent {
        let message = |index: &usize| {
            let message = self.messages.get(*index)?;
            Some(CellMessage {
                role: message.role,
                text: self.text(*index, message, texts).into_owned(),
                tokens: message.tokens,
                has_results: message.is_derived(),
            })
        };
        CellContent::new(cell.messages.iter().filter_map(message).collect())
    }

    fn cell(
        &self,
        CellUnits(from, to): CellUnits,
        units: &[LadderUnit],
        rules: &SummaryRules,
        limit: i64,
        texts: &dyn Texts,
    ) -> SummaryCell {
        let messages = self.cell_messages(CellUnits(from, to), units);
        let all = || messages.iter().filter_map(|at| Some((*at, self.messages.get(*at)?)));
        let tokens = all().map(|(_, message)| message.tokens.max(0)).fold(0, i64::saturating_add);
        let spoken = all().map(|(at, it): (usize, &Message)| (it.role, self.text(at, it, texts)));
        SummaryCell { key: rules.key(limit, spoken), tokens, limit, messages }
    }

    /// Messages of a cell that can leave the window.
    fn cell_messages(&self, CellUnits(from, to): CellUnits, units: &[LadderUnit]) -> Vec<usize> {
        let leaving = |number: &usize| units.get(*number).is_some_and(|it| !it.stays && !it.absent);
        let members = (from..to).filter(leaving).flat_map(|number| self.messages_of(number));
        let mut messages: Vec<usize> = members.copied().collect();
        messages.sort_unstable();
        messages
    }

    /// The summaries that each cut could carry.
    pub(super) fn summary_blocks(
        &self,
        ladder: &Ladder<'_>,
        summaries: &TurnSummaries,
        turn: &Turn<'_>,
    ) -> SummaryBlocks {
        let mut blocks = SummaryBlocks::default();
        if summaries.is_empty() {
            return blocks;
        }
        let ends = ladder.settled_cuts();
        let cells = ends.iter().zip(ends.iter().skip(1));
        let cells: Vec<(CellPlace, usize)> = cells
            .filter_map(|(from, to)| {
                let messages = self.cell_messages(CellUnits(*from, *to), ladder.units);
                Some(((*messages.first()?, *messages.last()?), *to))
            })
            .collect();
        let share = summaries.rules.share_tokens(turn.plan, turn.window);
        let limit = summaries.rules.limit_tokens(turn.plan, turn.window);
        for cut in ends {
            let Some(place) = self.messages_of(cut).first() else { continue };
            let usable = |((first, last), _): &(CellPlace, usize)| {
                let summary = summaries.texts.get(&(*first, *last))?;
                let distance = i64::try_from(place.saturating_sub(*first)).unwrap_or(i64::MAX);
                (summary.asked_at < distance).then_some(((*first, *last), &*summary.text))
            };
            let before = cells.iter().rev().filter(|(_, to)| *to <= cut);
            let before = before.filter_map(usable);
            if let Some(block) = SummaryBlock::new(before, share, limit, self.token_counter()) {
                blocks.insert(cut, block);
            }
        }
        blocks
    }
}

/// Number of cells behind the cut that are summarised before they leave the window.
const SOON: usize = 2;
