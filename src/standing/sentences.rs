//! Sentences of a paragraph, and their words as the lists of forms have them.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::paragraphs::Paragraph;

/// Endings with a point that end no sentence.
const ABBREVIATIONS: [&str; 16] = [
    "e.g.", "i.e.", "z.b.", "etc.", "vs.", "dr.", "mr.", "mrs.", "ca.", "bzw.", "d.h.", "p.ej.",
    "ej.", "no.", "nr.", "approx.",
];
/// A shorter line is not wrapped: it ends its sentence.
const WRAPPED: usize = 50;

/// Ranges of a paragraph's sentences.
pub(super) fn sentences(text: &str, paragraph: &Paragraph) -> Vec<Range<usize>> {
    let Some(own) = text.get(paragraph.range.clone()) else { return Vec::new() };
    let base = paragraph.range.start;
    let mut found = Vec::new();
    let mut push = |from: usize, to: usize| {
        let Some(raw) = own.get(from..to) else { return };
        let start = from + (raw.len() - raw.trim_start().len());
        let end = from + raw.trim_end().len();
        if start < end {
            found.push(base + start..base + end);
        }
    };
    let (mut from, mut line) = (0, 0);
    let mut chars = own.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' => {
                let length = at - line;
                line = end;
                let rest = own.get(end..).unwrap_or_default().trim_start();
                length < WRAPPED || rest.starts_with(char::is_uppercase)
            }
            '.' | '!' | '?' | '…' | '。' => {
                let closed =
                    next.is_none_or(|next| next.is_whitespace() || "\"”“»')*_".contains(next));
                closed && !is_abbreviation(own.get(from..end).unwrap_or_default())
            }
            _ => false,
        };
        if ends {
            // Marks that close what the sentence is in belong to it.
            let mut to = end;
            while let Some((at, c)) = chars.next_if(|(_, c)| "\"”“»')*_.!?".contains(*c)) {
                to = at + c.len_utf8();
            }
            push(from, to);
            from = to;
        }
    }
    push(from, own.len());
    found
}

fn is_abbreviation(sentence: &str) -> bool {
    let word = sentence.split_whitespace().next_back().unwrap_or_default();
    let word = word.trim_start_matches(['(', '"', '\'']).to_lowercase();
    ABBREVIATIONS.contains(&&*word)
}

/// Words of a sentence in lower case, without accents, with a space on each side of each. Commas and
/// colons are words; what is quoted or code is one word that no form has.
pub(super) fn folded(text: &str, range: Range<usize>, quoted: &[Range<usize>]) -> String {
    let mut words = String::with_capacity(range.len() + 8);
    words.push(' ');
    let mut word = String::new();
    let mut in_code = false;
    let mut push = |word: &mut String| {
        if let Some(split) = elided(word) {
            let rest = word.split_off(split);
            words.push_str(word);
            words.push(' ');
            *word = rest;
        }
        let plain = word.trim_matches(['.', '\'']);
        let plain = if word.ends_with('\'') { &**word } else { plain };
        if !plain.is_empty() {
            words.push_str(plain);
            words.push(' ');
        }
        word.clear();
    };
    let sentence = text.get(range.clone()).unwrap_or_default();
    for (at, c) in sentence.char_indices() {
        let at = range.start + at;
        if c == '`' {
            in_code = !in_code;
            push(&mut word);
            word.push('`');
            continue;
        }
        if in_code || quoted.iter().any(|quote| quote.contains(&at)) {
            push(&mut word);
            word.push('`');
            continue;
        }
        match c {
            '’' | '\'' | '´' => word.push('\''),
            '.' => word.push('.'),
            ',' | ':' | ';' | '(' | ')' | '–' | '—' | '\n' => {
                push(&mut word);
                if c != '\n' {
                    word.push(if c == ':' { ':' } else { ',' });
                    push(&mut word);
                }
            }
            c if c.is_alphanumeric() || c == '_' => word.extend(plain(c)),
            _ => push(&mut word),
        }
    }
    push(&mut word);
    words
}

/// A letter in lower case, without its accent.
fn plain(c: char) -> impl Iterator<Item = char> {
    let is_mark = |c: &char| !('\u{300}'..='\u{36f}').contains(c);
    c.nfd().filter(is_mark).flat_map(char::to_lowercase)
}

/// Position behind the apostrophe of a French word that lost its vowel: `n'utilise`.
fn elided(word: &str) -> Option<usize> {
    let (before, behind) = word.split_once('\'')?;
    let is_elided =
        ["n", "l", "d", "j", "t", "s", "m", "c", "qu", "lorsqu", "jusqu"].contains(&before);
    (is_elided && behind.chars().count() >= 2).then_some(before.len() + 1)
}
