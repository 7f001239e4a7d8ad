//! Standing orders of a conversation: what a user has asked for and not taken back.

use super::recogniser::{SentenceKind, informative, standing_sentences};
use super::sentences::folded;

/// A standing order in the user's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StandingOrder {
    /// Place of the message in its conversation.
    pub message: usize,
    /// The sentence.
    pub text: String,
    /// Its kind.
    pub kind: SentenceKind,
}

/// Standing orders in the conversation's order, from messages that are read one by one.
///
/// A sentence that is said again stands once, where it was said last. A retraction removes the one rule
/// that is about the same; if several could be meant, it is added instead, and the reader decides.
///
/// ```
/// use cupel::standing::StandingOrders;
///
/// let mut orders = StandingOrders::new();
/// orders.read(0, "Never use tabs. Always give exact versions.");
/// orders.read(4, "You may use tabs again.");
/// let left: Vec<&str> = orders.iter().map(|order| &*order.text).collect();
/// assert_eq!(left, ["Always give exact versions."]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingOrders {
    orders: Vec<StandingOrder>,
}

impl StandingOrders {
    /// No orders yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the standing sentences of the user's next message.
    pub fn read(&mut self, message: usize, text: &str) {
        for sentence in &*standing_sentences(text) {
            let text = text.get(sentence.range.clone()).unwrap_or_default();
            match sentence.kind {
                SentenceKind::Retraction => self.retract(message, text),
                kind => self.add(message, text, kind),
            }
        }
    }

    /// Adds a whole message, which the caller has marked as standing.
    pub fn mark(&mut self, message: usize, text: &str) {
        if !text.trim().is_empty() {
            self.add(message, text.trim(), SentenceKind::Directive);
        }
    }

    /// The orders, in the conversation's order.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &StandingOrder> {
        self.orders.iter()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }

    fn add(&mut self, message: usize, text: &str, kind: SentenceKind) {
        let words = |text: &str| folded(text, 0..text.len(), &[]);
        let new = words(text);
        self.orders.retain(|order| words(&order.text) != new);
        self.orders.push(StandingOrder { message, text: text.to_owned(), kind });
    }

    fn retract(&mut self, message: usize, text: &str) {
        let about = informative(text);
        let shared = |order: &StandingOrder| {
            let rule = informative(&order.text);
            about.iter().filter(|word| rule.iter().any(|other| is_same(word, other))).count()
        };
        let shares: Vec<usize> = self.orders.iter().map(shared).collect();
        let most = shares.iter().copied().max().unwrap_or_default();
        if most == 0 {
            return;
        }
        let mut best = shares.iter().enumerate().filter(|(_, share)| **share == most);
        match (best.next(), best.next()) {
            (Some((rule, _)), None) if most * 2 >= about.len() => {
                self.orders.remove(rule);
            }
            // Several could be meant.
            _ => self.add(message, text, SentenceKind::Retraction),
        }
    }
}

/// Tests if two words are forms of the same: `emoji` and `emojis`.
fn is_same(word: &str, other: &str) -> bool {
    let (short, long) = if word.len() <= other.len() { (word, other) } else { (other, word) };
    let common = short.chars().zip(long.chars()).take_while(|(a, b)| a == b).count();
    let [short, long] = [short, long].map(|word| word.chars().count());
    short == long && common == long || common >= 4 && common + 2 >= short && long - short <= 3
}
