//! What a plan knows of the units of a conversation.

use super::super::message::{Message, Role};

/// What a plan needs of one message.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::conversation) struct Outline {
    pub(in crate::conversation) role: Role,
    pub(in crate::conversation) tokens: i64,
    /// The texts of tools' results in it, in tokens.
    pub(in crate::conversation) results: Vec<i64>,
    pub(in crate::conversation) opens: bool,
    /// A user says something in it,
    pub(in crate::conversation) asks: bool,
    /// in these words, where there is more in it than they.
    pub(in crate::conversation) words: Option<String>,
    /// It is sent wherever the conversation is cut.
    pub(in crate::conversation) stays: bool,
}

impl Outline {
    pub(in crate::conversation) fn of(message: &Message) -> Self {
        let told = message.attributes.as_ref().and_then(|attributes| attributes.pinned);
        Self {
            role: message.role,
            tokens: message.tokens,
            results: message.results.clone(),
            opens: message.opens_exchange(),
            asks: message.asks(),
            words: message.words.clone(),
            stays: message.required || told.unwrap_or(message.role == Role::System),
        }
    }

    /// Its tokens when no result in it has more than so many.
    pub(super) fn within(&self, limit: i64) -> i64 {
        let cut = self.results.iter().map(|tokens| tokens.saturating_sub(limit).max(0));
        self.tokens.saturating_sub(cut.fold(0, i64::saturating_add)).max(0)
    }
}

/// What a plan needs of one unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    /// As it came.
    pub(super) whole: i64,
    /// With its long results as excerpts.
    pub(super) short: i64,
    /// With those of the older part.
    pub(super) faded: i64,
    /// It begins with a user's message.
    pub(super) opens: bool,
    /// A user says something in it.
    pub(super) asks: bool,
    pub(super) stays: bool,
    /// The model wrote its first message.
    pub(super) by_model: bool,
    /// The unit without which it is not sent.
    pub(super) needs: Option<usize>,
}

impl Unit {
    pub(super) fn add(&mut self, message: &Outline, first: bool, short: i64, faded: i64) {
        self.whole = self.whole.saturating_add(message.tokens.max(0));
        self.short = self.short.saturating_add(message.within(short));
        self.faded = self.faded.saturating_add(message.within(faded));
        self.stays |= message.stays;
        self.asks |= message.asks;
        if first {
            self.opens = message.opens;
            self.by_model = message.role == Role::Assistant;
        }
    }
}

/// Sums over units from the start, so that the size of any run of them is a difference.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) whole: Vec<i64>,
    /// Also the grid's measure.
    pub(super) short: Vec<i64>,
    pub(super) faded: Vec<i64>,
    /// Of those that stay.
    pub(super) fixed: Vec<i64>,
}

impl Sums {
    pub(super) fn of(units: &[Unit]) -> Self {
        let sums = |tokens: &dyn Fn(&Unit) -> i64| {
            let mut sum = 0_i64;
            let mut sums = Vec::with_capacity(units.len() + 1);
            sums.push(0);
            for unit in units {
                sum = sum.saturating_add(tokens(unit));
                sums.push(sum);
            }
            sums
        };
        let moving = |unit: &Unit, tokens: i64| if unit.stays { 0 } else { tokens };
        Self {
            whole: sums(&|unit| moving(unit, unit.whole)),
            short: sums(&|unit| moving(unit, unit.short)),
            faded: sums(&|unit| moving(unit, unit.faded)),
            fixed: sums(&|unit| if unit.stays { unit.whole } else { 0 }),
        }
    }
}

/// The sum of a run of units.
pub(super) fn run(sums: &[i64], from: usize, to: usize) -> i64 {
    let at = |index: usize| sums.get(index).copied().unwrap_or_default();
    at(to).saturating_sub(at(from)).max(0)
}
