//! The specification's pseudocode for the stages around the slicer, in 128-bit integers.

use super::slicers::Row;

/// COMPUTE-EFFECTIVE-BUDGET: the largest and the targeted number of tokens for the slicer.
pub(crate) fn effective(
    (max, target, reserve): (i64, i64, i64),
    pinned: i64,
    reserved_slots: &[i64],
    margin_percent: f64,
) -> (i64, i64) {
    let reserved: i128 = reserved_slots.iter().map(|&slots| i128::from(slots)).sum();
    let committed = i128::from(pinned) + reserved;
    let mut max = (i128::from(max) - i128::from(reserve) - committed).max(0);
    let mut target = (i128::from(target) - committed).max(0).min(max);
    if margin_percent > 0.0 {
        let multiplier = 1.0 - margin_percent / 100.0;
        max = (max as f64 * multiplier).floor() as i128;
        target = ((target as f64 * multiplier).floor() as i128).min(max);
    }
    (max as i64, target as i64)
}

/// DEDUPLICATE: positions of the survivors, ascending.
pub(crate) fn deduplicate(contents: &[&str], scores: &[f64]) -> Vec<usize> {
    let survivor = |content: &str| {
        let mut best: Option<usize> = None;
        for index in (0..contents.len()).filter(|&index| contents[index] == content) {
            if best.is_none_or(|best| scores[index] > scores[best]) {
                best = Some(index);
            }
        }
        best
    };
    (0..contents.len()).filter(|&index| survivor(contents[index]) == Some(index)).collect()
}

/// The Truncate branch of HANDLE-OVERFLOW: for every merged item, whether it stays.
pub(crate) fn truncate(merged: &[(i64, bool)], target: i64) -> Vec<bool> {
    let mut current = 0;
    let keep = |&(tokens, pinned): &(i64, bool)| {
        let keep = pinned || current + tokens <= target;
        if keep {
            current += tokens;
        }
        keep
    };
    merged.iter().map(keep).collect()
}

/// U-SHAPED-PLACE: positions in presentation order.
pub(crate) fn u_shaped(scores: &[f64]) -> Vec<usize> {
    let rows: Vec<Row> =
        scores.iter().map(|&score| Row { tokens: 0, score, kind: String::new() }).collect();
    let mut result = vec![0; scores.len()];
    let (mut left, mut right) = (0, scores.len());
    for (rank, index) in super::slicers::by_score(&rows).into_iter().enumerate() {
        if rank % 2 == 0 {
            result[left] = index;
            left += 1;
        } else {
            right -= 1;
            result[right] = index;
        }
    }
    result
}

/// CHRONOLOGICAL-PLACE: positions in presentation order.
pub(crate) fn chronological(seconds: &[Option<i64>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..seconds.len()).collect();
    order.sort_by(|&a, &b| match (seconds[a], seconds[b]) {
        (Some(x), Some(y)) => x.cmp(&y).then(a.cmp(&b)),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a.cmp(&b),
    });
    order
}
