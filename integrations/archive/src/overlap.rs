//! Finds the part of a history that the archive already has.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::digest::MessageDigest;

/// Counts the leading messages of `history` that are in the archive already. `stored` are the archive's
/// latest messages.
pub(crate) fn known(stored: &[MessageDigest], history: &[MessageDigest]) -> usize {
    // The usual case: what the archive has last was sent back, and what follows it is new. The
    // client may have dropped or summarised what stood before it. Where the last message stands
    // several times, the place counts whose predecessors agree the furthest, and of such places the
    // first: rather twice in the archive than lost.
    let agreeing = agreeing(stored, history);
    let best = agreeing.iter().enumerate().max_by_key(|(at, length)| (**length, Reverse(*at)));
    if let Some((at, 1..)) = best.map(|(at, length)| (at, *length)) {
        return at + 1;
    }
    // The client went back: the longest beginning that the archive has in this order.
    let mut places: HashMap<MessageDigest, Vec<usize>> = HashMap::new();
    for (place, message) in stored.iter().enumerate() {
        places.entry(*message).or_default().push(place);
    }
    let mut next = 0;
    for (position, message) in history.iter().enumerate() {
        let place = places.get(message).and_then(|places| {
            let later = places.partition_point(|place| *place < next);
            places.get(later)
        });
        match place {
            Some(place) => next = place + 1,
            None => return position,
        }
    }
    history.len()
}

/// For every place in `history`: how many messages up to it are the last ones of `stored`. In one
/// pass, by the lengths of the longest prefixes that begin at each place (the Z function) of both
/// read backwards.
fn agreeing(stored: &[MessageDigest], history: &[MessageDigest]) -> Vec<usize> {
    let backwards: Vec<Option<&MessageDigest>> = stored
        .iter()
        .rev()
        .map(Some)
        .chain([None]) // equal to no message, so that no match runs across it
        .chain(history.iter().rev().map(Some))
        .collect();
    let mut lengths = vec![0; backwards.len()];
    let (mut left, mut right) = (0, 0);
    for at in 1..backwards.len() {
        let mut length = 0;
        if at < right {
            length = lengths.get(at - left).copied().unwrap_or(0).min(right - at);
        }
        while at + length < backwards.len() && backwards.get(length) == backwards.get(at + length) {
            length += 1;
        }
        if at + length > right {
            (left, right) = (at, at + length);
        }
        if let Some(slot) = lengths.get_mut(at) {
            *slot = length;
        }
    }
    lengths.into_iter().skip(stored.len() + 1).rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<MessageDigest> {
        text.bytes().map(|byte| [byte; 16]).collect()
    }

    #[test]
    fn what_follows_the_last_known_message_is_new() {
        for (stored, history, known_part) in [
            ("", "a", 0),
            ("ab", "abc", 2),
            ("abcd", "cde", 2),   // the client sends a window
            ("abcd", "acde", 3),  // with its first message kept
            ("abcd", "xcde", 3),  // with a summary of what it dropped
            ("abcd", "abx", 2),   // went back and said something else
            ("ayby", "aybyy", 4), // the same words once more
            ("yyyy", "yyyyy", 4),
            ("abcd", "ab", 2), // asks again for an answer: nothing is new
            ("abcd", "xyz", 0),
        ] {
            assert_eq!(known(&of(stored), &of(history)), known_part, "{stored} {history}");
        }
    }

    #[test]
    fn long_and_monotonous_histories_take_no_longer() {
        let many = vec![[7; 16]; 200_000];
        assert_eq!(known(&many, &many), many.len());
    }
}
