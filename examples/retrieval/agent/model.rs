//! A model that runs in the process: it plans by rules, and from nothing but the messages it is sent.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use cupel_json::JsonBody;
use serde_json::Value;
use tower::Service;

use super::question::{Piece, Want, wants};
use super::reading::{Fact, Reading};
use super::sight::Sight;
use super::tools::{Call, Tool};
use super::words::words;

/// Request that the model got, and its reply.
pub(crate) struct Heard {
    pub(crate) messages: Vec<Value>,
    pub(crate) sight: Sight,
    pub(crate) reply: Reply,
}

/// Reply of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) says: Says,
    /// The entries of its sight that the reply rests on.
    pub(crate) rests_on: Vec<usize>,
}

/// A reply is a call or an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Says {
    Call(Call),
    Answer(String),
}

/// The model. It remembers nothing from call to call: what was not sent, it does not know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model;

impl Service<JsonBody> for Model {
    type Response = Heard;
    type Error = Infallible;
    type Future = Ready<Result<Heard, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, body: JsonBody) -> Self::Future {
        let messages = body.messages().filter_map(|json| serde_json::from_str(json).ok());
        let messages: Vec<Value> = messages.collect();
        let sight = Sight::of(&messages);
        let reply = Self::reply(&sight);
        ready(Ok(Heard { messages, sight, reply }))
    }
}

/// Reason why there is no answer yet.
enum Gap {
    /// A tool may know.
    Ask(Call),
    /// Nobody knows, as this entry says, if there is one.
    Unknown(String, Option<usize>),
}

/// A sentence of the answer, with the entries it rests on.
type Sentence = (String, Vec<usize>);

impl Model {
    /// Answers when the messages hold all that is wanted; otherwise calls a tool for the first gap.
    pub(crate) fn reply(sight: &Sight) -> Reply {
        let reading = Reading::of(sight);
        let (mut answer, mut rests_on) = (Vec::new(), Vec::new());
        for want in wants(&sight.question) {
            let sentence = match want {
                Want::Value(pieces) => value(&reading, &pieces),
                Want::Sentence(words) => sentence(&reading, &words),
                Want::Search(about) => search(&reading, &about),
                Want::FirstQuestion => Ok(first_question(&reading)),
                Want::Nothing => Ok(("Noted.".to_owned(), Vec::new())),
            };
            let (text, from) = match sentence {
                Ok(sentence) => sentence,
                Err(Gap::Unknown(text, from)) => (text, from.into_iter().collect()),
                Err(Gap::Ask(call)) => {
                    return Reply { says: Says::Call(call), rests_on: Vec::new() };
                }
            };
            answer.push(text);
            rests_on.extend(from);
        }
        Reply { says: Says::Answer(answer.join(" ")), rests_on }
    }
}

/// Looks up every name of the formula, then has it computed.
fn value(reading: &Reading<'_>, pieces: &[Piece]) -> Result<Sentence, Gap> {
    let mut expression = String::new();
    let (mut sentences, mut rests_on) = (Vec::new(), Vec::new());
    for piece in pieces {
        let said = match piece {
            Piece::Literal(text) => text.clone(),
            Piece::LastResult => {
                let missing = || Gap::Unknown("I see no result to go on from.".to_owned(), None);
                let (said, entry) = reading.last_result().ok_or_else(missing)?;
                rests_on.push(entry);
                said.to_owned()
            }
            Piece::Named(name) => {
                let fact = look_up(reading, name, Reading::value)?;
                sentences.push(format!("The {name} is {} [{}].", fact.said, fact.cite));
                rests_on.push(fact.entry);
                fact.said
            }
        };
        expression.push_str(&said);
        expression.push(' ');
    }
    let argument = expression.replace("( ", "(").replace(" )", ")").trim().to_owned();
    let call = Call { tool: Tool::Calculator, argument };
    let Some((output, entry)) = reading.output(&call) else {
        return Err(Gap::Ask(call));
    };
    rests_on.push(entry);
    sentences.push(match output.strip_prefix("error: ") {
        Some(error) => format!("{} has no value: {error}.", call.argument),
        None => format!("{} = {output}.", call.argument),
    });
    Ok((sentences.join(" "), rests_on))
}

/// A sentence of the context, word for word.
fn sentence(reading: &Reading<'_>, words: &[String]) -> Result<Sentence, Gap> {
    let fact = look_up(reading, &words.join(" "), Reading::sentence)?;
    Ok((format!("\"{}\" [{}]", fact.said, fact.cite), vec![fact.entry]))
}

/// Returns the fact about a name in the context, or the search for it if it has not been tried.
fn look_up<'a>(
    reading: &Reading<'a>,
    name: &str,
    find: fn(&Reading<'a>, &[String]) -> Option<Fact<'a>>,
) -> Result<Fact<'a>, Gap> {
    if let Some(fact) = find(reading, &words(name)) {
        return Ok(fact);
    }
    let (_, entry) = searched(reading, name)?;
    let text = format!("I cannot tell: nothing I see says it, and I searched for \"{name}\".");
    Err(Gap::Unknown(text, Some(entry)))
}

/// Returns the number of passages that a search found, and the first one.
fn search(reading: &Reading<'_>, about: &str) -> Result<Sentence, Gap> {
    let (output, entry) = searched(reading, about)?;
    let Some(first) = reading.passage(entry) else {
        return Err(Gap::Unknown(format!("Nothing about {about}: {output}."), Some(entry)));
    };
    let count = output.lines().count();
    let text =
        format!("{count} passages have {about}; one says: \"{}\" [{}]", first.said, first.cite);
    Ok((text, vec![entry]))
}

/// The output of a search; or that search, if it is not in sight.
fn searched<'a>(reading: &Reading<'a>, words: &str) -> Result<(&'a str, usize), Gap> {
    let call = Call { tool: Tool::SearchFiles, argument: words.to_owned() };
    reading.output(&call).ok_or(Gap::Ask(call))
}

/// Answers with the first question in the request. Earlier ones may have been left out.
fn first_question(reading: &Reading<'_>) -> Sentence {
    match reading.first_question() {
        None => ("I see no question before this one.".to_owned(), Vec::new()),
        Some((text, entry)) => {
            (format!("The first question that I can see is: \"{text}\""), vec![entry])
        }
    }
}
