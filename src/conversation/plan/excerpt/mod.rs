//! A long result as an excerpt: its head, its end, and lines that look like errors.

mod json;
mod lines;
mod mark;

use mark::Mark;

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
    /// What is sent in its place.
    pub text: String,
    /// The tokens of that.
    pub tokens: i64,
}

/// How often a text is made shorter until it fits.
const TRIES: usize = 12;

impl Excerpt {
    /// At most `limit` tokens of a text, cut where lines or values end. `hash` puts a hash of the
    /// whole into the mark. Equal texts and limits give equal excerpts.
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
        let is_json = json::is_value(text);
        let mut bytes = bytes_for(text, total, limit.saturating_sub(count(&mark.write(0))));
        for _ in 0..TRIES {
            if bytes == 0 {
                break;
            }
            let json = if is_json { json::excerpt(text, bytes, &mark, &count) } else { None };
            let text = json.unwrap_or_else(|| lines::excerpt(text, bytes, is_json, &mark, &count));
            let tokens = count(&text);
            if tokens <= limit {
                return Self { text, tokens };
            }
            // A tenth less than what would fit if all of it cost the same.
            let fits = bytes as f64 * (limit.max(0) as f64 / tokens as f64) * 0.9;
            bytes = (fits as usize).min(bytes - 1);
        }
        // Not even that much: the mark alone, or less.
        let shorter = [mark.write(0), "[…]".to_owned(), String::new()];
        let fitting = shorter.into_iter().map(|text| (count(&text), text));
        let mut fitting = fitting.filter(|(tokens, _)| *tokens <= limit);
        let (tokens, text) = fitting.next().unwrap_or_default();
        Self { text, tokens }
    }
}

/// About how many bytes of a text are so many tokens.
fn bytes_for(text: &str, total: i64, tokens: i64) -> usize {
    let share = tokens.max(0) as f64 / total.max(1) as f64;
    (text.len() as f64 * share) as usize
}
