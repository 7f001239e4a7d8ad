//! How relevant what lies before the cut is to the user's last words.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::arranged::Conversation;
use super::planned::{Part, Planned};
use super::texts::Texts;
use crate::relevance::{Candidate, Hint, Judge, Question, Verdict};

/// Below this a hint says nothing: then the newest comes first.
const LEAST: f64 = 0.01;

/// What a judge has said, and how it judges what sources bring.
#[derive(Debug, Clone, Default)]
pub(super) struct Later(pub(super) Option<Verdict>);

/// Plans are equal when what they have decided is.
impl PartialEq for Later {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Conversation {
    /// Gives each candidate before the cut a hint. Statistics come from these alone, so they stay
    /// as they are for as long as the question and the cut do.
    pub(super) fn judge(
        &self,
        planned: &mut Planned,
        judge: Option<&dyn Judge>,
        texts: &dyn Texts,
    ) {
        let earlier: Vec<usize> = (0..planned.parts.len())
            .filter(|unit| planned.parts.get(*unit) == Some(&Part::Earlier))
            .collect();
        let verdict = judge.and_then(|judge| self.verdict(planned, &earlier, judge, texts));
        let count = earlier.len().max(1) as f64;
        for (rank, unit) in earlier.into_iter().enumerate() {
            let hint = verdict.as_ref().and_then(|verdict| verdict.hints.get(rank));
            let believed = hint.filter(|hint| (LEAST..=1.0).contains(&hint.value())).cloned();
            let newest_first = || Hint::new(LEAST * (rank + 1) as f64 / count);
            let hint = believed.unwrap_or_else(newest_first);
            planned.hints.get_mut(unit).into_iter().for_each(|slot| *slot = Some(hint.clone()));
        }
        planned.later = Later(verdict);
    }

    fn verdict(
        &self,
        planned: &Planned,
        earlier: &[usize],
        judge: &dyn Judge,
        texts: &dyn Texts,
    ) -> Option<Verdict> {
        let mut question = String::new();
        let asked = planned.question?;
        match self.outlines.get(asked).and_then(|outline| outline.words.as_ref()) {
            Some(words) => question.push_str(words),
            None => texts.write(asked, &mut question),
        }
        let mut all = String::new();
        let mut ends = Vec::with_capacity(earlier.len());
        let members: Vec<&[usize]> = self.all_members().collect();
        for unit in earlier {
            for (at, message) in members.get(*unit)?.iter().enumerate() {
                if at > 0 {
                    all.push('\n');
                }
                texts.write(*message, &mut all);
            }
            ends.push(all.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let runs = starts.zip(&ends).zip(earlier);
        let candidates: Vec<Candidate<'_>> = runs
            .filter_map(|((start, end), unit)| {
                let tokens = planned.tokens.get(*unit).copied()?;
                Some(Candidate::new(all.get(start..*end)?, tokens).at(*unit))
            })
            .collect();
        // A judge of somebody else's costs its call the relevance and nothing else.
        let judged = || judge.judge(&Question::new(question), &candidates);
        catch_unwind(AssertUnwindSafe(judged)).ok().flatten()
    }
}

impl Planned {
    /// Whether a judge has said how relevant what lies before the cut is.
    pub(crate) fn is_judged(&self) -> bool {
        self.later.0.is_some()
    }

    /// How relevant something is that a source brings; none when nobody can say.
    #[must_use]
    pub fn hint(&self, text: &str, tokens: i64) -> Option<Hint> {
        let verdict = self.later.0.as_ref()?;
        let candidate = Candidate::new(text, tokens);
        let hint = catch_unwind(AssertUnwindSafe(|| verdict.further(&candidate))).ok()?;
        (0.0..=1.0).contains(&hint.value()).then_some(hint)
    }
}
