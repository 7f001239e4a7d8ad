//! A conversation taken apart for the selection and put together after it.

use super::message::{Message, Role};
use super::pairing::Pairing;
use super::rules::Rules;
use super::unit::{self, Dated};
use crate::error::CupelError;
use crate::layer::{Origin, Placed, Refused};
use crate::model::ContextItem;

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
    units: Vec<Unit>,
    refused: Vec<Refused>,
}

#[derive(Debug, Clone, PartialEq)]
struct Unit {
    item: ContextItem,
    messages: Vec<usize>,
}

/// A selection in the order in which it is sent.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Arranged {
    /// Indexes of the messages that are kept, in the order of the conversation.
    pub kept: Vec<usize>,
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
    pub fn new(messages: Vec<Message>, rules: &Rules) -> Result<Self, CupelError> {
        let sets = Pairing::of(&messages, rules.answers).into_sets();
        let mut is_sound = vec![true; messages.len()];
        for (members, refused) in &sets {
            for member in members {
                if let Some(sound) = is_sound.get_mut(*member) {
                    *sound = refused.is_none();
                }
            }
        }
        let pinned = pins(&messages, &is_sound, rules);
        let mut dated: Vec<Option<Dated>> = messages
            .into_iter()
            .zip(rules.timestamps(is_sound.len()))
            .zip(pinned)
            .map(|((message, timestamp), pinned)| Some(Dated { message, timestamp, pinned }))
            .collect();
        let mut conversation = Self::default();
        for (members, refused) in sets {
            let parts: Vec<(usize, Dated)> = members
                .iter()
                .filter_map(|index| Some((*index, dated.get_mut(*index)?.take()?)))
                .collect();
            let item = unit::item(&parts)?;
            match refused {
                Some(why) => conversation.refused.push(Refused { item, why }),
                None => conversation.units.push(Unit { item, messages: members }),
            }
        }
        Ok(conversation)
    }

    /// One candidate a unit, in the order of their first messages.
    #[must_use]
    pub fn candidates(&self) -> Vec<ContextItem> {
        self.units.iter().map(|unit| unit.item.clone()).collect()
    }

    /// Takes out what must not be sent, for [`Split::refused`](crate::layer::Split::refused).
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Puts what was selected in the order in which it is sent.
    #[must_use]
    pub fn arrange(&self, placed: Vec<Placed>) -> Arranged {
        let mut arranged = Arranged::default();
        for placed in placed {
            match placed.origin {
                Origin::Request(index) => match self.units.get(index) {
                    Some(unit) => arranged.kept.extend(&unit.messages),
                    None => arranged.others.push(index - self.units.len()),
                },
                Origin::Source { .. } => arranged.retrieved.push(placed),
            }
        }
        arranged.kept.sort_unstable();
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
    let latest = last(&|_| true);
    let by_rule = |index: usize, message: &Message| {
        message.role == Role::System
            || Some(index) == last_user
            || rules.pin_latest && Some(index) == latest
    };
    let mut pinned: Vec<bool> = messages
        .iter()
        .enumerate()
        .map(|(index, message)| message.attributes.pinned.unwrap_or(by_rule(index, message)))
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
