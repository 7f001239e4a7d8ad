//! Recall on messages as users write them, and false friends.

use std::collections::BTreeMap;

use cupel::standing::{SentenceKind, standing_sentences};

const MESSAGES: &str = include_str!("phrasing.tsv");

/// Counts of one language: messages with a standing sentence, those found, and others that were marked.
#[derive(Default)]
struct Counted<'a> {
    orders: usize,
    missed: Vec<&'a str>,
    marked: usize,
    wrong: Vec<&'a str>,
}

#[test]
fn nine_of_ten_orders_are_found_and_nine_of_ten_marked_ones_are_orders() {
    let mut languages: BTreeMap<&str, Counted<'_>> = BTreeMap::new();
    for line in MESSAGES.lines().skip(1) {
        let [language, label, message] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let counted = languages.entry(language).or_default();
        let kinds: Vec<SentenceKind> =
            standing_sentences(message).iter().map(|found| found.kind).collect();
        let is_found = match label {
            "retraction" => kinds == [SentenceKind::Retraction],
            _ => kinds.iter().any(|kind| *kind != SentenceKind::Retraction),
        };
        counted.marked += usize::from(!kinds.is_empty());
        match label {
            "none" if !kinds.is_empty() => counted.wrong.push(message),
            "none" => {}
            _ => {
                counted.orders += 1;
                counted.missed.extend((!is_found).then_some(message));
            }
        }
    }
    let mut failed = Vec::new();
    for (language, Counted { orders, missed, marked, wrong }) in languages {
        println!(
            "{language}: {} of {orders} found, {} of {marked} wrong",
            orders - missed.len(),
            wrong.len()
        );
        println!("missed: {missed:#?}\nwrong: {wrong:#?}");
        if missed.len() * 10 > orders || wrong.len() * 10 > marked {
            failed.push(language);
        }
    }
    assert_eq!(failed, [""; 0]);
}
