//! Finds the messages that need each other, those that lack what they need, and those that are always sent.

use std::collections::{BTreeMap, BTreeSet};

use super::message::{Message, Role};
use super::rules::{Answers, Exchanges, Rules};

/// Search for messages that are kept or dropped together.
pub(super) struct MessagePairs {
    /// A message of the same unit, nearer to the unit's first one; itself for the first.
    parent: Vec<usize>,
    /// Why a message cannot be sent; most can.
    refused: BTreeMap<usize, String>,
    /// Messages that are sent only with another one, and that one.
    needs: BTreeMap<usize, usize>,
}

/// Messages in units that are kept or dropped whole, in the order of their first messages.
pub(super) struct Units {
    /// All messages, unit by unit.
    pub(super) members: Vec<usize>,
    /// End of each unit in `members`.
    pub(super) ends: Vec<usize>,
    /// Why a unit cannot be sent, by its number.
    pub(super) refused: BTreeMap<usize, String>,
    /// Units that are sent only with another one, and that one.
    pub(super) needs: BTreeMap<usize, usize>,
}

impl Units {
    pub(super) fn members_of(&self, unit: usize) -> &[usize] {
        let start = unit.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(unit).copied());
        range.and_then(|(start, end)| self.members.get(start..end)).unwrap_or_default()
    }
}

impl MessagePairs {
    pub(super) fn of(messages: &[Message], rules: &Rules) -> Self {
        let refused = messages.iter().enumerate();
        let refused =
            refused.filter_map(|(index, message)| Some((index, message.refused.clone()?)));
        let mut pairing = Self {
            parent: (0..messages.len()).collect(),
            refused: refused.collect(),
            needs: BTreeMap::new(),
        };
        pairing.join_neighbours(messages);
        pairing.join_answers(messages, rules.answers);
        if rules.exchanges != Exchanges::Apart {
            pairing.join_exchanges(messages, rules.exchanges);
        }
        pairing.add_needs(messages);
        pairing
    }

    pub(super) fn into_units(mut self) -> Units {
        // The root of a unit is its first message, so it comes before all others.
        let mut sizes: Vec<usize> = Vec::with_capacity(self.parent.len());
        let mut unit_of: Vec<usize> = Vec::with_capacity(self.parent.len());
        for message in 0..self.parent.len() {
            let root = self.root(message);
            let unit = if root == message {
                sizes.push(0);
                sizes.len() - 1
            } else {
                unit_of.get(root).copied().unwrap_or_default()
            };
            unit_of.push(unit);
            sizes.get_mut(unit).into_iter().for_each(|size| *size += 1);
        }
        let mut next = 0;
        let mut ends: Vec<usize> = sizes
            .into_iter()
            .map(|size| {
                next += size;
                next - size
            })
            .collect();
        // Each unit's end moves from its start as its members come in.
        let mut members = vec![0; unit_of.len()];
        for (message, unit) in unit_of.iter().enumerate() {
            if let Some(end) = ends.get_mut(*unit) {
                members.get_mut(*end).into_iter().for_each(|slot| *slot = message);
                *end += 1;
            }
        }
        let mut refused = BTreeMap::new();
        for (message, why) in self.refused {
            // The first reason stands for all.
            unit_of.get(message).into_iter().for_each(|unit| {
                refused.entry(*unit).or_insert_with(|| why.clone());
            });
        }
        let unit = |message: usize| unit_of.get(message).copied();
        let needs = self.needs.into_iter();
        let needs = needs.filter_map(|(step, opener)| Some((unit(step)?, unit(opener)?)));
        Units {
            needs: needs.filter(|(step, opener)| step != opener).collect(),
            members,
            ends,
            refused,
        }
    }

    fn join_neighbours(&mut self, messages: &[Message]) {
        for (index, message) in messages.iter().enumerate() {
            if message.with_previous {
                match index.checked_sub(1) {
                    Some(previous) => self.join(previous, index),
                    None => self.refuse(index, || "nothing before it to belong to".to_owned()),
                }
            }
            if message.with_next {
                if index + 1 < messages.len() {
                    self.join(index, index + 1);
                } else {
                    self.refuse(index, || "nothing after it to belong to".to_owned());
                }
            }
        }
    }

    fn join_answers(&mut self, messages: &[Message], scope: Answers) {
        // Calls without an answer so far; sorted, so that reasons are the same in every run.
        let mut open: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, message) in messages.iter().enumerate() {
            let closes = match scope {
                Answers::Next => message.answers.is_empty(),
                Answers::NextPastSystem => {
                    message.answers.is_empty() && message.role != Role::System
                }
                Answers::Later => false,
            };
            if closes && !open.is_empty() {
                self.refuse_unanswered(std::mem::take(&mut open));
            }
            let mut answered = BTreeSet::new();
            for id in &message.answers {
                let Some(call) = open.get(id.as_str()) else {
                    self.refuse(index, || format!("result without its tool call {id:?}"));
                    continue;
                };
                self.join(*call, index);
                if !answered.insert(id) {
                    self.refuse(index, || format!("two results of tool call {id:?}"));
                }
            }
            for id in answered {
                open.remove(id.as_str());
            }
            for id in &message.calls {
                if let Some(earlier) = open.insert(id, index) {
                    self.refuse_unanswered([(id.as_str(), earlier)]);
                }
            }
        }
        self.refuse_unanswered(open);
    }

    /// Joins a user's message and the answer to it, up to the next one, with the steps between them
    /// or so that the steps need them; the last exchange stays apart.
    ///
    /// Messages that will be refused are left alone: they must not take the others with them.
    fn join_exchanges(&mut self, messages: &[Message], exchanges: Exchanges) {
        let sound = self.sound();
        let is_sound = |index: usize| sound.get(index).copied().unwrap_or_default();
        let numbered = || messages.iter().enumerate().filter(|(index, _)| is_sound(*index));
        let Some((last, _)) = numbered().rfind(|(_, message)| message.opens_exchange()) else {
            return;
        };
        let mut exchange = None;
        for (index, message) in numbered().take_while(|(index, _)| *index < last) {
            let is_step = !message.calls.is_empty() || !message.answers.is_empty();
            let apart = is_step && exchanges == Exchanges::StepsApart;
            match exchange {
                _ if message.role == Role::System => {}
                Some(first) if apart => {
                    self.needs.insert(index, first);
                }
                Some(first) if !message.opens_exchange() => self.join(first, index),
                _ => exchange = Some(index),
            }
        }
    }

    /// Notes which messages need an earlier one, and refuses those whose earlier one is refused.
    fn add_needs(&mut self, messages: &[Message]) {
        if messages.iter().all(|message| message.needs.is_none()) {
            return;
        }
        let sound = self.sound();
        for (index, message) in messages.iter().enumerate() {
            let Some(needed) = message.needs else { continue };
            if needed < index && sound.get(needed) == Some(&true) {
                self.needs.insert(index, needed);
            } else {
                self.refuse(index, || "the message it needs cannot be sent".to_owned());
            }
        }
    }

    /// For each message, true if no message of its unit is refused.
    fn sound(&mut self) -> Vec<bool> {
        let mut sound = vec![true; self.parent.len()];
        if self.refused.is_empty() {
            return sound;
        }
        let refused: Vec<usize> = self.refused.keys().copied().collect();
        for message in refused {
            let root = self.root(message);
            sound.get_mut(root).into_iter().for_each(|slot| *slot = false);
        }
        let roots = (0..self.parent.len()).map(|message| self.root(message));
        roots.map(|root| sound.get(root).copied().unwrap_or_default()).collect()
    }

    fn refuse_unanswered<'a>(&mut self, calls: impl IntoIterator<Item = (&'a str, usize)>) {
        for (id, message) in calls {
            self.refuse(message, || format!("tool call {id:?} without its result"));
        }
    }

    fn refuse(&mut self, message: usize, why: impl FnOnce() -> String) {
        self.refused.entry(message).or_insert_with(why);
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if let Some(parent) = self.parent.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }

    fn root(&mut self, message: usize) -> usize {
        let mut at = message;
        while let Some(&parent) = self.parent.get(at) {
            if parent == at {
                break;
            }
            // Halves the way for the next search.
            let above = self.parent.get(parent).copied().unwrap_or(parent);
            if let Some(slot) = self.parent.get_mut(at) {
                *slot = above;
            }
            at = above;
        }
        at
    }
}

/// Notes which messages of users have neither words nor media: they ask nothing.
pub(super) fn note_blank(
    messages: &mut [Message],
    write: &mut impl FnMut(usize, &Message, &mut String),
) {
    let is_blank = |text: &str| text.trim().is_empty();
    let mut text = String::new();
    let of_users = messages.iter_mut().enumerate().filter(|(_, it)| it.role == Role::User);
    for (index, message) in of_users {
        message.blank = is_blank(message.words.as_deref().unwrap_or(&message.text));
        // The adapter may keep the text elsewhere.
        if message.blank && message.words.is_none() {
            text.clear();
            write(index, message, &mut text);
            message.blank = is_blank(&text);
        }
    }
}

/// Finds the messages that are always sent.
pub(super) fn pins(messages: &[Message], is_sound: &[bool], rules: &Rules) -> Vec<bool> {
    let sound = || messages.iter().zip(is_sound).enumerate().filter(|(_, (_, sound))| **sound);
    let last = |test: &dyn Fn(&Message) -> bool| {
        sound().rfind(|(_, (message, _))| test(message)).map(|(index, _)| index)
    };
    let last_user = last(&Message::asks);
    let opening = last(&Message::opens_exchange);
    // The last message may be a user's that says nothing: then the one before it counts as well.
    let latest = last(&|_| true);
    let latest_words = last(&|message| !message.blank);
    let by_rule = |index: usize, message: &Message| {
        message.role == Role::System
            || Some(index) == last_user
            || rules.exchanges != Exchanges::Apart && Some(index) == opening
            || rules.pin_latest && [latest, latest_words].contains(&Some(index))
    };
    let pin = |(index, message): (usize, &Message)| {
        message.required || message.told_pinned().unwrap_or_else(|| by_rule(index, message))
    };
    let mut pinned: Vec<bool> = messages.iter().enumerate().map(pin).collect();
    let any = sound().any(|(index, _)| pinned.get(index) == Some(&true));
    // A request without a message is refused.
    if !any {
        if let Some(slot) = latest.and_then(|latest| pinned.get_mut(latest)) {
            *slot = true;
        }
    }
    pinned
}

/// Pins what a pinned message needs.
pub(super) fn pin_needed(pinned: &mut [bool], units: &Units) {
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
