//! Finds texts that stand in other texts.

use std::borrow::Cow;

use foldhash::{HashMap, HashSet};

/// Bytes of the shortest text that is looked for inside another one. A shorter one has to be all of it: "yes"
/// stands in many messages.
const SHORTEST: usize = 24;
/// Factor of the rolling hash. Odd, so that no byte is lost.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
/// Bits of a hash that select a place in the filter.
const FILTER_BITS: u32 = 14;

/// Texts of a request, to look for others in.
#[derive(Default)]
pub(super) struct HeldTexts<'a>(pub(super) Vec<Cow<'a, str>>);

impl HeldTexts<'_> {
    /// Says for each text if it is one of the held texts, or stands inside one.
    ///
    /// Reads each held text once, however many texts are looked for.
    pub(super) fn hold(&self, texts: &[&str]) -> Vec<bool> {
        let texts: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
        let whole: HashSet<&str> = self.0.iter().map(|held| held.trim()).collect();
        let is_whole = |text: &&str| !text.is_empty() && whole.contains(text);
        let mut found: Vec<bool> = texts.iter().map(is_whole).collect();

        let mut by_start: HashMap<u64, Vec<(usize, &str)>> = HashMap::default();
        let mut filter = vec![false; 1 << FILTER_BITS];
        for (number, text) in texts.iter().enumerate() {
            if found.get(number) == Some(&false) {
                if let Some((0, start)) = starts(text.as_bytes()).next() {
                    by_start.entry(start).or_default().push((number, text));
                    filter.get_mut(place(start)).into_iter().for_each(|slot| *slot = true);
                }
            }
        }
        if by_start.is_empty() {
            return found;
        }
        for held in &self.0 {
            let held = held.as_bytes();
            for (at, start) in starts(held) {
                if filter.get(place(start)) != Some(&true) {
                    continue;
                }
                let Some(candidates) = by_start.get_mut(&start) else { continue };
                let rest = held.get(at..).unwrap_or_default();
                candidates.retain(|(number, text)| {
                    let is_here = rest.starts_with(text.as_bytes());
                    if is_here {
                        found.get_mut(*number).into_iter().for_each(|slot| *slot = true);
                    }
                    !is_here
                });
            }
        }
        found
    }
}

fn place(start: u64) -> usize {
    usize::try_from(start >> (u64::BITS - FILTER_BITS)).unwrap_or(0)
}

/// Hashes of each [`SHORTEST`] bytes in a row, with their positions. Nothing for a shorter text.
fn starts(text: &[u8]) -> impl Iterator<Item = (usize, u64)> + '_ {
    let weigh = |byte: &u8| u64::from(*byte) + 1;
    // Weight of the byte that leaves.
    let last = (1..SHORTEST).fold(1_u64, |weight, _| weight.wrapping_mul(FACTOR));
    let first = text.get(..SHORTEST).map(|bytes| {
        bytes.iter().fold(0_u64, |hash, byte| hash.wrapping_mul(FACTOR).wrapping_add(weigh(byte)))
    });
    let moves = text.iter().zip(text.iter().skip(SHORTEST));
    let rolled = moves.scan(first.unwrap_or(0), move |hash, (left, entered)| {
        let kept = hash.wrapping_sub(weigh(left).wrapping_mul(last));
        *hash = kept.wrapping_mul(FACTOR).wrapping_add(weigh(entered));
        Some(*hash)
    });
    first.into_iter().chain(rolled).enumerate()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(held: &[&str], text: &str) -> bool {
        let held = HeldTexts(held.iter().map(|held| Cow::Borrowed(*held)).collect());
        held.hold(&[text]) == [true]
    }

    #[test]
    fn a_short_text_is_held_as_a_whole_only() {
        assert!(holds(&["no", " yes \n"], "yes"));
        assert!(!holds(&["yes, of course"], "yes") && !holds(&["yes"], "") && !holds(&[], "yes"));
    }

    #[test]
    fn many_texts_with_one_beginning_are_told_apart() {
        let shared = "The same first words of all of them, number";
        let held: Vec<String> = (0..50).map(|number| format!("> {shared} {number}.")).collect();
        let held = HeldTexts(held.iter().map(|held| Cow::Borrowed(held.as_str())).collect());
        let texts: Vec<String> = (0..100).map(|number| format!("{shared} {number}.")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = held.hold(&texts);
        assert!(found.iter().enumerate().all(|(number, found)| *found == (number < 50)));
    }

    proptest! {
        #[test]
        fn texts_are_found_as_by_contains(
            held in proptest::collection::vec("[ab ]{0,60}", 0..4),
            texts in proptest::collection::vec("[ab ]{0,40}", 0..4),
            cut in (0..4_usize, 0..60_usize, 0..60_usize),
        ) {
            let mut texts = texts;
            texts.extend(held.get(cut.0).and_then(|held| held.get(cut.1..)).map(str::to_owned));
            texts.extend(held.get(cut.0).and_then(|held| held.get(cut.1..cut.2)).map(str::to_owned));
            let looked_for: Vec<&str> = texts.iter().map(String::as_str).collect();
            let found = HeldTexts(held.iter().map(|held| Cow::Borrowed(held.as_str())).collect())
                .hold(&looked_for);
            for (text, found) in looked_for.iter().map(|text| text.trim()).zip(found) {
                let is_held = |held: &String| {
                    held.trim() == text || text.len() >= SHORTEST && held.contains(text)
                };
                prop_assert_eq!(found, !text.is_empty() && held.iter().any(is_held), "{:?}", text);
            }
        }
    }
}
