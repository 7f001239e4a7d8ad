//! Items on their way through a selection: made of parts, ordered by age, scored, ordered
//! by score as the specification orders them, placed or refused.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::{ContextItem, ContextItemBuilder, ContextKind};

/// A borrowed item and the relevance score it was given.
///
/// Scores are conventionally in `[0.0, 1.0]`, but nothing enforces it.
///
/// ```
/// use cupel::{ContextItem, ScoredItem};
///
/// let item = ContextItem::new("hello", 2)?;
/// let scored = ScoredItem::new(&item, 0.75);
/// assert_eq!((scored.item().content(), scored.score(), scored.tokens()), ("hello", 0.75, 2));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredItem<'a> {
    item: &'a ContextItem,
    score: f64,
    // Slicers read this for every item, in an order the item's own memory does not follow.
    tokens: i64,
}

impl<'a> ScoredItem<'a> {
    /// Pairs an item with a score.
    pub fn new(item: &'a ContextItem, score: f64) -> Self {
        Self { item, score, tokens: item.tokens() }
    }

    /// The item.
    pub fn item(&self) -> &'a ContextItem {
        self.item
    }

    /// The score.
    pub fn score(&self) -> f64 {
        self.score
    }

    /// The item's tokens.
    pub fn tokens(&self) -> i64 {
        self.tokens
    }
}

/// Maps a score to an integer whose ascending order is the score's descending order.
///
/// Zeroes of both signs are one value, as IEEE 754 comparison has it, and NaN comes after every
/// number, so that a misbehaving scorer still gives one definite order.
pub(crate) fn descending_key(score: f64) -> u64 {
    if score.is_nan() {
        return u64::MAX;
    }
    const SIGN: u64 = 1 << 63;
    let bits = (score + 0.0).to_bits();
    if bits & SIGN == 0 { !(bits | SIGN) } else { bits }
}

/// Positions of `scores` from the highest to the lowest, equal ones in their given order.
pub(crate) fn by_score_descending(scores: impl Iterator<Item = f64>) -> Vec<u32> {
    let keys: Vec<u64> = scores.map(descending_key).collect();
    // The low bits of each key make room for its position. That is half the memory to move, and the
    // position breaks ties by itself.
    let position_bits = usize::BITS - keys.len().leading_zeros();
    let mask = (1 << position_bits) - 1;
    let pack = |(position, key): (u64, &u64)| (key & !mask) | position;
    let mut packed: Vec<u64> = (0..).zip(&keys).map(pack).collect();
    packed.sort_unstable();
    // Keys that differ only in the bits that made room for the position are not in order yet.
    let full_key = |packed: u64| keys.get((packed & mask) as usize);
    for run in packed.chunk_by_mut(|a, b| (a ^ b) & !mask == 0) {
        if let [first, rest @ ..] = &*run {
            if rest.iter().any(|other| full_key(*other) != full_key(*first)) {
                run.sort_unstable_by_key(|&packed| (full_key(packed), packed));
            }
        }
    }
    packed.into_iter().map(|packed| (packed & mask) as u32).collect()
}

/// A part of a request that the model's API would refuse.
///
/// The report lists it as [`Filtered`](crate::diagnostics::ExclusionReason::Filtered) with the reason as the
/// filter's name.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedItem {
    /// The part, as an item.
    pub item: ContextItem,
    /// Why, in a few words.
    pub why: String,
}

/// A selected item and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedItem {
    /// The item.
    pub item: ContextItem,
    /// The request or the source that it came from.
    pub origin: Origin,
}

/// Origin of an item: the request or a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The request's own candidate with this index.
    Request(usize),
    /// A source, by name, and the item's index in what it yielded.
    Source {
        /// The source's name.
        name: Arc<str>,
        /// The item's index.
        position: usize,
    },
}

/// Sum of the parts of one item. Tokens add up, and the item is pinned if one part is. Date, priority
/// and relevance are the highest of any part. Tags are those of all parts.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    tokens: i64,
    pinned: bool,
    timestamp: Option<DateTime<Utc>>,
    priority: Option<i64>,
    relevance: Option<f64>,
    tags: Vec<String>,
}

impl Fold {
    /// Adds a part. A negative count is not valid, and must not make the others look cheaper: it
    /// becomes the count of all.
    pub(crate) fn add(&mut self, tokens: i64, pinned: bool, timestamp: Option<DateTime<Utc>>) {
        self.tokens = match (self.tokens < 0, tokens < 0) {
            (true, _) => self.tokens,
            (false, true) => tokens,
            (false, false) => self.tokens.saturating_add(tokens),
        };
        self.pinned |= pinned;
        self.timestamp = self.timestamp.max(timestamp);
    }

    /// Adds the priority, the relevance and the tags of a part.
    pub(crate) fn add_hints(
        &mut self,
        priority: Option<i64>,
        relevance: Option<f64>,
        tags: &[String],
    ) {
        self.priority = self.priority.max(priority);
        self.relevance = [self.relevance, relevance].into_iter().flatten().max_by(f64::total_cmp);
        self.tags.extend_from_slice(tags);
    }

    /// The item, but for its kind, its source and its metadata.
    pub(crate) fn into_item(self, content: impl Into<Arc<str>>) -> ContextItemBuilder {
        let mut item =
            ContextItem::builder(content, self.tokens).pinned(self.pinned).tags(self.tags);
        item.fields.timestamp = self.timestamp;
        item.fields.priority = self.priority;
        item.fields.future_relevance_hint = self.relevance;
        item
    }
}

/// Orders items from the oldest to the newest; items with the same date are equally old.
///
/// An item without a date has that of the newest item before it and a number that counts up.
pub(crate) type Age = (Option<DateTime<Utc>>, u32);

/// The age of every item of a list in its order; none for items that have no place in time.
///
/// Items from sources stand after the request's own candidates in the list, but count as older.
pub(crate) fn ages<'a>(items: impl Iterator<Item = &'a ContextItem>) -> Vec<Option<Age>> {
    let items: Vec<&ContextItem> = items.collect();
    let mut ages: Vec<Option<Age>> = vec![None; items.len()];
    let mut newest = None;
    let mut undated = 0;
    for gathered in [true, false] {
        for (item, age) in items.iter().zip(&mut ages) {
            if item.is_gathered() != gathered {
                continue;
            }
            if let Some(date) = item.timestamp() {
                newest = newest.max(Some(date));
                *age = Some((Some(date), 0));
            } else if is_said(item.kind()) {
                undated += 1;
                *age = Some((newest, undated));
            }
        }
    }
    ages
}

/// Returns `true` if the position of such an item tells when it came up. The position of a document,
/// a memory or an instruction does not.
fn is_said(kind: &ContextKind) -> bool {
    ![ContextKind::document(), ContextKind::memory(), ContextKind::system_prompt()].contains(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, kind: ContextKind, date: Option<i64>) -> ContextItem {
        let mut item = ContextItem::builder(name, 1).kind(kind);
        if let Some(date) = date {
            item = item.timestamp(DateTime::from_timestamp(date, 0).unwrap());
        }
        item.build().unwrap()
    }

    fn oldest_first(items: &[ContextItem]) -> Vec<&str> {
        let mut aged: Vec<(Age, &str)> = ages(items.iter())
            .into_iter()
            .zip(items)
            .filter_map(|(age, item)| Some((age?, item.content())))
            .collect();
        aged.sort();
        aged.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn an_undated_item_follows_the_newest_dated_one_before_it() {
        let said = ContextKind::message;
        let items = [
            item("before all dates", said(), None),
            item("ten", said(), Some(10)),
            item("five", said(), Some(5)),
            item("after ten", said(), None),
            item("and after that", said(), None),
            item("eleven", said(), Some(11)),
            item("timeless", ContextKind::document(), None),
        ];
        assert_eq!(
            oldest_first(&items),
            ["before all dates", "five", "ten", "after ten", "and after that", "eleven"]
        );
    }

    #[test]
    fn what_a_source_gave_is_older_than_the_request() {
        let said = ContextKind::message;
        let mut items = [
            item("question", said(), None),
            item("history 1", said(), None),
            item("history 2", ContextKind::tool_output(), None),
        ];
        items[1].set_gathered(true);
        items[2].set_gathered(true);
        assert_eq!(oldest_first(&items), ["history 1", "history 2", "question"]);
    }

    #[test]
    fn descending_keys_follow_ieee_order_with_nan_last() {
        let ordered = [
            f64::INFINITY,
            f64::MAX,
            1.0,
            f64::MIN_POSITIVE,
            0.0,
            -f64::MIN_POSITIVE,
            -1.0,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for pair in ordered.windows(2) {
            assert!(descending_key(pair[0]) < descending_key(pair[1]), "{pair:?}");
        }
        assert_eq!(descending_key(0.0), descending_key(-0.0));
        assert_eq!(descending_key(f64::NAN), descending_key(-f64::NAN));
    }

    #[test]
    fn ties_keep_their_order() {
        assert_eq!(by_score_descending([0.5, 0.9, 0.5, 0.9].into_iter()), [1, 3, 0, 2]);
    }

    #[test]
    fn scores_one_bit_apart_are_told_apart() {
        let up = |score: f64| f64::from_bits(score.to_bits() + 1);
        let scores = [0.5, up(0.5), 0.5, up(up(0.5)), up(0.5)];
        assert_eq!(by_score_descending(scores.into_iter()), [3, 1, 4, 0, 2]);
    }

    #[test]
    fn runs_of_equal_and_neighbouring_scores_are_in_order() {
        let score = |i: u64| f64::from_bits(0.5_f64.to_bits() + (i * 7919) % 13);
        let scores: Vec<f64> = (0..500).map(score).collect();
        let mut expected: Vec<u32> = (0..500).collect();
        expected.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        assert_eq!(by_score_descending(scores.into_iter()), expected);
    }

    #[test]
    fn nothing_and_one_score_are_fine() {
        assert!(by_score_descending(std::iter::empty()).is_empty());
        assert_eq!(by_score_descending(std::iter::once(f64::NAN)), [0]);
    }
}
