//! In a conversation an answer stands next to what it answers: neighbours lend each other part of their score.

use std::sync::Arc;

use super::{Candidate, Hint, Question, Verdict};

/// Tokens between the centres of two texts from which on they lend nothing, and how much they lend
/// when they touch. Distance counts in tokens, so that one setting serves short and long turns.
const KERNELS: [(f64, f64); 2] = [(240.0, 1.0), (900.0, 0.3)];
/// Weight of a text's own score, besides the share of the kernels.
const OWN: f64 = 1.0;

/// A text alone keeps its score.
const WHOLE: f64 = OWN + KERNELS[0].1 + KERNELS[1].1;

/// Score of a hint of one half. A text of average length that has every word of the question once scores
/// about 2, half of them about 0.8.
const HALF_WAY: f64 = 0.5;
/// Hints from here on count as this one: the score of a hint of 1 has no end.
const SUREST: f64 = 0.95;

/// Share of a whole text's score that each of its passages gets on top.
pub(super) const WHOLE_SHARE: f64 = 0.3;

/// From a score, which has no upper end, to 0..1: a fixed map, so that a hint means the same whatever else
/// there is. In steps of a millionth, so that what rounding leaves of equal scores stays equal.
pub(super) fn hint_of(score: f64) -> f64 {
    const STEPS: f64 = 1_048_576.0;
    (score / (score + HALF_WAY) * STEPS).round() / STEPS
}

/// The score that a hint stands for.
fn score_of(hint: f64) -> f64 {
    let hint = hint.clamp(0.0, SUREST);
    HALF_WAY * hint / (1.0 - hint)
}

impl Verdict {
    /// Lets neighbours in the conversation lend each other part of their hints, by their distance in
    /// tokens: an answer stands next to what it answers. Texts without a
    /// [place](Candidate::at), such as documents, keep theirs.
    ///
    /// [`Lexical`](super::Lexical) and [`Blend`](super::Blend) do so themselves. A judge that looks at one
    /// text at a time calls this last.
    ///
    /// ```
    /// use cupel::relevance::{Candidate, Hint, Question, Verdict};
    ///
    /// let question = Question::new("Where is the key?");
    /// let texts = ["And the key?", "Under the mat.", "Nice weather."];
    /// let places = texts.iter().enumerate();
    /// let talk: Vec<_> = places.map(|(at, text)| Candidate::new(text, 5).at(at)).collect();
    /// let hints = [0.6, 0.0, 0.0].map(Hint::new).to_vec();
    /// let verdict = Verdict::new(hints, |_| Hint::new(0.0)).with_neighbours(&question, &talk);
    /// assert!(verdict.hints[1].value() > 0.2);
    /// ```
    #[must_use]
    pub fn with_neighbours(mut self, question: &Question, candidates: &[Candidate<'_>]) -> Self {
        let is_valid = |hint: &Hint| (0.0..=1.0).contains(&hint.value());
        // What is wrong is handed on, so that whoever asked can say so.
        if self.hints.len() != candidates.len() || !self.hints.iter().all(is_valid) {
            return self;
        }
        let alone: Arc<[f64]> = self.hints.iter().map(Hint::value).collect();
        let mut lent = alone.to_vec();
        lend_hints(question, candidates, &mut lent);
        for (hint, lent) in self.hints.iter_mut().zip(lent) {
            *hint = hint.clone().with_value(lent);
        }
        self.with_alone(alone)
    }
}

/// Lets the parts of a conversation lend each other of their hints. The question itself is no neighbour.
pub(crate) fn lend_hints(question: &Question, candidates: &[Candidate<'_>], hints: &mut [f64]) {
    let mut scores: Vec<f64> = hints.iter().map(|hint| score_of(*hint)).collect();
    let is_said =
        |candidate: &Candidate<'_>| candidate.place.is_some() && candidate.text != question.text();
    let said: Vec<bool> = candidates.iter().map(is_said).collect();
    lend(candidates, said.iter().copied(), &mut scores);
    for ((hint, score), said) in hints.iter_mut().zip(scores).zip(said) {
        // What nobody lends to keeps its hint to the last digit.
        *hint = if said { hint_of(score) } else { *hint };
    }
}

/// Lets those candidates that are said in a conversation lend each other of their scores.
pub(super) fn lend(
    candidates: &[Candidate<'_>],
    said: impl Iterator<Item = bool> + Clone,
    scores: &mut [f64],
) {
    let place = |index: &usize| candidates.get(*index).and_then(|candidate| candidate.place);
    let tokens = |index: usize| candidates.get(index).map_or(0, |candidate| candidate.tokens);
    if said.clone().all(|is_said| is_said) && candidates.is_sorted_by_key(|it| it.place) {
        lend_to_neighbours((0..candidates.len()).map(tokens), scores);
        return;
    }
    let mut order: Vec<usize> =
        said.enumerate().filter_map(|(index, is_said)| is_said.then_some(index)).collect();
    order.sort_by_key(place);
    let mut own: Vec<f64> = order.iter().filter_map(|index| scores.get(*index).copied()).collect();
    lend_to_neighbours(order.iter().map(|index| tokens(*index)), &mut own);
    for (index, lent) in order.into_iter().zip(own) {
        scores.get_mut(index).into_iter().for_each(|score| *score = lent);
    }
}

/// Gives each text of its neighbours' scores. `tokens` and `scores` are in the order of the
/// conversation.
fn lend_to_neighbours(tokens: impl Iterator<Item = i64>, scores: &mut [f64]) {
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
    let (mut left, mut right) = (LendingWindow::default(), LendingWindow::default());
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
struct LendingWindow {
    count: usize,
    sum: f64,
    moment: f64,
}

impl LendingWindow {
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
