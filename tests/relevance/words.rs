//! Matches between words.

use super::{hints, words};
use cupel::relevance::{Candidate, Judge, Language, Lexical, Question};

/// Returns true if a text matches a question.
fn matches(question: &str, text: &str) -> bool {
    let found = hints(question, &[text, "entirely other things"]);
    assert_eq!(found[1].value(), 0.0, "{question}");
    found[0].value() > 0.0
}

#[test]
fn case_endings_and_accents_do_not_matter() {
    for (question, text) in [
        ("refunding", "it was REFUNDED"),
        ("invoice", "two Invoices"),
        ("the café", "a CAFE"),
        ("cafe\u{301}", "the café"),
        ("STRASSE", "die Straße"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
    ] {
        assert!(matches(question, text), "{question}: {text}");
    }
}

#[test]
fn identifiers_numbers_and_paths_match_in_their_parts() {
    for (question, text) in [
        ("which user", "calls getUserById()"),
        ("get_user_by_id", "calls getUserById()"),
        ("2041", "see INV-2041"),
        ("INV2041", "see INV-2041"),
        ("lexer.rs", "in src/parse/lexer.rs:17"),
        ("1500", "costs 1,500 euros"),
        ("email", "send an e-mail"),
        ("O'Brien", "Mr O’Brien"),
    ] {
        assert!(matches(question, text), "{question}: {text}");
    }
}

#[test]
fn scripts_without_spaces_match_by_pairs_of_signs() {
    for (question, text) in [
        ("退款政策", "我们的退款需要三天"),
        ("返金はいつ", "返金は三日後です"),
        ("환불 정책", "환불은 사흘 걸립니다"),
        ("เงินคืน", "ขอเงินคืนได้ไหม"),
    ] {
        assert!(matches(question, text), "{question}: {text}");
    }
    assert!(!matches("退款", "退出款式"));
}

#[test]
fn other_scripts_match_by_words() {
    for (question, text) in [
        ("متى الفاتورة", "وصلت الفاتورة"),
        ("חשבונית", "החזר על חשבונית"),
        ("возврат", "оформили возврат"),
        ("चालान कहाँ", "आपका चालान"),
        ("which 🚀", "launch 🚀"),
    ] {
        let expected = !question.contains('🚀');
        assert_eq!(matches(question, text), expected, "{question}: {text}");
    }
}

#[test]
fn the_words_that_matched_are_those_of_the_question_and_the_rarest_come_first() {
    let texts = ["the order was refunded", "an order", "another order", "order 12", "orders"];
    let found = hints("What about the order that we refund?", &texts);
    assert_eq!(words(&found[0]), ["refund", "order"]);
    assert_eq!(words(&found[3]), ["order"]);
    assert!(found[0].value() > 1.5 * found[1].value());
}

#[test]
fn all_words_together_are_worth_more_than_each_of_them() {
    let texts = [
        "red wagon by the river",
        "the wagon stood for a long time in a place where nobody saw that it was red",
        "a wagon",
        "red",
    ];
    let found = hints("red wagon", &texts);
    assert!(found[0].value() > found[1].value());
    assert!(found[1].value() > found[2].value());
    assert!((0.6..0.95).contains(&found[0].value()), "{found:?}");
}

#[test]
fn a_hint_does_not_depend_on_how_good_the_best_one_is() {
    let weak = "a wagon of some sort";
    let with = |best: &str| hints("red wagon river", &[weak, best, "hm", "oh"])[0].value();
    let (alone, beside) = (with("a wagon, yes"), with("wagon, wagons"));
    assert!((alone - beside).abs() < 0.05, "{alone} {beside}");
}

#[test]
fn a_question_without_informative_words_is_none() {
    let texts = [Candidate::new("yes, go on with it", 5)];
    for question in ["yes", "go on", "Ok, thanks!", "", "?!…", "ja, mach weiter", "oui", "\0", "🙂"]
    {
        assert!(Lexical::new().judge(&Question::new(question), &texts).is_none(), "{question:?}");
    }
}

#[test]
fn a_wrong_language_still_finds_the_word() {
    for language in Language::ALL {
        let texts = [Candidate::new("Die Rechnung kam zweimal", 6), Candidate::new("Hallo", 2)];
        let question = Question::new("Wo ist die Rechnung?");
        let verdict = Lexical::in_language(language).judge(&question, &texts).unwrap();
        assert_eq!(words(&verdict.hints[0]), ["Rechnung"], "{language}");
        assert_eq!(verdict.hints[1].value(), 0.0, "{language}");
    }
}

#[test]
fn marks_lie_on_character_boundaries_and_do_not_overlap() {
    let text = "返金は INV-2041, inv-2041. Größe: GRÖSSE";
    let marks = Lexical::new().marks(&Question::new("返金 INV-2041 größe"), text);
    let marked: Vec<_> = marks.iter().map(|range| &text[range.clone()]).collect();
    assert_eq!(marked, ["返金", "INV-2041", "inv-2041", "Größe", "GRÖSSE"]);
}
