//! Texts and questions that nobody would write.

use super::hints;
use cupel::relevance::{Candidate, Judge, Lexical, Question};

#[test]
fn a_question_of_a_megabyte_is_read_from_both_ends() {
    let log = "error at line seventeen of the build log\n".repeat(25_000);
    let question = format!("{log}\nWhy does the courier fail?");
    let found = hints(&question, &["the courier", "nothing", &log[..200]]);
    assert!(found[0].value() > 0.0 && found[2].value() > 0.0);
    assert_eq!(found[1].value(), 0.0);
}

#[test]
fn a_megabyte_of_different_words_is_no_question_of_a_million() {
    let question: String = (0..150_000).map(|n| format!("w{n:x} ")).collect();
    let found = hints(&question, &["w0", "none of them"]);
    assert!(found[0].value() < 0.5 && found[1].value() == 0.0);
}

#[test]
fn a_text_of_fifty_megabytes_is_found_by_its_ends() {
    let mut text = "the courier ".to_owned();
    text.push_str(&"lorem ipsum dolor ".repeat(50 * 1024 * 1024 / 18));
    text.push_str("parcel ä");
    let candidates = [Candidate::new(&text, i64::MAX).at(0), Candidate::new("x", i64::MAX).at(1)];
    for word in ["courier", "parcel"] {
        let verdict = Lexical::new().judge(&Question::new(word), &candidates).unwrap();
        assert!(verdict.hints[0].value() > 0.0, "{word}");
    }
}

#[test]
fn strange_texts_are_texts() {
    let strange = [
        "",
        "\0\0",
        "\u{202e}odd",
        "🧑‍🚀🚀",
        "a\u{300}\u{301}\u{302}",
        "----....////",
        "'’'’",
        "a'b'c",
        "::::",
        "x-",
        "-x",
        "\u{feff}",
        "ﷺ",
        "i̇stanbul",
        "ⅷ ½ ²",
        "aB1cD2eF3gH4iJ5kL6",
        "日",
        "ก็็็็็",
    ];
    let long: Vec<String> = strange.iter().map(|text| text.repeat(300)).collect();
    let texts: Vec<&str> = strange.into_iter().chain(long.iter().map(String::as_str)).collect();
    for question in &texts {
        for hint in hints(question, &texts) {
            assert!((0.0..=1.0).contains(&hint.value()), "{question:?}: {hint:?}");
        }
        let _ = Lexical::new().marks(&Question::new(*question), question);
    }
}

#[test]
fn equal_texts_have_equal_hints_wherever_they_stand() {
    let turns: Vec<_> = (0..3_000)
        .map(|place| {
            let text = if place % 10 == 0 { "the courier" } else { "hm" };
            Candidate::new(text, 333).at(place)
        })
        .collect();
    let verdict = Lexical::new().judge(&Question::new("courier"), &turns).unwrap();
    let couriers: Vec<f64> =
        verdict.hints.iter().step_by(10).skip(1).map(cupel::relevance::Hint::value).collect();
    assert!(couriers.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn tokens_of_any_size_leave_no_hint_out_of_range() {
    let tokens = [i64::MIN, -1, 0, 1, i64::MAX];
    let turns: Vec<_> =
        tokens.iter().enumerate().map(|(at, n)| Candidate::new("courier", *n).at(at)).collect();
    let verdict = Lexical::new().judge(&Question::new("courier"), &turns).unwrap();
    assert!(verdict.hints.iter().all(|hint| (0.0..=1.0).contains(&hint.value())));
}
