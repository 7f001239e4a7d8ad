//! Sums over prefixes of a list whose numbers change.

/// Numbers by position. Adding to one and summing a prefix take logarithmic time (a Fenwick tree).
pub(super) struct PrefixSums(Vec<u64>);

impl PrefixSums {
    pub(super) fn new(len: usize) -> Self {
        Self(vec![0; len])
    }

    /// Adds to the number at a position.
    #[inline]
    pub(super) fn add(&mut self, mut position: usize, amount: u64) {
        while let Some(sum) = self.0.get_mut(position) {
            *sum = sum.saturating_add(amount);
            position |= position + 1;
        }
    }

    /// Sum of the numbers up to a position, that one included.
    #[inline]
    pub(super) fn up_to(&self, position: usize) -> u64 {
        let (mut total, mut end) = (0_u64, position + 1);
        while let Some(sum) = end.checked_sub(1).and_then(|node| self.0.get(node)) {
            total = total.saturating_add(*sum);
            end &= end - 1;
        }
        total
    }
}
