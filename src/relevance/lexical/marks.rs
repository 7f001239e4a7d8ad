//! Where the question's words stand in a text.

use std::ops::Range;

use super::super::Language;
use super::asked::Asked;
use super::terms::each_term;

pub(super) fn marks(asked: &Asked, language: Language, text: &str) -> Vec<Range<usize>> {
    let mut marks: Vec<Range<usize>> = Vec::new();
    each_term(text, language, &mut |term, _, range| {
        if asked.number_of(term).is_some() {
            marks.push(range);
        }
    });
    // A whole and its parts, and pairs of signs, lie over each other.
    marks.sort_by_key(|range| (range.start, range.end));
    marks.dedup_by(|later, earlier| {
        let overlap = later.start < earlier.end;
        if overlap {
            earlier.end = earlier.end.max(later.end);
        }
        overlap
    });
    marks
}
