//! Precision on sentences that were labelled before the recogniser was written.

use std::collections::BTreeMap;

use super::kind;

const SENTENCES: &str = include_str!("sentences.tsv");

#[test]
fn four_of_five_marked_sentences_are_labelled_so_in_each_language() {
    let mut marked: BTreeMap<&str, Vec<(bool, &str)>> = BTreeMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in SENTENCES.lines().skip(1) {
        let [language, label, _, sentence] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        *counts.entry(language).or_default() += 1;
        if kind(sentence).is_some() {
            marked.entry(language).or_default().push((label != "neither", sentence));
        }
    }
    assert_eq!(counts, [("de", 50), ("en", 50), ("es", 50), ("fr", 50)].into());
    for (language, marked) in marked {
        let right = marked.iter().filter(|(right, _)| *right).count();
        println!("{language}: {right} of {} marked", marked.len());
        let wrong: Vec<_> = marked.iter().filter(|(right, _)| !right).collect();
        assert!(right * 5 >= marked.len() * 4, "{language}: {wrong:?}");
    }
}
