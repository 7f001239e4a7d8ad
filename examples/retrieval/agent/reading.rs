//! What a request's items say: all that the model knows.

use cupel::ContextItem;

use super::history::{Role, role, turn};
use super::tools::{Call, Tool};
use super::words::{has_all, sentences};

/// The items of one request, read.
#[derive(Default)]
pub(crate) struct Reading<'a> {
    /// The user's question and its turn.
    pub(crate) question: Option<(usize, &'a str)>,
    /// Earlier questions.
    pub(crate) asked: Vec<Seen<'a>>,
    /// Passages: retrieved, or found by a search.
    passages: Vec<Passage<'a>>,
    /// Results of earlier turns.
    notes: Vec<Seen<'a>>,
    /// Tool calls with their outputs.
    exchanges: Vec<(Call, &'a str, usize)>,
}

/// Something of an earlier turn, and the position of the item it stands in.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) turn: usize,
    pub(crate) text: &'a str,
    pub(crate) position: usize,
}

struct Passage<'a> {
    /// `path:line: text`
    whole: &'a str,
    /// `path:line`
    cite: &'a str,
    text: &'a str,
    position: usize,
}

/// Something the context says, where it says so, and the position of that item.
pub(crate) struct Fact<'a> {
    pub(crate) said: String,
    pub(crate) cite: &'a str,
    pub(crate) position: usize,
}

impl<'a> Reading<'a> {
    /// Reads the items in their order.
    pub(crate) fn of(items: impl Iterator<Item = &'a ContextItem>) -> Self {
        let mut reading = Self::default();
        let mut call = None;
        for (position, item) in items.enumerate() {
            let text = item.content();
            let seen = Seen { turn: turn(item), text, position };
            match role(item) {
                Some(Role::Question) => reading.question = Some((seen.turn, text)),
                Some(Role::Asked) => reading.asked.push(seen),
                Some(Role::Note) => reading.notes.push(seen),
                Some(Role::Call) => call = Call::parse(text),
                Some(Role::Output) => {
                    reading.passages_of(text, position);
                    reading.exchanges.extend(call.take().map(|call| (call, text, position)));
                }
                Some(Role::System | Role::Answer) => {}
                None => reading.passages_of(text, position),
            }
        }
        reading
    }

    fn passages_of(&mut self, text: &'a str, position: usize) {
        self.passages.extend(text.lines().filter_map(|whole| {
            let (cite, text) = whole.split_once(": ")?;
            // Other outputs have colons too.
            cite.rsplit_once(':')?.1.parse::<u64>().ok()?;
            Some(Passage { whole, cite, text, position })
        }));
    }

    /// The number that some passage gives for a quantity with these words.
    ///
    /// A constant's value is the surest. Otherwise it is the first number of a sentence that has
    /// all the words. Among equals the shortest passage says it most directly.
    pub(crate) fn value(&self, words: &[String]) -> Option<Fact<'a>> {
        let about = self.passages.iter().filter(|passage| has_all(passage.whole, words));
        let valued = about.filter_map(|passage| {
            let constant = constant(passage.text).map(|value| (0, value));
            let (rank, said) = constant.or_else(|| {
                let mut sentences = sentences(passage.text);
                let sentence = sentences.find(|sentence| has_all(sentence, words))?;
                Some((1, number(sentence)?))
            })?;
            Some(((rank, passage.text.len()), passage.fact(said)))
        });
        valued.min_by_key(|(rank, _)| *rank).map(|(_, fact)| fact)
    }

    /// The shortest sentence that has all these words.
    pub(crate) fn sentence(&self, words: &[String]) -> Option<Fact<'a>> {
        let all = self
            .passages
            .iter()
            .flat_map(|passage| sentences(passage.text).map(move |sentence| (sentence, passage)));
        let about = all.filter(|(sentence, _)| has_all(sentence, words));
        let (sentence, passage) = about.min_by_key(|(sentence, _)| sentence.len())?;
        Some(passage.fact(sentence.to_owned()))
    }

    /// The latest or the first result of an earlier turn that is in sight.
    pub(crate) fn result(&self, first: bool) -> Option<Seen<'a>> {
        let notes = self.notes.iter().copied();
        let note = if first {
            notes.min_by_key(|note| note.turn)
        } else {
            notes.max_by_key(|note| note.turn)
        }?;
        let (_, text) = note.text.rsplit_once(" = ")?;
        Some(Seen { text, ..note })
    }

    /// What a tool has answered to this call, if call and answer are in sight.
    pub(crate) fn output(&self, tool: Tool, argument: &str) -> Option<(&'a str, usize)> {
        let same = |call: &Call| call.tool == tool && call.argument == argument;
        let exchange = self.exchanges.iter().find(|(call, ..)| same(call));
        exchange.map(|(_, output, position)| (*output, *position))
    }
}

impl<'a> Passage<'a> {
    fn fact(&self, said: String) -> Fact<'a> {
        Fact { said, cite: self.cite, position: self.position }
    }
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
