//! Outcomes of the replayed calls.

use std::fmt;
use std::process::ExitCode;

use crate::local_server::{Arrived, LocalServer, messages, tokens};

/// Messages of the APIs for a request that exceeds the window.
const OVER: [&str; 3] = ["maximum context length", "exceed context limit", "prompt is too long"];

/// Outcome of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server took it.
    Taken,
    /// The parts that are always sent exceed the window, so nothing was sent.
    NoRoom,
    /// The server did not take it, for this reason.
    RefusedItem(String),
    /// The server counted more tokens than its window has.
    Over(String),
    /// The server took it, but counted more tokens than the selection.
    Low(String),
    /// Something else went wrong before the server saw it.
    Failed(String),
    Panicked(String),
}

impl Outcome {
    /// Outcome of the call that arrived last, with the tokens counted before it was sent; none if
    /// nothing arrived.
    pub fn of_last(server: &LocalServer, counted: i64) -> Option<Self> {
        Some(Self::of_arrived(&server.take_arrived().pop()?, counted))
    }

    /// Outcome of a call, with the tokens counted before it was sent.
    pub fn of_arrived(arrived: &Arrived, counted: i64) -> Self {
        let outcome = Self::of(arrived.refused.clone());
        let tokens = tokens(arrived);
        if outcome == Self::Taken && tokens > counted {
            return Self::Low(format!("{tokens} tokens arrived, {counted} were counted"));
        }
        outcome
    }

    /// By the reason for which the server refused a call, if it did.
    pub fn of(refused: Option<String>) -> Self {
        match refused {
            None => Self::Taken,
            Some(why) if OVER.iter().any(|words| why.contains(words)) => Self::Over(why),
            Some(why) => Self::RefusedItem(why),
        }
    }
}

/// The tokens of a request, as the server counts them.
pub fn tokens(arrived: &Arrived) -> i64 {
    let json = serde_json::from_slice(&arrived.body).unwrap_or_default();
    match arrived.path.as_str() {
        "/chat/completions" => tokens::chat(&json),
        "/messages" => messages::count::request(&json),
        _ => tokens::response(&json),
    }
}

/// The calls of one window.
#[derive(Debug, Default)]
pub struct Tally {
    calls: usize,
    no_room: usize,
    refused: usize,
    over: usize,
    low: usize,
    failed: usize,
    panics: usize,
    /// The first few calls that went wrong.
    examples: Vec<String>,
}

const EXAMPLES: usize = 5;

impl Tally {
    pub fn add(&mut self, call: impl fmt::Display, outcome: Outcome) {
        self.calls += 1;
        let (counter, why) = match outcome {
            Outcome::Taken => return,
            Outcome::NoRoom => {
                self.no_room += 1;
                return;
            }
            Outcome::RefusedItem(why) => (&mut self.refused, why),
            Outcome::Over(why) => (&mut self.over, why),
            Outcome::Low(why) => (&mut self.low, why),
            Outcome::Failed(why) => (&mut self.failed, why),
            Outcome::Panicked(why) => (&mut self.panics, why),
        };
        *counter += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{call}: {why}"));
        }
    }

    fn is_clean(&self) -> bool {
        self.refused + self.over + self.low + self.failed + self.panics == 0
    }
}

/// One tally for each way and window.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<(&'static str, i64, Tally)>,
}

impl Report {
    pub fn add(&mut self, way: &'static str, window: i64, tally: Tally) {
        self.rows.push((way, window, tally));
    }

    /// Success when nothing was refused, nothing was over the window or counted too low, and nothing panicked.
    pub fn exit_code(&self) -> ExitCode {
        if self.rows.iter().all(|(_, _, tally)| tally.is_clean()) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| way | window | calls | refused | over the window | counted too low | failed | panics | no room |"
        )?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        for (way, window, tally) in &self.rows {
            let Tally { calls, no_room, refused, over, low, failed, panics, .. } = tally;
            writeln!(
                f,
                "| {way} | {window} | {calls} | {refused} | {over} | {low} | {failed} | {panics} | {no_room} |"
            )?;
        }
        let examples = self.rows.iter().flat_map(|(_, _, tally)| &tally.examples);
        examples.into_iter().try_for_each(|example| writeln!(f, "{example}"))
    }
}
