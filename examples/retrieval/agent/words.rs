//! Rules for words, and for equal words.

/// Words that say how something is asked, not what about.
const COMMON: [&str; 37] = [
    "a", "all", "am", "an", "and", "are", "at", "by", "did", "do", "does", "for", "from", "had",
    "has", "have", "how", "i", "in", "is", "it", "its", "many", "may", "much", "of", "on", "one",
    "or", "that", "the", "to", "was", "what", "when", "which", "with",
];

/// The words of a text that carry meaning, in lower case and without a plural's ending.
///
/// Everything that is neither letter nor digit parts words, so `DEFAULT_LIMIT` is two.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !COMMON.contains(&word.as_str()))
        .map(|word| match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
            _ => word,
        })
        .collect()
}

/// Returns true if a text has all the given words.
pub(crate) fn has_all(text: &str, wanted: &[String]) -> bool {
    let there = words(text);
    !wanted.is_empty() && wanted.iter().all(|word| there.contains(word))
}

/// The sentences of a text. A point inside a number or a path ends none.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(". ").map(str::trim)
}
