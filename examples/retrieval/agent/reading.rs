//! Sentences of the entries of a request.

use super::sight::{Entry, Sight, Who};
use super::tools::{Call, Tool};
use super::words::{has_all, sentences};

/// The entries of one request, read.
pub(crate) struct Reading<'a> {
    entries: &'a [Entry],
    /// Those before the user's last words.
    before: &'a [Entry],
    said: Vec<Said<'a>>,
}

/// A text of which every sentence says something.
struct Said<'a> {
    /// With the path, whose words say what a passage is about.
    whole: &'a str,
    text: &'a str,
    /// Origin of the sentence: `path:line` for a passage.
    cite: &'a str,
    entry: usize,
}

/// Something the request says, who says so, and the number of that entry.
pub(crate) struct Fact<'a> {
    pub(crate) said: String,
    pub(crate) cite: &'a str,
    pub(crate) entry: usize,
}

impl<'a> Reading<'a> {
    /// Reads all entries.
    pub(crate) fn of(sight: &'a Sight) -> Self {
        let mut said = Vec::new();
        for (number, entry) in sight.entries.iter().enumerate() {
            let text = entry.text.as_str();
            let own = |cite| Said { whole: text, text, cite, entry: number };
            match entry.who {
                Who::User => said.push(own("you said so")),
                Who::Model => said.push(own("my answer before")),
                Who::Memory => said.push(own("my memory")),
                Who::Tool | Who::Docs => {
                    said.extend(text.lines().filter_map(|line| passage(line, number)));
                }
            }
        }
        let before = sight.entries.get(..sight.before).unwrap_or_default();
        Self { entries: &sight.entries, before, said }
    }

    /// The number that something gives for a quantity with these words.
    ///
    /// A constant's value is the surest. Otherwise it is the first number of a sentence that has
    /// all the words. Among equals the shortest text says it most directly.
    pub(crate) fn value(&self, words: &[String]) -> Option<Fact<'a>> {
        let about = self.said.iter().filter(|said| has_all(said.whole, words));
        let valued = about.filter_map(|said| {
            let constant = constant(said.text).map(|value| (0, value));
            let (rank, value) = constant.or_else(|| {
                let mut sentences = statements(said.text);
                let sentence = sentences.find(|sentence| has_all(sentence, words))?;
                Some((1, number(sentence)?))
            })?;
            Some(((rank, said.text.len()), said.fact(value)))
        });
        valued.min_by_key(|(rank, _)| *rank).map(|(_, fact)| fact)
    }

    /// The shortest sentence that has all these words.
    pub(crate) fn sentence(&self, words: &[String]) -> Option<Fact<'a>> {
        let all = self
            .said
            .iter()
            .flat_map(|said| statements(said.text).map(move |sentence| (sentence, said)));
        let about = all.filter(|(sentence, _)| has_all(sentence, words));
        let (sentence, said) = about.min_by_key(|(sentence, _)| sentence.len())?;
        Some(said.fact(sentence.to_owned()))
    }

    /// The first passage of what a search has found.
    pub(crate) fn passage(&self, entry: usize) -> Option<Fact<'a>> {
        let found = self.said.iter().find(|said| said.entry == entry)?;
        Some(found.fact(sentences(found.text).next()?.to_owned()))
    }

    /// Returns the output of a tool for this call, from its result or from an answer that repeats
    /// it.
    pub(crate) fn output(&self, call: &Call) -> Option<(&'a str, usize)> {
        let entries = || self.entries.iter().enumerate();
        let told = |entry: &'a Entry| {
            let about = |sentence: &'a str| {
                let value = sentence.strip_prefix(call.argument.as_str())?.strip_prefix(" = ")?;
                Some(value.trim_end_matches('.'))
            };
            sentences(&entry.text).find_map(about)
        };
        let made = entries().find(|(_, entry)| entry.answers.as_ref() == Some(call));
        let made = made.map(|(number, entry)| (entry.text.as_str(), number));
        made.or_else(|| {
            let mut own = entries()
                .filter(|(_, entry)| call.tool == Tool::Calculator && entry.who == Who::Model);
            own.find_map(|(number, entry)| Some((told(entry)?, number)))
        })
    }

    /// The newest result of the calculator before the user's last words.
    pub(crate) fn last_result(&self) -> Option<(&'a str, usize)> {
        let is_result = |entry: &Entry| {
            let call = entry.answers.as_ref();
            call.is_some_and(|call| call.tool == Tool::Calculator)
                && !entry.recalled
                && !entry.text.starts_with("error")
        };
        let number = self.before.iter().rposition(is_result)?;
        Some((self.before.get(number)?.text.as_str(), number))
    }

    /// The oldest question in sight: what is recalled is older than the messages.
    pub(crate) fn first_question(&self) -> Option<(&'a str, usize)> {
        let asks = |entry: &Entry| entry.who == Who::User && entry.text.ends_with('?');
        let recalled = self.entries.iter().position(|entry| entry.recalled && asks(entry));
        let number = recalled.or_else(|| self.entries.iter().position(asks))?;
        Some((self.entries.get(number)?.text.as_str(), number))
    }
}

impl<'a> Said<'a> {
    fn fact(&self, said: String) -> Fact<'a> {
        Fact { said, cite: self.cite, entry: self.entry }
    }
}

/// A line `path:line: text`. Other outputs have colons too.
fn passage(whole: &str, entry: usize) -> Option<Said<'_>> {
    let (cite, text) = whole.split_once(": ")?;
    cite.rsplit_once(':')?.1.parse::<u64>().ok()?;
    Some(Said { whole, text, cite, entry })
}

/// The sentences that ask nothing.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).filter(|sentence| !sentence.contains('?'))
}

/// The number in `const NAME: Type = number`.
fn constant(text: &str) -> Option<String> {
    let (_, declaration) = text.split_once("const ")?;
    let (_, value) = declaration.split_once(" = ")?;
    number(value)
}

/// The first number of a text, without the marks that group digits.
fn number(text: &str) -> Option<String> {
    let text = text.get(text.find(|c: char| c.is_ascii_digit())?..)?;
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '_' | ',' | '.');
    let text = text.get(..text.find(|c| !is_part(c)).unwrap_or(text.len()))?;
    Some(text.trim_end_matches([',', '.', '_']).replace([',', '_'], ""))
}
