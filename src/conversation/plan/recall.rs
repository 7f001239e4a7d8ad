//! Chooses what is recalled: passages of messages before the cut, the closest to the question first.

use std::collections::BTreeMap;
use std::ops::Range;

use foldhash::{HashMap, HashMapExt};

use super::super::message::{Role, Texts};
use super::super::units::Conversation;
use super::passage::{Passage, joined, longest_whole, split};
use super::planned::PlanOutcome;
use super::quote::{LABEL_TOKENS, Quotation, message_tokens};
use crate::model::Hint;

/// Share of the best hint's odds that a hint needs to be recalled, if the best one is sure. On questions
/// with known evidence .5 lost up to .03 of it, and .3 quoted half as much again.
const FLOOR: f64 = 0.4;
/// The best hint counts at most as this. Otherwise nothing but its equals would stand beside a hint of 1.
const SURE: f64 = 0.9;
/// Least hint that says anything.
pub(super) const LEAST: f64 = 0.01;
/// Weight of the user's own words where the other side is a model.
const USER_WEIGHT: f64 = 1.5;

/// Tokens of the ellipses around a passage.
const ELLIPSES: i64 = 4;
/// Bytes of the longest question by which passages are found.
const LONGEST_QUESTION: usize = 600;

/// Least hint that is recalled beside the best one: the surer that one is, the more it takes.
pub(super) fn floor(best: f64) -> f64 {
    let best = best.min(SURE);
    let odds = FLOOR * best * best * best / (1.0 - best);
    odds / (1.0 + odds)
}

/// A hint whose odds count so many times as much: 0 and 1 stay where they are.
fn weighted(hint: f64, weight: f64) -> f64 {
    weight * hint / (1.0 + (weight - 1.0) * hint)
}

impl Conversation {
    /// Returns true if long messages compete by passages. By a long text, such as an agent's output in the
    /// user's role, everything is close: then whole messages compete.
    pub(super) fn splits_messages(&self, question: Option<usize>, texts: &dyn Texts) -> bool {
        question.is_some_and(|index| self.asked_words(index, texts).len() <= LONGEST_QUESTION)
    }

    /// Adds the passages of a unit. Returns at most what the whole unit takes when it is quoted.
    pub(super) fn add_passages(
        &self,
        unit: usize,
        limit: i64,
        splits: bool,
        texts: &dyn Texts,
        passages: &mut Vec<Passage>,
    ) -> i64 {
        let members = self.messages_of(unit);
        let messages = || members.iter().filter_map(|index| self.messages.get(*index));
        let whole = messages().map(|message| message.tokens).fold(0, i64::saturating_add);
        // Excerpts of results keep their shape, and the values that a later call needs.
        let has_results = messages().any(|message| !message.results.is_empty());
        let longest = longest_whole(messages().next().map(|message| message.role));
        let is_long = splits && whole > longest && !has_results;
        let mut tokens = 0_i64;
        for index in members {
            let Some(message) = self.messages.get(*index) else { continue };
            let text = self.text(*index, message, texts);
            if text.trim().is_empty() {
                continue;
            }
            let quoted = message_tokens(message.within(limit), message.is_derived(), &text);
            tokens =
                tokens.saturating_add(quoted).saturating_add(if is_long { ELLIPSES } else { 0 });
            if !is_long {
                continue;
            }
            for range in split(&text, message.tokens) {
                let share = range.len() as f64 / text.len().max(1) as f64;
                let tokens = (message.tokens as f64 * share).ceil() as i64;
                passages.push(Passage { unit, excerpt: Some((*index, range)), tokens });
            }
        }
        if passages.last().is_none_or(|last| last.unit != unit) {
            passages.push(Passage { unit, excerpt: None, tokens });
        }
        tokens
    }

    /// Text of a passage for a judge, appended to `out`.
    pub(super) fn write_passage(&self, passage: &Passage, texts: &dyn Texts, out: &mut String) {
        match &passage.excerpt {
            None => self.write_candidate(passage.unit, texts, out),
            Some((index, range)) => {
                let Some(message) = self.messages.get(*index) else { return };
                let text = self.text(*index, message, texts);
                out.push_str(text.get(range.clone()).unwrap_or_default());
            }
        }
    }

    /// Gives the units before the cut their hints, and says which passages of each are quoted. Returns
    /// false and changes nothing if no passage has anything to do with the question.
    pub(super) fn choose_passages(
        &self,
        planned: &mut PlanOutcome,
        passages: &[Passage],
        hints: &[Hint],
        texts: &dyn Texts,
    ) -> bool {
        let is_short = self.splits_messages(planned.question, texts);
        let by_model = is_short && self.is_with_model(passages, texts);
        let value = |(passage, hint): (&Passage, &Hint)| {
            let value = Some(hint.value()).filter(|value| (LEAST..=1.0).contains(value));
            let value = value.unwrap_or(0.0);
            let counts_more = by_model && self.role_of(passage) == Some(Role::User);
            if counts_more { weighted(value, USER_WEIGHT) } else { value }
        };
        let mut values: Vec<f64> = passages.iter().zip(hints).map(value).collect();
        let mut order: Vec<usize> = (0..values.len()).collect();
        let at = |values: &[f64], at: usize| values.get(at).copied().unwrap_or(0.0);
        order.sort_by(|a, b| at(&values, *b).total_cmp(&at(&values, *a)).then(a.cmp(b)));
        let room = planned.share.saturating_sub(planned.frame);
        let cost = |place: &usize| {
            let tokens = passages.get(*place).map_or(i64::MAX, |passage| passage.tokens);
            tokens.saturating_add(LABEL_TOKENS)
        };
        // What does not fit itself must not keep others out.
        let best = order.iter().find(|place| cost(place) <= room);
        let best = best.map_or(0.0, |best| at(&values, *best));
        if best < LEAST {
            return false;
        }
        let floor = if is_short { floor(best).max(LEAST) } else { LEAST };
        let close = order.partition_point(|place| at(&values, *place) >= floor);
        let close = order.get(..close).unwrap_or_default();
        self.drop_repeats(passages, close, planned.share, texts, &mut values);

        let mut left = room;
        let mut chosen: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in &order {
            let Some(passage) = passages.get(*place) else { continue };
            let fits = cost(place) <= left && at(&values, *place) >= floor;
            if fits {
                left -= cost(place);
            }
            // What is not chosen stands in the report by its best passage.
            if fits || !chosen.contains_key(&passage.unit) {
                chosen.entry(passage.unit).or_default().push(*place);
            }
        }
        let mut likely = BTreeMap::new();
        for (unit, places) in chosen {
            let best = places.first().copied().unwrap_or_default();
            let hint = hints.get(best).cloned().unwrap_or_else(|| Hint::new(0.0));
            // Of what has nothing to do with the question, the newest comes first.
            let newest = LEAST * (unit + 1) as f64 / (planned.hints.len() + 1) as f64;
            let hint = hint.with_value(at(&values, best).max(newest));
            planned.hints.get_mut(unit).into_iter().for_each(|slot| *slot = Some(hint.clone()));
            let quoted = places.iter().filter_map(|at| passages.get(*at));
            likely.insert(unit, self.quote_passages(planned, unit, quoted));
        }
        self.count_best(planned, &likely, texts);
        if is_short {
            self.hold_to_floor(planned, room);
        }
        true
    }

    /// Lowers hints that are far below the best one that fits, so that these units are not recalled.
    /// Results of tools are exempt: a later call may need their values.
    fn hold_to_floor(&self, planned: &mut PlanOutcome, room: i64) {
        let fits = |(_, tokens): &(&Option<Hint>, &i64)| (1..=room).contains(*tokens);
        let units = planned.hints.iter().zip(&planned.tokens).filter(fits);
        let hints = units.filter_map(|(hint, _)| Some(hint.as_ref()?.value()));
        let floor = floor(hints.fold(0.0, f64::max));
        for (unit, slot) in planned.hints.iter_mut().enumerate() {
            let Some(hint) = slot.as_mut().filter(|hint| hint.value() < floor) else { continue };
            let members = self.messages_of(unit).iter().filter_map(|at| self.messages.get(*at));
            if members.flat_map(|message| &message.results).next().is_none() {
                *hint = hint.clone().with_value(hint.value() * LEAST);
            }
        }
    }

    /// The first passage of a unit that fits `room` as it is quoted, and its tokens. Passages whose upper
    /// bound is above `most` are not counted.
    pub(super) fn fitting_passage(
        &self,
        unit: usize,
        (limit, splits): (i64, bool),
        (room, most): (i64, i64),
        texts: &dyn Texts,
    ) -> Option<(Passage, i64)> {
        let mut passages = Vec::new();
        self.add_passages(unit, limit, splits, texts, &mut passages);
        passages.into_iter().filter(|passage| passage.tokens <= most).find_map(|passage| {
            let members = self.messages_of(unit).iter().copied();
            let index = passage.excerpt.as_ref().map(|(index, _)| *index);
            let quoted = members.filter(|member| index.is_none_or(|index| index == *member));
            let ranges = passage.excerpt.as_ref().map(|(_, range)| std::slice::from_ref(range));
            let tokens = quoted
                .map(|index| self.quoted_tokens(index, limit, ranges, texts))
                .fold(0, i64::saturating_add);
            (1..=room).contains(&tokens).then_some((passage, tokens))
        })
    }

    /// Has the newest passage quoted that fits, if none of the chosen ones does. So a plan recalls
    /// something if anything fits, and the plan of the next request knows that without judging again.
    pub(super) fn recall_any(
        &self,
        planned: &mut PlanOutcome,
        earlier: &[usize],
        texts: &dyn Texts,
    ) {
        let room = planned.share.saturating_sub(planned.frame);
        let tokens = |unit: &usize| planned.tokens.get(*unit).copied().unwrap_or_default();
        if earlier.iter().any(|unit| (1..=room).contains(&tokens(unit))) {
            return;
        }
        let limits = (planned.quoted, self.splits_messages(planned.question, texts));
        let rooms = (room, planned.share.saturating_mul(2));
        let fitting =
            |unit: &usize| Some((*unit, self.fitting_passage(*unit, limits, rooms, texts)?));
        let Some((unit, (passage, tokens))) = earlier.iter().rev().find_map(fitting) else {
            return;
        };
        for index in self.messages_of(unit) {
            planned.passages.remove(index);
        }
        self.quote_passages(planned, unit, [&passage].into_iter());
        planned.tokens.get_mut(unit).into_iter().for_each(|slot| *slot = tokens);
    }

    /// Tokens of a message as it is quoted, without the frame.
    fn quoted_tokens(
        &self,
        index: usize,
        limit: i64,
        ranges: Option<&[Range<usize>]>,
        texts: &dyn Texts,
    ) -> i64 {
        let mut quotation = Quotation::unframed();
        self.quote_message(&mut quotation, index, limit, ranges, texts);
        quotation.tokens(&*self.counter)
    }

    /// Role of the message that a passage belongs to.
    fn role_of(&self, passage: &Passage) -> Option<Role> {
        let first = || self.messages_of(passage.unit).first().copied();
        let index = passage.excerpt.as_ref().map(|(index, _)| *index).or_else(first)?;
        self.messages.get(index).map(|message| message.role)
    }

    /// Sets the values of passages to 0 that say the same as a newer one. Looks at those that have a
    /// chance to be recalled.
    fn drop_repeats(
        &self,
        passages: &[Passage],
        order: &[usize],
        share: i64,
        texts: &dyn Texts,
        values: &mut [f64],
    ) {
        let mut seen: HashMap<(Option<Role>, String), usize> = HashMap::new();
        let mut left = share.saturating_mul(2);
        for at in order {
            let Some(passage) = passages.get(*at).filter(|_| left > 0) else { break };
            left = left.saturating_sub(passage.tokens);
            let mut text = String::new();
            self.write_passage(passage, texts, &mut text);
            let newest = seen.entry((self.role_of(passage), text)).or_insert(*at);
            let older = (*newest).min(*at);
            if *newest != *at {
                values.get_mut(older).into_iter().for_each(|value| *value = 0.0);
            }
            *newest = (*newest).max(*at);
        }
    }

    /// Has these passages of a unit quoted instead of the whole. Returns about how many tokens that takes.
    fn quote_passages<'a>(
        &self,
        planned: &mut PlanOutcome,
        unit: usize,
        passages: impl Iterator<Item = &'a Passage>,
    ) -> i64 {
        let mut ranges: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
        let mut tokens = 0_i64;
        for passage in passages {
            tokens = tokens.saturating_add(passage.tokens).saturating_add(LABEL_TOKENS);
            if let Some((index, range)) = &passage.excerpt {
                ranges.entry(*index).or_default().push(range.clone());
            }
        }
        if !ranges.is_empty() {
            // Other messages of the unit are not quoted.
            self.messages_of(unit).iter().for_each(|index| {
                ranges.entry(*index).or_default();
            });
        }
        let ranges = ranges.into_iter().map(|(index, ranges)| (index, joined(ranges)));
        planned.passages.extend(ranges);
        tokens
    }

    /// Counts what has a chance to be recalled as it is quoted, instead of by an upper bound. `likely` has
    /// about the tokens of units that are quoted by passages.
    pub(super) fn count_best(
        &self,
        planned: &mut PlanOutcome,
        likely: &BTreeMap<usize, i64>,
        texts: &dyn Texts,
    ) {
        let hint = |(unit, hint): (usize, &Option<Hint>)| Some((hint.as_ref()?.value(), unit));
        let mut order: Vec<(f64, usize)> =
            planned.hints.iter().enumerate().filter_map(hint).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let most = planned.share.saturating_mul(2);
        let mut left = most;
        for (_, unit) in order {
            let tokens = likely.get(&unit).or(planned.tokens.get(unit)).copied();
            let tokens = tokens.filter(|_| left > 0);
            let Some(tokens) = tokens else { break };
            if tokens > most {
                continue;
            }
            left = left.saturating_sub(tokens);
            let mut counted = 0_i64;
            for index in self.messages_of(unit) {
                let ranges = planned.passages.get(index).map(Vec::as_slice);
                let tokens = self.quoted_tokens(*index, planned.quoted, ranges, texts);
                counted = counted.saturating_add(tokens);
            }
            planned.tokens.get_mut(unit).into_iter().for_each(|slot| *slot = counted);
        }
    }

    /// Returns true if the other side is a model. In a meeting or a chat between people, at least half of
    /// the messages begin with the name of who speaks.
    fn is_with_model(&self, passages: &[Passage], texts: &dyn Texts) -> bool {
        let (mut labelled, mut all) = (0_usize, 0_usize);
        for unit in passages.chunk_by(|a, b| a.unit == b.unit) {
            let first = unit.first().and_then(|passage| self.messages_of(passage.unit).first());
            let message = first.and_then(|index| Some((*index, self.messages.get(*index)?)));
            let Some((index, message)) = message else { continue };
            all += 1;
            labelled += usize::from(names_speaker(&self.text(index, message, texts)));
        }
        labelled * 2 < all
    }
}

/// Returns true if a text begins with a name and a colon, as in `Dr Marsh: Good morning.`
fn names_speaker(text: &str) -> bool {
    let head = text.char_indices().nth(40).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    let Some((name, _)) = head.split_once(": ") else { return false };
    let is_role = ["user", "assistant", "system", "human", "ai", "bot", "model"]
        .iter()
        .any(|role| name.eq_ignore_ascii_case(role));
    let begins = name.chars().next().is_some_and(|sign| !sign.is_lowercase() && sign != ' ');
    let is_word = |sign: char| sign.is_alphanumeric() || " .'’-_".contains(sign);
    begins && !is_role && name.split(' ').count() <= 4 && name.chars().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surer_the_best_hint_the_higher_the_floor() {
        let floors = [0.0, 0.2, 0.5, 0.8, 0.9].map(floor);
        assert!(floors.is_sorted() && floors[0] == 0.0, "{floors:?}");
        assert!(floors[1] < 0.01 && floors[3] > 0.4 && floors[4] < 0.75, "{floors:?}");
        assert_eq!(floor(1.0), floor(0.9));
    }

    #[test]
    fn a_weight_keeps_a_hint_between_0_and_1() {
        assert_eq!([0.0, 1.0].map(|hint| weighted(hint, 1.5)), [0.0, 1.0]);
        assert!(weighted(0.5, 1.5) > 0.5 && weighted(0.99, 1.5) < 1.0);
    }

    #[test]
    fn names_before_a_colon_are_speakers_and_roles_are_not() {
        for text in ["Grad E: I guess.", "Dr O’Neil: Hm.", "PM: Next.", "Support lead: No."] {
            assert!(names_speaker(text), "{text}");
        }
        let others =
            ["user: Hi.", "Assistant: Hi.", "It is 10:30 now.", "see https://a.b", "no", ""];
        for text in others {
            assert!(!names_speaker(text), "{text}");
        }
    }
}
