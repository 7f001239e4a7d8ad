//! How far apart two keys are, to tell a slip of the pen from another key.

/// Whether two keys are different and so alike that one is probably meant to be the other.
pub(super) fn is_slip(key: &str, known: &str) -> bool {
    let plain = |key: &str| key.to_lowercase().replace('-', "_");
    let (key, known) = (plain(key), plain(known));
    let allowed = match known.len() {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    };
    distance(&key, &known) <= allowed
}

/// The least number of letters to insert, delete, replace or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (row, letter) in a.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, &other) in b.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&last, column).saturating_add(usize::from(letter != other));
            let inserted = at(&current, column).saturating_add(1);
            let deleted = at(&last, column + 1).saturating_add(1);
            let mut least = replaced.min(inserted).min(deleted);
            let neighbour = column.checked_sub(1);
            if previous == Some(other) && neighbour.and_then(|c| b.get(c)) == Some(&letter) {
                let swapped = neighbour.map_or(usize::MAX, |column| at(&before_last, column));
                least = least.min(swapped.saturating_add(1));
            }
            current.push(least);
        }
        previous = Some(letter);
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("steps", "step", 1),
            ("max_ouptut", "max_output", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn slips_and_other_keys() {
        assert!(is_slip("max_contex_tokens", "max_context_tokens"));
        assert!(is_slip("Use-History", "use_history"));
        assert!(!is_slip("max_content_length", "max_context_tokens"));
        assert!(!is_slip("top_k", "steps"));
        assert!(!is_slip("ids", "id"));
    }
}
