//! Which messages have which words, as the index says.

use std::collections::HashMap;

/// How many messages on either side of a hit are read with it.
const NEIGHBOURS: i64 = 2;

/// A message in the database: the conversation's id, and the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) conversation: i64,
    pub(crate) number: i64,
}

/// The messages that have words of the question.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// How many messages were searched.
    pub(crate) searched: usize,
    /// How many of them have each word.
    pub(crate) with: Vec<u32>,
    /// Which words each message has, by number.
    found: HashMap<Place, Vec<u16>>,
}

impl Hits {
    pub(crate) fn new(words: usize) -> Self {
        Self { searched: 0, with: vec![0; words], found: HashMap::new() }
    }

    /// Notes that a message has a word.
    pub(crate) fn add(&mut self, word: usize, place: Place) {
        if let (Some(with), Ok(number)) = (self.with.get_mut(word), u16::try_from(word)) {
            *with = with.saturating_add(1);
            self.found.entry(place).or_default().push(number);
        }
    }

    /// The messages that have the rarest words, at most `most`, and their neighbours, in order.
    pub(crate) fn best(&self, most: usize) -> Vec<Place> {
        let all = self.searched.max(1) as f64;
        let weights: Vec<f64> = self
            .with
            .iter()
            .map(|with| {
                let with = f64::from(*with);
                (1.0 + (all - with).max(0.0) / (with + 0.5)).ln()
            })
            .collect();
        let weight = |words: &[u16]| {
            words.iter().filter_map(|word| weights.get(usize::from(*word))).sum::<f64>()
        };
        let mut hits: Vec<(f64, Place)> =
            self.found.iter().map(|(place, words)| (weight(words), *place)).collect();
        // Of equals the latest: a total order, so that the same archive gives the same answer.
        hits.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let mut places: Vec<Place> = hits
            .into_iter()
            .take(most)
            .flat_map(|(_, place)| {
                let near = place.number.saturating_sub(NEIGHBOURS)
                    ..=place.number.saturating_add(NEIGHBOURS);
                near.map(move |number| Place { number, ..place })
            })
            .filter(|place| place.number > 0)
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: i64) -> Place {
        Place { conversation: 1, number }
    }

    #[test]
    fn rare_words_go_before_common_ones_and_bring_their_neighbours() {
        let mut hits = Hits::new(2);
        hits.searched = 100;
        for number in 1..=50 {
            hits.add(0, at(number));
        }
        hits.add(1, at(70));
        assert_eq!(hits.best(1), [68, 69, 70, 71, 72].map(at));
        assert_eq!(hits.with, [50, 1]);
    }
}
