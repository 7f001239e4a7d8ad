//! Random streams: few distinct sizes, scores and densities, so that ties are the rule.

use cupel::slicer::Sequence;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::batch::Candidate;

/// Failures are printed as a smallest case; no file remembers them.
pub(crate) fn config() -> ProptestConfig {
    one_in(1)
}

/// Fewer cases, for what takes longer or has less that could go wrong.
pub(crate) fn one_in(divisor: u32) -> ProptestConfig {
    let cases = 50_000 / divisor;
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Next arrival.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Item(Candidate),
    /// A pinned item of so many tokens.
    Pin(i64),
}

const SCORES: [f64; 12] =
    [0.5, 0.5, 1.0, 2.0, 0.25, 0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-320];

/// A score for an item of this size: mostly one that gives one of a few densities.
fn score(code: u8, tokens: i64) -> f64 {
    match code {
        0..=159 => f64::from(code % 5) * 0.25 * tokens as f64,
        code => SCORES[usize::from(code) % SCORES.len()],
    }
}

fn tokens(code: u8) -> i64 {
    match code {
        252.. => i64::MAX,
        251 => -1,
        code => i64::from(code % 9),
    }
}

/// A stream of up to `longest` steps from three sources, in the order of arrival.
///
/// The sources interleave at random, and each item knows its place in its own source. With
/// `duplicates`, contents repeat, and each has its own size.
pub(crate) fn steps(
    longest: usize,
    pins: bool,
    duplicates: bool,
) -> impl Strategy<Value = Vec<Step>> {
    vec(any::<[u8; 4]>(), 0..=longest).prop_map(move |codes| {
        let mut positions = [0; 3];
        let step = |[source, size, value, content]: [u8; 4]| {
            if pins && source >= 240 {
                return Step::Pin(i64::from(size % 5));
            }
            let source = source % 3;
            let position = &mut positions[usize::from(source)];
            *position += 1;
            let sequence = Sequence::new(u32::from(source), *position);
            let (tokens, name) = if duplicates {
                // Half of the sizes are 2 and 3, so that items of equal size meet, too.
                let content = content % 8;
                ([0, 1, 2, 2, 3, 3, 5, 8][usize::from(content)], content.to_string())
            } else {
                (tokens(size), format!("{sequence:?}"))
            };
            Step::Item(Candidate::new(score(value, tokens), tokens, sequence, &name))
        };
        codes.into_iter().map(step).collect()
    })
}
