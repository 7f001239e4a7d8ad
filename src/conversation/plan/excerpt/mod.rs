//! A long result as an excerpt: its head, its end, and what tells most between them.

mod cut;
mod json;
mod lines;
mod mark;
mod scan;
mod string;
mod telling;

use mark::{Mark, Notes};
use scan::Json;
use telling::TellingLines;

/// A result that stands for a longer one.
///
/// ```
/// use cupel::conversation::plan::Excerpt;
/// use cupel::tokens::{HeuristicCounter, TokenCounter};
///
/// let log: String = (0..5_000).map(|line| format!("{line}: all is well\n")).collect();
/// let excerpt = Excerpt::of(&log, 200, false, &HeuristicCounter);
/// assert!(excerpt.tokens <= 200);
/// assert!(excerpt.text.starts_with("0: all is well\n"));
/// assert!(excerpt.text.contains("tokens left out …]"));
/// assert!(excerpt.text.ends_with("4999: all is well\n"));
/// assert_eq!(excerpt, Excerpt::of(&log, 200, false, &HeuristicCounter));
/// # let _: &dyn TokenCounter = &HeuristicCounter;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Excerpt {
    /// Text in the place of the result.
    pub text: String,
    /// Tokens of the text.
    pub tokens: i64,
}

/// Most attempts to shorten a text until it fits.
const TRIES: usize = 12;

impl Excerpt {
    /// At most `limit` tokens of a text. `hash` puts a hash of the whole into the mark. Equal texts,
    /// limits and counters give equal excerpts.
    ///
    /// JSON stays JSON: long lists and objects keep their first and last children, long strings are cut,
    /// and a note says how much is missing where it is missing. Other texts keep whole lines: the first,
    /// the last, and between them those that look like errors, the headers and first changes of diffs,
    /// the first and last frames of stack traces, and definitions in source code. Graphemes and escapes
    /// of terminals stay whole, and what escapes leave open is closed.
    ///
    /// A limit below the length of the mark gives a shorter note, `…` at least. The text is blank only
    /// where that does not fit.
    #[must_use]
    pub fn of(
        text: &str,
        limit: i64,
        hash: bool,
        counter: &dyn crate::tokens::TokenCounter,
    ) -> Self {
        let count = |text: &str| counter.count(text).max(0);
        let total = count(text);
        if total <= limit {
            return Self { text: text.to_owned(), tokens: total };
        }
        let mark = Mark::new(text, total, hash);
        let alone = mark.write(0, "");
        let marked = count(&alone);
        let mut bytes = bytes_for(text, total, limit.saturating_sub(marked));
        let source = ExcerptSource::new(text, bytes);
        for _ in 0..TRIES {
            if bytes == 0 {
                break;
            }
            let text = source.write(bytes, &mut Notes::new(&mark, 0));
            let shown = count(&text).saturating_sub(marked);
            let text = source.write(bytes, &mut Notes::new(&mark, shown));
            let tokens = count(&text);
            if tokens <= limit {
                return Self { text, tokens };
            }
            // A little less than what would fit if all of it cost the same.
            let fits = bytes as f64 * (limit.max(0) as f64 / tokens as f64) * 0.95;
            bytes = (fits as usize).min(bytes - 1);
        }
        source.smallest([alone, mark.without_hash()], limit, &count)
    }
}

/// A text as what it is.
enum ExcerptSource<'a> {
    Json(Json<'a>),
    Lines(TellingLines<'a>),
}

impl<'a> ExcerptSource<'a> {
    fn new(text: &'a str, bytes: usize) -> Self {
        let json = Json::parse(text).map(Self::Json);
        json.unwrap_or_else(|| Self::Lines(TellingLines::new(text, bytes)))
    }

    fn write(&self, bytes: usize, notes: &mut Notes<'_>) -> String {
        match self {
            Self::Json(json) => json::write(json, bytes, 0, notes),
            Self::Lines(telling) => lines::write(telling, bytes, notes),
        }
    }

    /// The first of these marks that fits, or less.
    fn smallest(&self, marks: [String; 2], limit: i64, count: &dyn Fn(&str) -> i64) -> Excerpt {
        let mut notes = Vec::from(marks);
        match self {
            Self::Json(json) => {
                notes.push("…".to_owned());
                notes.iter_mut().for_each(|note| *note = json::note(json, note));
                notes.push("\"…\"".to_owned());
            }
            Self::Lines(_) => notes.push("[…]".to_owned()),
        }
        notes.push("…".to_owned());
        let mut notes = notes.into_iter().map(|text| Excerpt { tokens: count(&text), text });
        let blank = Excerpt { text: String::new(), tokens: 0 };
        notes.find(|note| note.tokens <= limit).unwrap_or(blank)
    }
}

/// About how many bytes of a text are so many tokens.
fn bytes_for(text: &str, total: i64, tokens: i64) -> usize {
    let share = tokens.max(0) as f64 / total.max(1) as f64;
    (text.len() as f64 * share) as usize
}
