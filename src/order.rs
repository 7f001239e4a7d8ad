//! Integer keys that sort scores the way the specification orders them.

/// Maps a score to an integer whose ascending order is the score's descending order.
///
/// Zeroes of both signs are one value, as IEEE 754 comparison has it, and NaN comes after every
/// number, so that a misbehaving scorer still gives one definite order.
pub(crate) fn descending(score: f64) -> u64 {
    if score.is_nan() {
        return u64::MAX;
    }
    const SIGN: u64 = 1 << 63;
    let bits = (score + 0.0).to_bits();
    if bits & SIGN == 0 { !(bits | SIGN) } else { bits }
}

/// Positions of `scores` from the highest to the lowest, equal ones in their given order.
pub(crate) fn by_score_descending(scores: impl Iterator<Item = f64>) -> Vec<u32> {
    let mut ranking = Ranking::new(scores);
    ranking.next_best(usize::MAX).unwrap_or_default()
}

/// Hands out positions from the highest score down, sorting no more than is asked for.
pub(crate) struct Ranking {
    /// The sort key of every position.
    keys: Vec<u64>,
    /// Keys not handed out yet. The low bits of a key make room for its position: half the
    /// memory to move, and the position breaks ties by itself.
    rest: Vec<u64>,
    position_mask: u64,
}

impl Ranking {
    pub(crate) fn new(scores: impl Iterator<Item = f64>) -> Self {
        let keys: Vec<u64> = scores.map(descending).collect();
        let position_bits = usize::BITS - keys.len().leading_zeros();
        let position_mask = (1 << position_bits) - 1;
        let pack = |(position, key): (u64, &u64)| (key & !position_mask) | position;
        let rest = (0..).zip(&keys).map(pack).collect();
        Self { keys, rest, position_mask }
    }

    /// At least the next `count` positions, in order; none when all have been handed out.
    pub(crate) fn next_best(&mut self, count: usize) -> Option<Vec<u32>> {
        if self.rest.is_empty() {
            return None;
        }
        let mask = self.position_mask;
        // Cutting off a part pays only when it is well below the whole.
        let mut best = if count < self.rest.len() / 2 {
            let (_, &mut last, _) = self.rest.select_nth_unstable(count);
            // Equal packed keys need not be equal keys, so they must not be torn apart.
            let others: Vec<u64> =
                self.rest.iter().copied().filter(|packed| *packed > last | mask).collect();
            self.rest.retain(|packed| *packed <= last | mask);
            std::mem::replace(&mut self.rest, others)
        } else {
            std::mem::take(&mut self.rest)
        };
        best.sort_unstable();
        self.settle_runs(&mut best);
        Some(best.into_iter().map(|packed| (packed & mask) as u32).collect())
    }

    /// Orders keys that differ only in the bits that made room for the position.
    fn settle_runs(&self, packed: &mut [u64]) {
        let mask = self.position_mask;
        let full_key = |packed: u64| self.keys.get((packed & mask) as usize);
        for run in packed.chunk_by_mut(|a, b| (a ^ b) & !mask == 0) {
            if let [first, rest @ ..] = &*run {
                if rest.iter().any(|other| full_key(*other) != full_key(*first)) {
                    run.sort_unstable_by_key(|&packed| (full_key(packed), packed));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(descending(pair[0]) < descending(pair[1]), "{pair:?}");
        }
        assert_eq!(descending(0.0), descending(-0.0));
        assert_eq!(descending(f64::NAN), descending(-f64::NAN));
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
    fn asking_for_parts_gives_the_whole_order() {
        // Few distinct scores and neighbours one bit apart, so that runs cross every cut.
        let score = |i: u64| f64::from_bits(0.5_f64.to_bits() + (i * 7919) % 13);
        let scores: Vec<f64> = (0..500).map(score).collect();
        let whole = by_score_descending(scores.iter().copied());
        for part in [0, 1, 7, 100, 400] {
            let mut ranking = Ranking::new(scores.iter().copied());
            let mut parts = Vec::new();
            while let Some(best) = ranking.next_best(part) {
                parts.extend(best);
            }
            assert_eq!(parts, whole, "in parts of {part}");
        }
    }

    #[test]
    fn nothing_and_one_score_are_fine() {
        assert!(by_score_descending(std::iter::empty()).is_empty());
        assert_eq!(by_score_descending(std::iter::once(f64::NAN)), [0]);
    }
}
