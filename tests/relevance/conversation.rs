//! Neighbours, and what comes later.

use cupel::relevance::{Candidate, Judge, Lexical, Question};
use proptest::prelude::*;

/// A conversation of turns, each with its tokens.
fn talk<'a>(turns: &[(&'a str, i64)]) -> Vec<Candidate<'a>> {
    let turns = turns.iter().enumerate();
    turns.map(|(place, (text, tokens))| Candidate::new(text, *tokens).at(place)).collect()
}

fn values(question: &str, candidates: &[Candidate<'_>]) -> Vec<f64> {
    let verdict = Lexical::new().judge(&Question::new(question), candidates).unwrap();
    verdict.hints.iter().map(cupel::relevance::Hint::value).collect()
}

#[test]
fn neighbours_lend_by_their_distance_in_tokens() {
    let turns = [
        ("something else", 60),
        ("what does the courier cost?", 60),
        ("nine euros", 60),
        ("fine", 600),
        ("far away", 60),
    ];
    let hints = values("price of the courier", &talk(&turns));
    assert!(hints[1] > hints[2] && hints[2] > hints[3] && hints[3] > hints[4], "{hints:?}");
    assert!((hints[0] - hints[2]).abs() < 1e-6, "as near on either side: {hints:?}");
    // Documents lend nothing.
    let mut documents = talk(&turns);
    documents.iter_mut().for_each(|document| document.place = None);
    assert_eq!(values("price of the courier", &documents)[2], 0.0);
}

#[test]
fn the_order_of_the_list_does_not_matter_only_the_places_do() {
    let turns = [("a", 5), ("the courier", 20), ("b", 500), ("courier again", 20), ("c", 5)];
    let mut candidates = talk(&turns);
    let forwards = values("courier", &candidates);
    candidates.reverse();
    let mut backwards = values("courier", &candidates);
    backwards.reverse();
    assert_eq!(forwards, backwards);
}

#[test]
fn the_question_is_neither_judged_nor_counted() {
    let question = "where is the courier";
    let with = values(question, &talk(&[("the courier", 5), ("hm", 5), (question, 9)]));
    let without = values(question, &talk(&[("the courier", 5), ("hm", 5)]));
    assert_eq!(with[..2], without[..]);
    assert_eq!(with[2], 0.0);
}

#[test]
fn what_was_done_since_counts_less_than_the_question() {
    let texts = [Candidate::new("the courier", 5), Candidate::new("the tariff", 5)];
    let question = Question::new("where is the courier?").since("looked up the tariff");
    let verdict = Lexical::new().judge(&question, &texts).unwrap();
    assert!(verdict.hints[0].value() > 2.0 * verdict.hints[1].value());
    assert!(verdict.hints[1].value() > 0.0);
}

#[test]
fn what_comes_later_is_judged_as_it_would_have_been_alone() {
    let texts = ["the courier", "hm", "a parcel"];
    let candidates: Vec<_> = texts.iter().map(|text| Candidate::new(text, 5)).collect();
    let verdict = Lexical::new().judge(&Question::new("courier parcel"), &candidates).unwrap();
    for (candidate, hint) in candidates.iter().zip(&verdict.hints) {
        assert_eq!(verdict.further(candidate), *hint);
    }
}

proptest! {
    #[test]
    fn hints_are_from_0_to_1_and_the_same_twice(
        question in "[a-f ]{1,30}",
        turns in prop::collection::vec(("[a-f ]{0,40}", 0_i64..2_000, any::<bool>()), 0..40),
    ) {
        let candidates: Vec<_> = turns
            .iter()
            .enumerate()
            .map(|(place, (text, tokens, said))| {
                let candidate = Candidate::new(text, *tokens);
                if *said { candidate.at(place) } else { candidate }
            })
            .collect();
        let judge = |_| Lexical::new().judge(&Question::new(question.as_str()), &candidates);
        let (first, second) = (judge(1), judge(2));
        prop_assert_eq!(first.is_some(), second.is_some());
        if let (Some(first), Some(second)) = (first, second) {
            prop_assert_eq!(&first.hints, &second.hints);
            prop_assert_eq!(first.hints.len(), candidates.len());
            for hint in &first.hints {
                prop_assert!((0.0..=1.0).contains(&hint.value()));
            }
        }
    }
}

#[test]
fn a_long_conversation_is_judged_the_same_however_it_was_seen_before() {
    let text = |at: usize| format!("turn {at} about {}", ["tea", "cake", "rain"][at % 3]);
    let texts: Vec<String> = (0..1_500).map(text).collect();
    let mut other = texts.clone();
    other[700] = "tea, edited".to_owned();
    let judge = |texts: &[String]| {
        let turns = texts.iter().enumerate();
        let turns: Vec<_> = turns.map(|(at, text)| Candidate::new(text, 9).at(at)).collect();
        Lexical::new().judge(&Question::new("tea 700"), &turns).unwrap().hints
    };
    let fresh = judge(&texts);
    // The same again, one that grew, one that was edited, one that was cut, and the first one.
    let mut grown = texts.clone();
    grown.push("one more".to_owned());
    assert_eq!(judge(&texts), fresh);
    let longer = judge(&grown);
    let edited = judge(&other);
    assert_ne!(edited[700], fresh[700]);
    let cut = judge(&texts[..1_200]);
    assert_eq!(judge(&grown), longer);
    assert_eq!(judge(&other), edited);
    assert_eq!(judge(&texts[..1_200]), cut);
    assert_eq!(judge(&texts), fresh);
}
