//! A conversation taken apart for the selection and put together after it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::message::{Message, Role};
use super::pairing::{Pairing, Units};
use super::plan::Planned;
use super::plan::units::Outline;
use super::rules::{Exchanges, Rules};
use super::unit::Items;
use crate::error::CupelError;
use crate::model::{ContextItem, Origin, Placed, Refused};

/// Messages in units that are kept or dropped whole.
///
/// Always sent are instructions, the last user message, the unit with the last message
/// (see [`Rules::pin_latest`]) and what [`Attributes`](super::Attributes) pin; if that is nothing,
/// the last unit. A message that calls tools is one unit with the answers.
///
/// Never sent are calls without an answer, answers without a call, and what belongs to them: an
/// API refuses the whole request for one of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// One for each unit that can be sent, until they are taken.
    candidates: Vec<ContextItem>,
    /// Where each candidate's messages are among the members.
    units: Vec<Range<usize>>,
    /// The messages of all units, unit by unit.
    members: Vec<usize>,
    /// Candidates that are sent only with another one, and that one.
    pub(super) needs: BTreeMap<usize, usize>,
    refused: Vec<Refused>,
    /// What a plan needs of each message.
    pub(super) outlines: Vec<Outline>,
    pub(super) user_first: bool,
    pub(super) planned: Option<Box<Planned>>,
}

/// A selection in the order in which it is sent.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Arranged {
    /// Indexes of the messages that are kept, in the order of the conversation.
    pub kept: Vec<usize>,
    /// Indexes of messages that are quoted, in the order of the conversation: what a
    /// [plan](super::plan) recalls.
    pub recalled: Vec<usize>,
    /// Candidates that the adapter added after those of the conversation, in the placer's order:
    /// 0 is the first that was added.
    pub others: Vec<usize>,
    /// What sources gave, in the placer's order.
    pub retrieved: Vec<Placed>,
}

impl Conversation {
    /// Makes units of messages.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when a message cannot be an item.
    #[allow(clippy::needless_pass_by_value)] // whoever made them has no more use for them
    pub fn new(messages: Vec<Message>, rules: &Rules) -> Result<Self, CupelError> {
        Self::with_texts(&messages, rules, |index, content| {
            if let Some(message) = messages.get(index) {
                content.push_str(&message.text);
            }
        })
    }

    /// Makes units of messages whose texts are written when they are needed.
    ///
    /// `write` adds the text of the message with this index to the end of a string; what
    /// [`Message::new`] was given as text is not looked at. For long histories that saves a copy
    /// of each.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when a message cannot be an item.
    pub fn with_texts(
        messages: &[Message],
        rules: &Rules,
        write: impl FnMut(usize, &mut String),
    ) -> Result<Self, CupelError> {
        let units = Pairing::of(messages, rules).into_units();
        let mut is_sound = vec![true; messages.len()];
        for message in units.refused.keys().flat_map(|unit| units.members_of(*unit)) {
            is_sound.get_mut(*message).into_iter().for_each(|sound| *sound = false);
        }
        let mut pinned = pins(messages, &is_sound, rules);
        pin_needed(&mut pinned, &units);
        let timestamps = rules.timestamps(messages.len());
        let mut items = Items::new(messages, &pinned, timestamps, write);
        let mut conversation = Self {
            candidates: Vec::with_capacity(units.ends.len()),
            units: Vec::with_capacity(units.ends.len()),
            members: Vec::new(),
            needs: BTreeMap::new(),
            refused: Vec::new(),
            outlines: Outline::all(messages),
            user_first: rules.user_first,
            planned: None,
        };
        let mut candidate_of = BTreeMap::new();
        let mut reasons = units.refused;
        let mut start = 0;
        for (unit, end) in units.ends.into_iter().enumerate() {
            let range = start..end;
            start = end;
            let item = items.item(units.members.get(range.clone()).unwrap_or_default())?;
            match reasons.remove(&unit) {
                Some(why) => conversation.refused.push(Refused { item, why }),
                None => {
                    if !units.needs.is_empty() {
                        candidate_of.insert(unit, conversation.units.len());
                    }
                    conversation.candidates.push(item);
                    conversation.units.push(range);
                }
            }
        }
        let candidate = |unit: usize| candidate_of.get(&unit).copied();
        let needs = units.needs.into_iter();
        let needs = needs.filter_map(|(step, opener)| Some((candidate(step)?, candidate(opener)?)));
        conversation.needs = needs.collect();
        conversation.members = units.members;
        Ok(conversation)
    }

    /// One candidate a unit, in the order of their first messages.
    #[must_use]
    pub fn candidates(&self) -> Vec<ContextItem> {
        self.candidates.clone()
    }

    /// As [`candidates`](Self::candidates), without keeping any: to
    /// [arrange](Self::arrange) a selection takes their numbers alone.
    pub fn take_candidates(&mut self) -> Vec<ContextItem> {
        std::mem::take(&mut self.candidates)
    }

    /// The messages that a candidate stands for, by index.
    #[must_use]
    pub fn messages_of(&self, candidate: usize) -> &[usize] {
        let members = self.units.get(candidate).and_then(|unit| self.members.get(unit.clone()));
        members.unwrap_or_default()
    }

    /// Takes out what must not be sent, for [`Split::refused`](crate::layer::Split::refused).
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Which of what was selected cannot be sent, for
    /// [`ContextAdapter::withdrawn`](crate::layer::ContextAdapter::withdrawn): messages whose
    /// [needed](Message::needs) one was not selected, and steps of an exchange whose question was not
    /// (see [`Exchanges::StepsApart`]). None of a planned turn's: a plan keeps what is needed, and
    /// what is quoted needs nothing.
    #[must_use]
    pub fn withdrawn(&self, placed: &[Placed]) -> Vec<(usize, String)> {
        if self.needs.is_empty() || self.planned.is_some() {
            return Vec::new();
        }
        let unit = |placed: &Placed| match placed.origin {
            Origin::Request(unit) => Some(unit),
            Origin::Source { .. } => None,
        };
        let selected: BTreeSet<usize> = placed.iter().filter_map(unit).collect();
        let mut sent = selected.clone();
        // What is needed stands before what needs it, so one pass from the front is enough.
        for (step, needed) in &self.needs {
            if !sent.contains(needed) {
                sent.remove(step);
            }
        }
        let is_withdrawn = |placed: &Placed| unit(placed).is_some_and(|unit| !sent.contains(&unit));
        let withdrawn = placed.iter().enumerate().filter(|(_, placed)| is_withdrawn(placed));
        withdrawn.map(|(position, _)| (position, "what it needs was not selected".into())).collect()
    }

    /// The messages of each candidate.
    pub(super) fn all_members(&self) -> impl Iterator<Item = &[usize]> {
        self.units.iter().map(|unit| self.members.get(unit.clone()).unwrap_or_default())
    }

    /// Puts what was selected in the order in which it is sent.
    #[must_use]
    pub fn arrange(&self, placed: Vec<Placed>) -> Arranged {
        let mut arranged = Arranged::default();
        for placed in placed {
            match placed.origin {
                Origin::Request(index) => match self.units.get(index) {
                    Some(unit) => {
                        let members = self.members.get(unit.clone()).unwrap_or_default();
                        let part = self.planned().and_then(|planned| planned.parts.get(index));
                        let is_sent = part.is_none_or(|part| part.is_sent());
                        let list =
                            if is_sent { &mut arranged.kept } else { &mut arranged.recalled };
                        list.extend(members);
                    }
                    None => arranged.others.push(index - self.units.len()),
                },
                Origin::Source { .. } => arranged.retrieved.push(placed),
            }
        }
        arranged.kept.sort_unstable();
        arranged.recalled.sort_unstable();
        arranged
    }
}

/// Which messages are always sent.
fn pins(messages: &[Message], is_sound: &[bool], rules: &Rules) -> Vec<bool> {
    let sound = || messages.iter().zip(is_sound).enumerate().filter(|(_, (_, sound))| **sound);
    let last = |test: &dyn Fn(&Message) -> bool| {
        sound().rfind(|(_, (message, _))| test(message)).map(|(index, _)| index)
    };
    let last_user = last(&|message| message.role == Role::User);
    let opening = last(&Message::opens_exchange);
    let latest = last(&|_| true);
    let by_rule = |index: usize, message: &Message| {
        message.role == Role::System
            || Some(index) == last_user
            || rules.exchanges != Exchanges::Apart && Some(index) == opening
            || rules.pin_latest && Some(index) == latest
    };
    let mut pinned: Vec<bool> = messages
        .iter()
        .enumerate()
        .map(|(index, message)| {
            let told = message.attributes.as_ref().and_then(|attributes| attributes.pinned);
            message.required || told.unwrap_or_else(|| by_rule(index, message))
        })
        .collect();
    let any = sound().any(|(index, _)| pinned.get(index) == Some(&true));
    // A request without a message is refused.
    if !any {
        if let Some(slot) = latest.and_then(|latest| pinned.get_mut(latest)) {
            *slot = true;
        }
    }
    pinned
}

/// What a pinned message needs is pinned as well.
fn pin_needed(pinned: &mut [bool], units: &Units) {
    // From the end, since what is needed may need something before it.
    for (step, opener) in units.needs.iter().rev() {
        let is_pinned = |message: &usize| pinned.get(*message) == Some(&true);
        if units.members_of(*step).iter().any(is_pinned) {
            let first = units.members_of(*opener).first();
            first
                .and_then(|first| pinned.get_mut(*first))
                .into_iter()
                .for_each(|slot| *slot = true);
        }
    }
}
