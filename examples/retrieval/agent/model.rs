//! A model that runs in the process: it plans by rules, and from nothing but the request's items.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use cupel::layer::ContextRequest;
use tower::Service;

use super::history::Turn;
use super::question::{Piece, Want, wants};
use super::reading::{Fact, Reading};
use super::tools::{Call, Tool};
use super::words::words;

/// What the model replies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) says: Says,
    /// Positions of the request's items the reply rests on.
    pub(crate) quotes: Vec<usize>,
}

/// A reply is a call or an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Says {
    Call(Call),
    Answer(String),
}

/// The model. It never looks at the payload: what was not selected, it does not know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model;

impl Service<ContextRequest<Turn>> for Model {
    type Response = Reply;
    type Error = Infallible;
    type Future = Ready<Result<Reply, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ContextRequest<Turn>) -> Self::Future {
        ready(Ok(Self::reply(&request)))
    }
}

/// What stands in the way of an answer.
enum Gap {
    /// A tool may know.
    Ask(Call),
    /// Nobody knows, as the item at this position says, if there is one.
    Unknown(String, Option<usize>),
}

/// A sentence of the answer, with the positions it rests on.
type Sentence = (String, Vec<usize>);

impl Model {
    /// Answers when the items hold all that is wanted; otherwise calls a tool for the first gap.
    pub(crate) fn reply(request: &ContextRequest<Turn>) -> Reply {
        let reading = Reading::of(request.items());
        let Some((_, question)) = reading.question else {
            let says = Says::Answer("I was not given a question.".to_owned());
            return Reply { says, quotes: Vec::new() };
        };
        let (mut answer, mut quotes) = (Vec::new(), Vec::new());
        for want in wants(question) {
            let sentence = match want {
                Want::Value(pieces) => value(&reading, &pieces),
                Want::Sentence(words) => sentence(&reading, &words),
                Want::FirstQuestion => Ok(first_question(&reading)),
            };
            let (text, from) = match sentence {
                Ok(sentence) => sentence,
                Err(Gap::Unknown(text, from)) => (text, from.into_iter().collect()),
                Err(Gap::Ask(call)) => return Reply { says: Says::Call(call), quotes: Vec::new() },
            };
            answer.push(text);
            quotes.extend(from);
        }
        Reply { says: Says::Answer(answer.join(" ")), quotes }
    }
}

/// Looks up every name of the formula, then has it computed.
fn value(reading: &Reading<'_>, pieces: &[Piece]) -> Result<Sentence, Gap> {
    let mut expression = String::new();
    let (mut given, mut quotes) = (Vec::new(), Vec::new());
    for piece in pieces {
        let (name, fact, at) = match piece {
            Piece::Literal(text) => {
                expression.push_str(text);
                expression.push(' ');
                continue;
            }
            Piece::LastResult => past(reading, "that", false)?,
            Piece::FirstResult => past(reading, "the first result", true)?,
            Piece::Named(name) => {
                let fact = look_up(reading, name, Reading::value)?;
                let cite = fact.cite.to_owned();
                (format!("the {name}"), fact, cite)
            }
        };
        expression.push_str(&fact.said);
        expression.push(' ');
        given.push(format!("{name} is {} [{at}]", fact.said));
        quotes.push(fact.position);
    }
    let expression = expression.replace("( ", "(").replace(" )", ")").trim().to_owned();
    let Some((output, position)) = reading.output(Tool::Calculator, &expression) else {
        return Err(Gap::Ask(Call { tool: Tool::Calculator, argument: expression }));
    };
    quotes.push(position);
    given.push(match output.strip_prefix("error: ") {
        Some(error) => format!("{expression} has no value: {error}"),
        None => format!("{expression} = {output}"),
    });
    Ok((format!("{}.", capitalised(&given.join(", "))), quotes))
}

/// A result of an earlier turn.
fn past<'a>(
    reading: &Reading<'a>,
    name: &str,
    first: bool,
) -> Result<(String, Fact<'a>, String), Gap> {
    let Some(seen) = reading.result(first) else {
        return Err(Gap::Unknown(format!("I was given no result to take for \"{name}\"."), None));
    };
    let fact = Fact { said: seen.text.to_owned(), cite: "", position: seen.position };
    Ok((name.to_owned(), fact, format!("turn {}", seen.turn)))
}

/// A sentence of the documentation, word for word.
fn sentence(reading: &Reading<'_>, words: &[String]) -> Result<Sentence, Gap> {
    let fact = look_up(reading, &words.join(" "), Reading::sentence)?;
    Ok((format!("\"{}\" [{}]", fact.said, fact.cite), vec![fact.position]))
}

/// What the context says about a name; or the search for it, if that has not been tried.
fn look_up<'a>(
    reading: &Reading<'a>,
    name: &str,
    find: fn(&Reading<'a>, &[String]) -> Option<Fact<'a>>,
) -> Result<Fact<'a>, Gap> {
    if let Some(fact) = find(reading, &words(name)) {
        return Ok(fact);
    }
    Err(match reading.output(Tool::SearchFiles, name) {
        None => Gap::Ask(Call { tool: Tool::SearchFiles, argument: name.to_owned() }),
        Some((_, position)) => {
            let text = format!("The documentation does not say: I searched it for \"{name}\".");
            Gap::Unknown(text, Some(position))
        }
    })
}

/// The earliest question in sight, and which are not.
fn first_question(reading: &Reading<'_>) -> Sentence {
    let now = reading.question.map_or(1, |(turn, _)| turn);
    match reading.asked.iter().min_by_key(|asked| asked.turn) {
        None => (format!("I see no question before turn {now}."), Vec::new()),
        Some(asked) if asked.turn == 1 => (format!("\"{}\"", asked.text), vec![asked.position]),
        Some(asked) => {
            let missing = match asked.turn - 1 {
                1 => "turn 1 is".to_owned(),
                last => format!("turns 1 to {last} are"),
            };
            let text = format!(
                "I cannot tell: {missing} not in my context. The earliest I see is turn {}: \"{}\"",
                asked.turn, asked.text,
            );
            (text, vec![asked.position])
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}
