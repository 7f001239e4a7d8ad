//! What came of the replayed calls.

use std::fmt;
use std::process::ExitCode;

/// What came of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server took it.
    Taken,
    /// What is always sent alone exceeds the window, so nothing was sent.
    NoRoom,
    /// The server did not take it, for this reason.
    Refused(String),
    /// The server counted more tokens than its window has.
    Over(String),
    /// Something else went wrong before the server saw it.
    Failed(String),
    Panicked(String),
}

impl Outcome {
    /// By the reason for which the server refused a call, if it did.
    pub fn of(refused: Option<String>) -> Self {
        match refused {
            None => Self::Taken,
            Some(why) if why.contains("maximum context length") => Self::Over(why),
            Some(why) => Self::Refused(why),
        }
    }
}

/// The calls of one window.
#[derive(Debug, Default)]
pub struct Tally {
    calls: usize,
    no_room: usize,
    refused: usize,
    over: usize,
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
            Outcome::Refused(why) => (&mut self.refused, why),
            Outcome::Over(why) => (&mut self.over, why),
            Outcome::Failed(why) => (&mut self.failed, why),
            Outcome::Panicked(why) => (&mut self.panics, why),
        };
        *counter += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{call}: {why}"));
        }
    }

    fn is_clean(&self) -> bool {
        self.refused + self.over + self.failed + self.panics == 0
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

    /// Success when nothing was refused, nothing was over the window and nothing panicked.
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
            "| way | window | calls | refused | over the window | failed | panics | no room |"
        )?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        for (way, window, tally) in &self.rows {
            let Tally { calls, no_room, refused, over, failed, panics, .. } = tally;
            writeln!(
                f,
                "| {way} | {window} | {calls} | {refused} | {over} | {failed} | {panics} | {no_room} |"
            )?;
        }
        let examples = self.rows.iter().flat_map(|(_, _, tally)| &tally.examples);
        examples.into_iter().try_for_each(|example| writeln!(f, "{example}"))
    }
}
