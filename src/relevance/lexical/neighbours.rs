//! In a conversation an answer stands next to what it answers: neighbours lend part of their score.

/// Tokens between the centres of two texts from which on they lend nothing, and how much they lend
/// when they touch. Distance counts in tokens, so that one setting serves short and long turns.
const KERNELS: [(f64, f64); 2] = [(240.0, 1.0), (900.0, 0.3)];
/// What a text's own score counts, beside what the kernels give it of itself.
const OWN: f64 = 1.0;

/// A text alone keeps its score.
const WHOLE: f64 = OWN + KERNELS[0].1 + KERNELS[1].1;

/// Gives each text of its neighbours' scores. `tokens` and `scores` are in the order of the
/// conversation.
pub(super) fn lend(tokens: impl Iterator<Item = i64>, scores: &mut [f64]) {
    let mut end = 0.0;
    let centres: Vec<f64> = tokens
        .map(|tokens| {
            let tokens = tokens.clamp(0, 1 << 24) as f64;
            end += tokens;
            end - tokens / 2.0
        })
        .collect();
    // Only texts with a score lend: often they are few.
    let lenders: Vec<(f64, f64)> = centres
        .iter()
        .zip(&*scores)
        .filter(|(_, score)| **score > 0.0)
        .map(|(centre, score)| (*centre, *score))
        .collect();
    scores.iter_mut().for_each(|score| *score *= OWN);
    for (width, share) in KERNELS {
        add_kernel(&centres, &lenders, width, share, scores);
    }
    scores.iter_mut().for_each(|score| *score /= WHOLE);
}

/// Adds `share` of the lenders' scores, less with every token between. A triangle is two straight
/// lines, so running sums of the scores and of their moments give it in one pass.
fn add_kernel(centres: &[f64], lenders: &[(f64, f64)], width: f64, share: f64, lent: &mut [f64]) {
    let (mut left, mut right) = (Window::default(), Window::default());
    let (mut passed, mut at, mut ahead) = (0, 0, 0);
    for (centre, lent) in centres.iter().zip(lent) {
        let lender = |at: usize| lenders.get(at).copied();
        // Right: what stands ahead and is near. Left: what has been passed and is near.
        while let Some((place, score)) = lender(ahead).filter(|(place, _)| *place < centre + width)
        {
            right.add(place, score);
            ahead += 1;
        }
        while let Some((place, score)) = lender(at).filter(|(place, _)| place <= centre) {
            right.remove(place, score);
            left.add(place, score);
            at += 1;
        }
        while let Some((place, score)) =
            lender(passed).filter(|(place, _)| passed < at && *place <= centre - width)
        {
            left.remove(place, score);
            passed += 1;
        }
        let near = left.sum * (1.0 - centre / width)
            + left.moment / width
            + right.sum * (1.0 + centre / width)
            - right.moment / width;
        *lent += share * near.max(0.0);
    }
}

/// Scores that are near, and the same times their places.
#[derive(Default)]
struct Window {
    count: usize,
    sum: f64,
    moment: f64,
}

impl Window {
    fn add(&mut self, place: f64, score: f64) {
        self.count += 1;
        self.sum += score;
        self.moment += score * place;
    }

    fn remove(&mut self, place: f64, score: f64) {
        self.count -= 1;
        if self.count == 0 {
            // Nothing is left, whatever rounding says.
            (self.sum, self.moment) = (0.0, 0.0);
        } else {
            self.sum -= score;
            self.moment -= score * place;
        }
    }
}
