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
    let keys: Vec<u64> = scores.map(descending).collect();
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
