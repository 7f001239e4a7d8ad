//! About how long judging takes, which depends on what is known.

use super::super::{Candidate, Language};
use super::terms::{MOST_BYTES, is_known, key_of};

/// What a text takes whose terms are known, in nanoseconds.
const KNOWN: u64 = 250;
/// What a byte takes of a text whose terms are not.
const BYTE: u64 = 40;
/// So little is not worth a look at what is known.
const LITTLE: u64 = 500_000;
/// So much is a lot, whatever else there is.
const A_LOT: u64 = 8_000_000;

pub(super) fn steps(candidates: &[Candidate<'_>], language: Language) -> u64 {
    let least = candidates.len() as u64 * KNOWN;
    let unknown =
        |candidate: &Candidate<'_>| candidate.text.len().min(2 * MOST_BYTES) as u64 * BYTE;
    let most = candidates.iter().map(unknown).fold(least, u64::saturating_add);
    if most <= LITTLE || least >= A_LOT {
        return most;
    }
    let mut steps = least;
    // The newest first: they are unknown if any are.
    for candidate in candidates.iter().rev() {
        if steps >= A_LOT {
            break;
        }
        if !is_known(&key_of(candidate.text, language)) {
            steps += unknown(candidate);
        }
    }
    steps
}
