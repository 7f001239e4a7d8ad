//! The pages that the agent reads, and what can be read off them.

const LOGBOOK: &str = include_str!("logbook.txt");

/// A page, counted from 1.
pub(crate) fn page(number: usize) -> Option<&'static str> {
    LOGBOOK.split("\n---\n").nth(number.checked_sub(1)?).map(str::trim)
}

/// The crates that a page says were shipped.
pub(crate) fn crates_on(page: &str) -> u64 {
    page.split("shipped ").skip(1).filter_map(|rest| number_before(rest, " crates")).sum()
}

/// The page on which this one goes on.
pub(crate) fn next_page(page: &str) -> Option<usize> {
    let (_, rest) = page.split_once("Continued on page ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// All crates of the whole logbook.
pub(crate) fn crates_shipped() -> u64 {
    LOGBOOK.split("\n---\n").map(crates_on).sum()
}

/// The number at the beginning of a text, if this follows it.
pub(crate) fn number_before(text: &str, what: &str) -> Option<u64> {
    let (number, _) = text.split_once(what)?;
    number.trim().parse().ok()
}
