//! Places where a text may be cut: between graphemes, and not inside an escape of a terminal.

use unicode_segmentation::GraphemeCursor;

/// The longest escape that is looked for, in bytes: titles and links are escapes too.
const LONGEST: usize = 1_024;

/// The last clean place up to `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    place(text, at, false)
}

/// The first clean place from `at` on.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    place(text, at, true)
}

fn place(text: &str, at: usize, later: bool) -> usize {
    let mut at = character(text, at, later);
    loop {
        let mut cursor = GraphemeCursor::new(at, text.len(), true);
        if !cursor.is_boundary(text, 0).unwrap_or(true) {
            at = match later {
                true => cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len()),
                false => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
            };
        }
        let from = character(text, at.saturating_sub(LONGEST), false);
        let to = character(text, at.saturating_add(LONGEST), true);
        let near = text.get(from..to).unwrap_or_default();
        let around = escapes(near).map(|(start, end)| (from + start, from + end));
        let mut around = around.take_while(|(start, _)| *start < at);
        let Some((start, end)) = around.find(|(_, end)| *end > at) else { return at };
        at = if later { end } else { start };
    }
}

/// The nearest start of a character.
pub(super) fn character(text: &str, at: usize, later: bool) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at = if later { at + 1 } else { at - 1 };
    }
    at
}

/// Appends a piece of a text, and ends the colours and links that it leaves open.
pub(super) fn push_closed(out: &mut String, piece: &str) {
    let (mut styled, mut linked) = (false, false);
    for (start, end) in escapes(piece) {
        let escape = piece.get(start + 1..end).unwrap_or_default();
        if let Some(style) = escape.strip_prefix('[').and_then(|rest| rest.strip_suffix('m')) {
            let last = style.rsplit(';').next().unwrap_or_default();
            styled = last.bytes().any(|digit| digit != b'0');
        } else if let Some(link) = escape.strip_prefix("]8;") {
            linked = link.split(';').nth(1).is_some_and(|to| !to.starts_with(['\x1b', '\x07']));
        }
    }
    // The closing escapes stand at the end of the piece, before the end of its last line.
    let ended = piece.trim_end_matches(['\n', '\r']);
    out.push_str(ended);
    if linked {
        out.push_str("\x1b]8;;\x1b\\");
    }
    if styled {
        out.push_str("\x1b[0m");
    }
    out.push_str(piece.get(ended.len()..).unwrap_or_default());
}

/// Byte ranges of the escapes in a text.
fn escapes(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.find('\x1b')?;
        at = start + length(text.get(start..)?);
        Some((start, at))
    })
}

/// The bytes of the escape that a text starts with. One that is not ended is two characters.
fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let short = 1 + text.chars().nth(1).map_or(0, char::len_utf8);
    let rest = bytes.iter().enumerate().take(LONGEST).skip(2);
    match bytes.get(1) {
        Some(b'[') => {
            for (at, byte) in rest {
                match byte {
                    b' '..=b'?' => {}
                    b'@'..=b'~' => return at + 1,
                    _ => return at,
                }
            }
            bytes.len().min(LONGEST)
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            for (at, byte) in rest {
                match (byte, bytes.get(at + 1)) {
                    (b'\x07', _) => return at + 1,
                    (b'\x1b', Some(b'\\')) => return at + 2,
                    (b'\x1b' | b'\n', _) => break,
                    _ => {}
                }
            }
            short
        }
        // A set of characters is chosen by two more.
        Some(b' '..=b'/') => short + text.chars().nth(2).map_or(0, char::len_utf8),
        _ => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_is_inside_an_escape_or_a_grapheme() {
        let escapes =
            ["\x1b[1;31m", "\x1b]0;a title\x07", "\x1b]8;;https://a.b/\x1b\\", "\x1b(B", "\x1b7"];
        for whole in escapes.into_iter().chain(["e\u{301}", "👩‍👩‍👧", "🇩🇪", "\r\n"])
        {
            let text = format!("ab{whole}cd");
            for at in 2..=2 + whole.len() {
                let inside = at > 2 && at < 2 + whole.len();
                let expected = if inside { (2, 2 + whole.len()) } else { (at, at) };
                assert_eq!((floor(&text, at), ceil(&text, at)), expected, "{whole:?} at {at}");
            }
        }
        // Nothing is lost where an escape does not end.
        let open = "\x1b]".to_owned() + &"x".repeat(5_000);
        assert_eq!((floor(&open, 900), floor(&open, 4_000)), (900, 4_000));
    }

    #[test]
    fn what_is_open_is_closed_before_the_end_of_the_line() {
        let closed = |piece: &str| {
            let mut out = String::new();
            push_closed(&mut out, piece);
            out
        };
        assert_eq!(closed("a \x1b[1;31mred\n"), "a \x1b[1;31mred\x1b[0m\n");
        let link = "\x1b]8;;https://a.b/\x1b\\text";
        assert_eq!(closed(link), format!("{link}\x1b]8;;\x1b\\"));
        for whole in [
            "plain",
            "\x1b[31mred\x1b[0m",
            "\x1b[31mred\x1b[m",
            "\x1b]8;;u\x07t\x1b]8;;\x07",
            "\x1b[2K",
        ] {
            assert_eq!(closed(whole), whole);
        }
    }
}
