//! Takes a user's question apart: what is to be computed, looked up or remembered.

use super::words::words;

/// One thing a question wants to know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Want {
    /// "What is …" with something to compute in it.
    Value(Vec<Piece>),
    /// Anything else that is asked: a sentence that has all these words.
    Sentence(Vec<String>),
    /// "Tell me about …"
    Search(String),
    /// "What did I ask first?"
    FirstQuestion,
    /// Nothing is asked: something to remember.
    Nothing,
}

/// A part of a formula in words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// A number, a bracket or an operator, as the calculator writes it.
    Literal(String),
    /// "that": the latest result.
    LastResult,
    /// A quantity with a name, to be looked up.
    Named(String),
}

/// Spoken forms of the operators.
const SPOKEN: [(&str, &str); 4] =
    [(" divided by ", " / "), (" plus ", " + "), (" minus ", " - "), (" times ", " * ")];

/// Beginning of a question about a value.
const WHAT_IS: &str = "what is ";

/// Beginning of a request for passages.
const TELL: &str = "Tell me about ";

/// All that a user's message wants to know, in its order.
pub(crate) fn wants(said: &str) -> Vec<Want> {
    if let Some(about) = said.strip_prefix(TELL) {
        let things = about.trim_end_matches('.').split(", ").flat_map(|part| part.split(" and "));
        return things.map(|thing| Want::Search(thing.to_owned())).collect();
    }
    if !said.contains('?') {
        return vec![Want::Nothing];
    }
    let said = said.trim_start_matches("Once more: ");
    let parts = said.split('?').map(|part| part.trim().trim_start_matches("And "));
    parts.filter(|part| !part.is_empty()).map(want).collect()
}

fn want(part: &str) -> Want {
    let lower = part.to_lowercase();
    if lower.contains("did i ask first") {
        return Want::FirstQuestion;
    }
    if let Some(formula) = part.get(WHAT_IS.len()..).filter(|_| lower.starts_with(WHAT_IS)) {
        let pieces = pieces(formula);
        if pieces.iter().any(|piece| matches!(piece, Piece::Literal(_))) {
            return Want::Value(pieces);
        }
    }
    Want::Sentence(words(part))
}

fn pieces(formula: &str) -> Vec<Piece> {
    // Commas only help the reader; spaces around brackets help the loop below.
    let mut formula = format!(" {formula} ").replace(',', "");
    for (spoken, written) in SPOKEN {
        formula = formula.replace(spoken, written);
    }
    let formula = formula.replace('(', " ( ").replace(')', " ) ");
    let mut pieces = Vec::new();
    let mut name: Vec<&str> = Vec::new();
    for token in formula.split_whitespace() {
        let is_literal = token.chars().all(|c| c.is_ascii_digit() || "+-*/%^().".contains(c));
        if is_literal {
            pieces.extend(named(&std::mem::take(&mut name)));
            pieces.push(Piece::Literal(token.to_owned()));
        } else {
            name.push(token);
        }
    }
    pieces.extend(named(&name));
    pieces
}

fn named(name: &[&str]) -> Option<Piece> {
    match name {
        [] => None,
        ["that"] => Some(Piece::LastResult),
        ["the", rest @ ..] | rest => Some(Piece::Named(rest.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Want, wants};

    #[test]
    fn a_formula_in_words_becomes_pieces() {
        let literal = |text: &str| Piece::Literal(text.to_owned());
        let named = |text: &str| Piece::Named(text.to_owned());
        assert_eq!(
            wants("What is (the item limit plus 1) divided by 64, minus that? And what is 2 ^ 3?"),
            [
                Want::Value(vec![
                    literal("("),
                    named("item limit"),
                    literal("+"),
                    literal("1"),
                    literal(")"),
                    literal("/"),
                    literal("64"),
                    literal("-"),
                    Piece::LastResult,
                ]),
                Want::Value(vec![literal("2"), literal("^"), literal("3")]),
            ],
        );
    }

    #[test]
    fn other_questions_are_looked_up_by_their_words() {
        let expected = ["rust", "version", "minimum"].map(str::to_owned).to_vec();
        assert_eq!(wants("Which Rust version is the minimum?"), [Want::Sentence(expected)]);
        assert_eq!(wants("What did I ask first?"), [Want::FirstQuestion]);
        assert_eq!(wants("The limit is 3."), [Want::Nothing]);
        let things = ["a", "b", "c"].map(|thing| Want::Search(thing.to_owned()));
        assert_eq!(wants("Tell me about a, b and c."), things);
    }
}
