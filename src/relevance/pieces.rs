//! Cuts a long text into pieces that each have a meaning of their own.

/// The mean of a long text's tokens is close to nothing in particular, so a text is as close to a
/// question as its best piece. About a hundred words.
const MOST_BYTES: usize = 600;

/// Longest part that is read from either end of a text, in bytes. Larger texts do not fit a window anyway.
const MOST_READ: usize = 128 << 10;

/// Cuts a text into pieces of about 600 bytes, for judges that embed; at least one.
///
/// Pieces end with a line, a sentence or a word where they can. Of a text above 256 KiB both ends are cut.
///
/// ```
/// use cupel::relevance::pieces;
///
/// assert_eq!(pieces("A short text."), ["A short text."]);
/// assert_eq!(pieces(&"One sentence of many. ".repeat(100)).len(), 4);
/// ```
#[must_use]
pub fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::with_capacity(text.len().min(2 * MOST_READ) / MOST_BYTES + 1);
    if text.len() <= 2 * MOST_READ {
        cut(text, &mut pieces);
    } else {
        cut(text.get(..boundary(text, MOST_READ)).unwrap_or_default(), &mut pieces);
        let end = boundary(text, text.len() - MOST_READ);
        cut(text.get(end..).unwrap_or_default(), &mut pieces);
    }
    pieces
}

fn cut<'a>(mut text: &'a str, pieces: &mut Vec<&'a str>) {
    // Of equal size, so that no last piece is a single word.
    let count = text.len().div_ceil(MOST_BYTES).max(1);
    for left in (2..=count).rev() {
        let at = end_of_piece(text, text.len() / left);
        let (piece, rest) = text.split_at(at);
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
}

/// End of the next piece, at most `most`: after a line, a sentence or a word if one ends in the second half.
fn end_of_piece(text: &str, most: usize) -> usize {
    let most = boundary(text, most);
    let piece = text.get(..most).unwrap_or_default();
    let behind = |end: &str| piece.rfind(end).map(|at| at + end.len()).filter(|at| *at > most / 2);
    ["\n", ". ", " "].iter().find_map(|end| behind(end)).unwrap_or(most)
}

/// The last character boundary up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        let long = "Wörter und Sätze. Noch einer.\n".repeat(300);
        for text in ["", "short", "äöü", &long, &"x".repeat(5_000), &"日本語".repeat(900)] {
            let pieces = pieces(text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| piece.len() <= 2 * MOST_BYTES), "{pieces:?}");
            assert!(pieces.len() == 1 || pieces.iter().all(|piece| !piece.is_empty()));
        }
    }

    #[test]
    fn a_text_of_megabytes_is_read_from_both_ends() {
        let text = format!("first {} last", "word ".repeat(1 << 20));
        let pieces = pieces(&text);
        assert!(pieces.len() < 1_000 && pieces.iter().map(|p| p.len()).sum::<usize>() < 300_000);
        assert!(pieces[0].starts_with("first") && pieces[pieces.len() - 1].ends_with("last"));
    }

    #[test]
    fn pieces_end_with_lines_or_sentences() {
        let text = "One sentence of some words. ".repeat(50);
        assert!(pieces(&text).iter().all(|piece| piece.ends_with(". ")));
    }
}
