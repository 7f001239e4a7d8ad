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

/// A key and the index that breaks its ties, as one integer.
pub(crate) fn keyed(key: u64, index: u32) -> u128 {
    (u128::from(key) << 32) | u128::from(index)
}

/// The index inside a [`keyed`] integer.
pub(crate) fn index_of(keyed: u128) -> u32 {
    keyed as u32
}

/// Positions of `scores` from the highest to the lowest, equal ones in their given order.
pub(crate) fn by_score_descending(scores: impl Iterator<Item = f64>) -> Vec<u32> {
    let mut keys: Vec<u128> =
        (0_u32..).zip(scores).map(|(index, score)| keyed(descending(score), index)).collect();
    keys.sort_unstable();
    keys.into_iter().map(index_of).collect()
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
}
