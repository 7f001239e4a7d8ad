//! Units of a plan, and the sums of their tokens.

use super::super::message::Message;

/// Facts of one unit that a plan decides by.
#[derive(Debug, Clone, Default)]
pub(super) struct LadderUnit {
    /// Sent unchanged.
    pub(super) whole: i64,
    /// With its long results as excerpts.
    pub(super) short: i64,
    /// With those of the older part.
    pub(super) faded: i64,
    /// It begins with a user's message.
    pub(super) opens: bool,
    /// A user asks something in it.
    pub(super) asks: bool,
    /// Nobody says anything in it.
    pub(super) blank: bool,
    pub(super) stays: bool,
    /// A user gives a standing order in it, or takes one back.
    pub(super) rules: bool,
    /// A user gives a standing order in it.
    pub(super) orders: bool,
    /// Not part of the request before: its calls had no results then.
    pub(super) absent: bool,
    /// The unit without which it is not sent.
    pub(super) needs: Option<usize>,
}

impl LadderUnit {
    /// The unit of these messages, and the unit it needs.
    pub(super) fn of<'a>(
        messages: impl Iterator<Item = &'a Message>,
        needs: Option<usize>,
        short: i64,
        faded: i64,
    ) -> Self {
        let mut unit = Self { needs, blank: true, ..Self::default() };
        for (at, message) in messages.enumerate() {
            unit.add(message, at == 0, short, faded);
        }
        unit
    }

    fn add(&mut self, message: &Message, first: bool, short: i64, faded: i64) {
        self.whole = self.whole.saturating_add(message.tokens.max(0));
        self.short = self.short.saturating_add(message.within(short));
        self.faded = self.faded.saturating_add(message.within(faded));
        self.stays |= message.stays();
        self.asks |= message.asks() && !message.required;
        self.blank &= message.blank;
        if first {
            self.opens = message.opens_exchange();
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
    /// Sums of the units that stay.
    pub(super) fixed: Vec<i64>,
}

impl Sums {
    pub(super) fn of(units: &[LadderUnit]) -> Self {
        let sums = |tokens: &dyn Fn(&LadderUnit) -> i64| {
            let mut sum = 0_i64;
            let mut sums = Vec::with_capacity(units.len() + 1);
            sums.push(0);
            for unit in units {
                sum = sum.saturating_add(tokens(unit));
                sums.push(sum);
            }
            sums
        };
        let moving = |unit: &LadderUnit, tokens: i64| if unit.stays { 0 } else { tokens };
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
