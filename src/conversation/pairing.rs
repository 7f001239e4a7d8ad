//! Which messages need each other, and which lack what they need.

use std::collections::{BTreeMap, HashMap};

use super::message::Message;
use super::rules::Answers;

/// Sets of messages that are kept or dropped whole.
pub(super) struct Pairing {
    /// A message of the same set, nearer to the set's first one; itself for the first.
    parent: Vec<usize>,
    /// Why a message cannot be sent.
    refused: Vec<Option<String>>,
}

impl Pairing {
    pub(super) fn of(messages: &[Message], answers: Answers) -> Self {
        let mut pairing = Self {
            parent: (0..messages.len()).collect(),
            refused: messages.iter().map(|message| message.refused.clone()).collect(),
        };
        pairing.join_neighbours(messages);
        pairing.join_answers(messages, answers);
        pairing
    }

    /// The sets in the order of their first messages, each with the reason to refuse it.
    pub(super) fn into_sets(mut self) -> Vec<(Vec<usize>, Option<String>)> {
        let mut sets: Vec<(Vec<usize>, Option<String>)> = Vec::new();
        let mut set_of_root: HashMap<usize, usize> = HashMap::new();
        for message in 0..self.parent.len() {
            let root = self.root(message);
            let refused = self.refused.get_mut(message).and_then(Option::take);
            let set = *set_of_root.entry(root).or_insert_with(|| {
                sets.push((Vec::new(), None));
                sets.len() - 1
            });
            if let Some((members, why)) = sets.get_mut(set) {
                members.push(message);
                // The first reason stands for all.
                *why = why.take().or(refused);
            }
        }
        sets
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
            if scope == Answers::Next && message.answers.is_empty() {
                self.refuse_unanswered(std::mem::take(&mut open));
            }
            let mut answered = Vec::with_capacity(message.answers.len());
            for id in &message.answers {
                let Some(call) = open.get(id.as_str()) else {
                    self.refuse(index, || format!("result without its tool call {id:?}"));
                    continue;
                };
                self.join(*call, index);
                if answered.contains(&id) {
                    self.refuse(index, || format!("two results of tool call {id:?}"));
                }
                answered.push(id);
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

    fn refuse_unanswered<'a>(&mut self, calls: impl IntoIterator<Item = (&'a str, usize)>) {
        for (id, message) in calls {
            self.refuse(message, || format!("tool call {id:?} without its result"));
        }
    }

    fn refuse(&mut self, message: usize, why: impl FnOnce() -> String) {
        if let Some(slot) = self.refused.get_mut(message) {
            slot.get_or_insert_with(why);
        }
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
