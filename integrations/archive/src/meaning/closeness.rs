//! Cosines of messages with a question.

use std::collections::HashMap;

use crate::search::MessagePlace;

/// The cosines of messages with a question: of each message that of its closest piece.
#[derive(Debug, Default)]
pub(crate) struct Closeness {
    of: HashMap<MessagePlace, f64>,
    /// Cosine that no other message exceeds, if there are others that were compared.
    rest: Option<f64>,
}

impl Closeness {
    pub(crate) fn add(&mut self, place: MessagePlace, cosine: f64) {
        let closest = self.of.entry(place).or_insert(cosine);
        *closest = closest.max(cosine);
    }

    /// Says that all messages that were not added are no closer than this.
    pub(crate) fn set_rest(&mut self, cosine: Option<f64>) {
        self.rest = cosine;
    }

    /// Cosine of a message with the question; none without a vector.
    pub(crate) fn of(&self, place: MessagePlace) -> Option<f64> {
        self.of.get(&place).copied().or(self.rest)
    }

    /// The closest messages, at most `most`, the best first. What is no closer than `floor` is none.
    pub(crate) fn best(&self, most: usize, floor: f64) -> Vec<MessagePlace> {
        let close = self.of.iter().filter(|(_, cosine)| **cosine > floor);
        let mut best: Vec<(f64, MessagePlace)> =
            close.map(|(place, cosine)| (*cosine, *place)).collect();
        // Of equals the latest: a total order, so that the same archive gives the same answer.
        let order = |a: &(f64, MessagePlace), b: &(f64, MessagePlace)| {
            b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
        };
        if best.len() > most {
            best.select_nth_unstable_by(most, order);
            best.truncate(most);
        }
        best.sort_unstable_by(order);
        best.into_iter().map(|(_, place)| place).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }
}
