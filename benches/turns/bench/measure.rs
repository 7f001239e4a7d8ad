//! Measurements over the calls of a session that had to be trimmed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cache::{Breakpoints, Rendered};
use crate::check;
use crate::messages::{self, cache::Blocks};
use crate::session::{Session, text_of, tokens_of};
use crate::ways::{ANSWER, Sent};

/// Sums over calls; the measures are their quotients.
#[derive(Default, Clone)]
pub struct Sums {
    calls: f64,
    same_bytes: f64,
    bytes: f64,
    pub cost: f64,
    pub cost_at_markers: f64,
    fill: f64,
    holes: f64,
    loops: f64,
    replied: f64,
    replied_fits: f64,
    arguments: f64,
    arguments_found: f64,
    invalid: f64,
    pub impossible: f64,
}

impl Sums {
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.same_bytes += other.same_bytes;
        self.bytes += other.bytes;
        self.cost += other.cost;
        self.cost_at_markers += other.cost_at_markers;
        self.fill += other.fill;
        self.holes += other.holes;
        self.loops += other.loops;
        self.replied += other.replied;
        self.replied_fits += other.replied_fits;
        self.arguments += other.arguments;
        self.arguments_found += other.arguments_found;
        self.invalid += other.invalid;
        self.impossible += other.impossible;
    }

    /// Name and value of every measure; costs beside those of `newest`.
    pub fn measures(&self, newest: &Self) -> Vec<(&'static str, f64)> {
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 1.0 };
        let mut measures = vec![
            ("calls", self.calls),
            ("prefix", share(self.same_bytes, self.bytes)),
            ("cost", share(self.cost, newest.cost)),
            ("cost-breakpoints", share(self.cost_at_markers, newest.cost_at_markers)),
            ("fill", share(self.fill, self.calls)),
            ("holes", self.holes / self.calls.max(1.0)),
            ("loop", self.loops / self.calls.max(1.0)),
            ("replied", share(self.replied, self.replied_fits)),
            ("arguments", share(self.arguments_found, self.arguments)),
            ("invalid", self.invalid),
            ("impossible", self.impossible),
        ];
        // Of a provider that has only its own rules.
        if newest.calls > 0.0 && newest.cost_at_markers == 0.0 {
            measures.retain(|(name, _)| *name != "cost-breakpoints");
        }
        measures
    }
}

/// Follows one way through the calls of a session.
#[derive(Default)]
pub struct Follow {
    pub sums: Sums,
    before: Option<Rendered>,
    breakpoints: Breakpoints,
    anthropic: messages::cache::Cache,
    /// Problems of the first invalid requests.
    pub problems: Vec<String>,
}

impl Follow {
    pub fn call(&mut self, session: &Session, known: usize, window: i64, sent: &Sent) {
        let (rendered, cost, cost_at_markers) = match &sent.body {
            None => {
                let rendered = Rendered::new(&sent.messages);
                let cost = rendered.cost(self.before.as_ref());
                let cost_at_markers = self.breakpoints.cost(&rendered);
                (rendered, cost, cost_at_markers)
            }
            Some(body) => {
                let blocks = Blocks::new(body);
                let cost = self.anthropic.cost(&blocks);
                (Rendered::of(blocks), cost, 0.0)
            }
        };
        let counted = is_trimmed(session, known, window);
        if counted && !is_possible(session, known, window) {
            self.sums.impossible += 1.0;
        } else if counted {
            let same = self.before.as_ref().map_or(0, |before| rendered.common_bytes(before));
            self.sums.calls += 1.0;
            self.sums.same_bytes += same as f64;
            self.sums.bytes += rendered.bytes.len() as f64;
            self.sums.cost += cost;
            self.sums.cost_at_markers += cost_at_markers;
            self.sums.fill += (rendered.tokens() + ANSWER + sent.unused) as f64 / window as f64;
            self.judge(session, known, window, sent);
        }
        self.before = Some(rendered);
    }

    fn judge(&mut self, session: &Session, known: usize, window: i64, sent: &Sent) {
        let question = session.question(known).unwrap_or_default();
        let recalled = sent.messages.iter().any(|message| text_of(message).contains("<recalled>"));
        let has = |at: usize| sent.places.contains(&at);
        let replied = question.checked_sub(1).filter(|at| *at >= session.head);
        let gaps = sent.places.windows(2).filter(|pair| {
            let aside = pair[0] < session.head || pair[0] == question || Some(pair[0]) == replied;
            pair[1] != pair[0] + 1 && !aside
        });
        self.sums.holes += gaps.count() as f64;
        let missing = (question + 1..known).any(|at| !has(at));
        let older = (session.head..question).any(has) || recalled;
        self.sums.loops += f64::from(missing && older);
        if let Some(replied) = replied {
            let unit = unit_of(session, known, replied);
            let needed = session.head_tokens() + ANSWER + sum(session, question..known);
            if needed + sum(session, unit) <= window {
                self.sums.replied_fits += 1.0;
                let place = sent.places.iter().position(|at| *at == replied);
                let kept = place.map_or(0, |place| tokens_of(&sent.messages[place]));
                self.sums.replied += f64::from(kept * 2 >= session.messages[replied].tokens);
            }
        }
        let (found, all) = arguments(session, known, sent);
        self.sums.arguments += all as f64;
        self.sums.arguments_found += found as f64;
        let wrong = match &sent.error {
            Some(error) => Some(error.clone()),
            None => match &sent.body {
                None => check::problem(session, known, &sent.messages, &sent.places, window),
                Some(body) => messages::check::problem(body, window)
                    .or_else(|| check::places(session, known, &sent.places)),
            },
        };
        if let Some(wrong) = wrong {
            self.sums.invalid += 1.0;
            if self.problems.len() < 3 {
                self.problems.push(format!("call with {known} messages: {wrong}"));
            }
        }
    }
}

fn sum(session: &Session, range: std::ops::Range<usize>) -> i64 {
    session.messages[range].iter().map(|message| message.tokens).sum()
}

fn unit_of(session: &Session, known: usize, at: usize) -> std::ops::Range<usize> {
    session.units(known).into_iter().find(|unit| unit.contains(&at)).unwrap_or(at..at + 1)
}

pub fn is_trimmed(session: &Session, known: usize, window: i64) -> bool {
    sum(session, 0..known) + ANSWER > window
}

/// Returns true if head, question and the smallest excerpt fit.
pub fn is_possible(session: &Session, known: usize, window: i64) -> bool {
    const SMALLEST: i64 = 24;
    let question = session.question(known).unwrap_or_default();
    let newest = unit_of(session, known, known - 1);
    let least = newest.filter(|at| *at != question).map(|at| {
        let message = &session.messages[at];
        if message.role == "tool" { message.tokens.min(SMALLEST) } else { message.tokens }
    });
    let needed = session.head_tokens() + ANSWER + session.messages[question].tokens;
    needed + least.sum::<i64>() <= window
}

/// The values of the next recorded tool call that the untrimmed messages have and the head has not:
/// how many are in view, and how many there are.
fn arguments(session: &Session, known: usize, sent: &Sent) -> (usize, usize) {
    let mut values = Vec::new();
    for call in session.messages[known].calls() {
        let text = call["function"]["arguments"].as_str().unwrap_or_default();
        if let Ok(arguments) = serde_json::from_str(text) {
            collect(&arguments, &mut values);
        }
    }
    if values.is_empty() {
        return (0, 0);
    }
    let within = |value: &String, range: std::ops::Range<usize>| {
        session.messages[range].iter().any(|message| message.text.contains(value))
    };
    values.retain(|value| !within(value, 0..session.head) && within(value, session.head..known));
    let sent: Vec<String> = sent.messages.iter().map(text_of).collect();
    let in_view = |value: &&String| sent.iter().any(|text| text.contains(*value));
    (values.iter().filter(in_view).count(), values.len())
}

fn collect(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| collect(value, values)),
        Value::Array(list) => list.iter().for_each(|value| collect(value, values)),
        Value::String(text) if text.chars().count() >= 3 => values.push(text.clone()),
        Value::Number(number) if number.to_string().len() >= 3 => values.push(number.to_string()),
        _ => {}
    }
}

/// The measures of several sums by name.
pub fn by_name(sums: &Sums, newest: &Sums) -> BTreeMap<&'static str, f64> {
    sums.measures(newest).into_iter().collect()
}
