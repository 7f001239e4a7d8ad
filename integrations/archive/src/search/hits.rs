//! Hits of the index: messages and the words they contain.

use std::collections::HashMap;

use super::query::NEIGHBOURS;

/// A message in the database: the conversation's id, and the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MessagePlace {
    pub(crate) conversation: i64,
    pub(crate) number: i64,
}

/// The most messages with one word that are looked at. A word that more have says little, and whoever
/// asks must not fill our memory with all of them.
pub(crate) const MOST_WITH_WORD: usize = 10_000;

/// Words of the question as bits, the first the lowest.
type Words = u64;

/// The messages that have words of the question.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// Number of messages that were searched.
    pub(crate) searched: usize,
    /// Number of messages that contain each word.
    pub(crate) with: Vec<u32>,
    /// A message and a word that it has, word by word.
    found: Vec<(MessagePlace, Words)>,
}

impl Hits {
    pub(crate) fn new(searched: i64, words: usize) -> Self {
        let searched = usize::try_from(searched).unwrap_or_default();
        Self { searched, with: vec![0; words], found: Vec::new() }
    }

    /// Notes the messages that have a word.
    pub(crate) fn add(&mut self, word: i64, places: impl IntoIterator<Item = MessagePlace>) {
        let Ok(word) = usize::try_from(word) else { return };
        let Some(with) = self.with.get_mut(word) else { return };
        let bit = u32::try_from(word).ok().and_then(|word| Words::checked_shl(1, word));
        let before = self.found.len();
        self.found.extend(places.into_iter().map(|place| (place, bit.unwrap_or_default())));
        *with = with.saturating_add(u32::try_from(self.found.len() - before).unwrap_or(u32::MAX));
    }

    /// Says how many messages have a word of which not all were looked at.
    pub(crate) fn count(&mut self, word: i64, messages: i64) {
        let with = usize::try_from(word).ok().and_then(|word| self.with.get_mut(word));
        with.into_iter().for_each(|it| *it = u32::try_from(messages).unwrap_or(u32::MAX));
    }

    /// The messages that have the rarest words, at most `most`, the best first.
    pub(crate) fn best(&mut self, most: usize) -> Vec<MessagePlace> {
        let all = self.searched.max(1) as f64;
        let rarity = |with: &u32| {
            let with = f64::from(*with);
            (1.0 + (all - with).max(0.0) / (with + 0.5)).ln()
        };
        let weights: Vec<f64> = self.with.iter().map(rarity).collect();
        let weight = |words: Words| -> f64 {
            let has = (0_u32..Words::BITS).map(|word| words >> word & 1 == 1);
            has.zip(&weights).filter_map(|(has, weight)| has.then_some(weight)).sum()
        };
        // Each word's messages come in their order, and sorting finds such runs.
        self.found.sort_by_key(|(place, _)| *place);
        let messages = self.found.chunk_by(|a, b| a.0 == b.0).filter_map(|same| {
            let words = same.iter().fold(0, |all, (_, words)| all | words);
            same.first().map(|(place, _)| (weight(words), *place))
        });
        let mut hits: Vec<(f64, MessagePlace)> = messages.collect();
        // Of equals the latest: a total order, so that the same archive gives the same answer.
        let order = |a: &(f64, MessagePlace), b: &(f64, MessagePlace)| {
            b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
        };
        if hits.len() > most {
            hits.select_nth_unstable_by(most, order);
            hits.truncate(most);
        }
        hits.sort_unstable_by(order);
        hits.into_iter().map(|(_, place)| place).collect()
    }
}

/// Messages with their neighbours, in order.
pub(crate) fn with_neighbours(places: Vec<MessagePlace>) -> Vec<MessagePlace> {
    let near = |place: MessagePlace| {
        let around = NEIGHBOURS as i64;
        let near = place.number.saturating_sub(around)..=place.number.saturating_add(around);
        near.map(move |number| MessagePlace { number, ..place })
    };
    let all = places.into_iter().flat_map(near);
    let mut places: Vec<MessagePlace> = all.filter(|place| place.number > 0).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Merges two lists, the best first, by reciprocal rank: at most `most`, the best first.
pub(crate) fn merged(a: &[MessagePlace], b: &[MessagePlace], most: usize) -> Vec<MessagePlace> {
    /// Makes the first ranks differ less than they would: the usual number.
    const SMOOTHING: f64 = 60.0;
    let mut scores: HashMap<MessagePlace, f64> = HashMap::new();
    for list in [a, b] {
        for (rank, place) in (1_u32..).zip(list) {
            *scores.entry(*place).or_default() += 1.0 / (SMOOTHING + f64::from(rank));
        }
    }
    let mut merged: Vec<(MessagePlace, f64)> = scores.into_iter().collect();
    merged.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    merged.truncate(most);
    merged.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: i64) -> MessagePlace {
        MessagePlace { conversation: 1, number }
    }

    #[test]
    fn rare_words_go_before_common_ones_and_bring_their_neighbours() {
        let mut hits = Hits::new(100, 2);
        hits.add(0, (1..=50).map(at));
        hits.add(1, [at(70)]);
        assert_eq!(with_neighbours(hits.best(1)), [68, 69, 70, 71, 72].map(at));
        assert_eq!(hits.with, [50, 1]);
    }

    #[test]
    fn of_equals_the_latest_are_read_and_of_two_words_both_count() {
        let mut hits = Hits::new(1_000, 2);
        hits.add(0, [10, 20, 30].map(at));
        hits.add(1, [10, 500, 600].map(at));
        assert_eq!(hits.best(2), [10, 600].map(at));
        let near = [8, 9, 10, 11, 12, 598, 599, 600, 601, 602];
        assert_eq!(with_neighbours(hits.best(2)), near.map(at));
    }

    #[test]
    fn merged_lists_begin_with_what_both_have() {
        let (words, vectors) = ([1, 2, 3].map(at), [9, 3, 8].map(at));
        assert_eq!(merged(&words, &vectors, 9), [3, 9, 1, 2, 8].map(at));
        assert_eq!(merged(&words, &[], 2), [1, 2].map(at));
        assert_eq!(merged(&[], &vectors, 9), vectors);
    }
}
