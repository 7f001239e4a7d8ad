//! Mutated requests of the three protocols: whatever comes in, what is sent is sound.
//!
//! 20,000 cases run with the suite. `CUPEL_FUZZ=<cases>` runs more, and `CUPEL_SEED=<number>` others.

use std::cell::RefCell;
use std::collections::HashMap;

use cupel::Policy;
use cupel::layer::{ContextError, Selection};
use cupel_json::{Endpoint, JsonBody};
use serde_json::Value;

use crate::mutation::{Mutant, Random, mutate};
use crate::recorded::requests;
use crate::support::{Fitter, Settings, field, texts};

const CASES: u64 = 20_000;

#[test]
fn whatever_comes_in_what_is_sent_is_sound() {
    let number =
        |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let first = number("CUPEL_SEED").unwrap_or(1).wrapping_mul(1 << 32);
    let cases = number("CUPEL_FUZZ").unwrap_or(CASES);
    let recorded = requests();
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let recorded = &recorded;
            scope.spawn(move || {
                let fuzz = Fuzz::new(recorded);
                let seeds = (thread..cases).step_by(2).map(|case| first.wrapping_add(case));
                seeds.for_each(|seed| fuzz.case(seed));
                if cases >= CASES {
                    fuzz.check_mix();
                }
            });
        }
    });
}

struct Fuzz<'a> {
    recorded: &'a [(Endpoint, Value)],
    fitters: Vec<Fitter>,
    /// Tokens of texts, by the other tokenizer.
    counted: RefCell<HashMap<String, i64>>,
    /// Number of requests by outcome.
    mix: RefCell<HashMap<&'static str, usize>>,
}

impl<'a> Fuzz<'a> {
    fn new(recorded: &'a [(Endpoint, Value)]) -> Self {
        let policies = [Policy::chat(), Policy::chat(), Policy::tool_use(), Policy::rag()];
        let windows = [600, 1_000, 2_000, 100_000];
        let settings = policies.into_iter().zip(windows);
        let fitters = settings.map(|(policy, window)| Settings::new(policy, window).build());
        let (counted, mix) = (RefCell::default(), RefCell::default());
        Self { recorded, fitters: fitters.collect(), counted, mix }
    }

    fn case(&self, seed: u64) {
        let mut random = Random::new(seed);
        let (endpoint, request) = random.pick(self.recorded).clone();
        let mutant = mutate(endpoint, request, &mut random);
        let fitter = random.pick(&self.fitters);
        if let Err(problem) = self.check(endpoint, &mutant, fitter) {
            panic!("seed {seed}, {endpoint:?}: {problem}\n{}", mutant.json);
        }
    }

    fn note(&self, what: &'static str) {
        *self.mix.borrow_mut().entry(what).or_default() += 1;
    }

    /// Enough of the cases got as far as the checks.
    fn check_mix(&self) {
        let mix = self.mix.borrow();
        let count = |what| mix.get(what).copied().unwrap_or(0);
        assert!(count("cut") > 1_000 && count("whole") > 1_000, "{mix:?}");
        assert!(count("counted") > 2_000 && count("asked") > 2_000, "{mix:?}");
    }

    fn check(&self, endpoint: Endpoint, mutant: &Mutant, fitter: &Fitter) -> Result<(), String> {
        let Some(body) = JsonBody::parse(endpoint, mutant.json.as_str()) else {
            self.note("unreadable");
            return Ok(());
        };
        let (sent, selection) = match fitter.select(body) {
            Ok(sent) => sent,
            Err(ContextError::Panicked { message }) => return Err(format!("panicked: {message}")),
            Err(_) => {
                self.note("refused");
                return Ok(());
            }
        };
        self.note(if sent == mutant.json { "whole" } else { "cut" });
        let before = value(&mutant.json).expect("JSON");
        let after = value(&sent).map_err(|error| format!("{error} in {sent}"))?;
        same_fields(endpoint, &before, &after)?;
        if let Some(question) = question(endpoint, &before) {
            self.note("asked");
            let has = |message: &Value| texts(message).concat().contains(&question);
            if !list(endpoint, &after).iter().any(has) && after["input"] != before["input"] {
                return Err(format!("{question:?} is gone from {sent}"));
            }
        }
        if sent != mutant.json {
            pairs(endpoint, &after).map_err(|problem| format!("{problem} in {sent}"))?;
        }
        if mutant.is_text && endpoint != Endpoint::Messages {
            self.note("counted");
            self.same_count(endpoint, &after, &selection)?;
        }
        Ok(())
    }

    fn same_count(
        &self,
        endpoint: Endpoint,
        sent: &Value,
        selection: &Selection,
    ) -> Result<(), String> {
        let ours = selection.sent.tokens + selection.fixed_tokens;
        let messages = list(endpoint, sent).iter();
        let theirs = 3 + messages.map(|message| self.message(message)).sum::<i64>();
        let allowed = 8.max(theirs / 50);
        let same = (ours - theirs).abs() <= allowed;
        same.then_some(()).ok_or_else(|| format!("{ours} counted, {theirs} by another in {sent}"))
    }

    /// Tokens of a message of OpenAI's, by the other tokenizer.
    fn message(&self, message: &Value) -> i64 {
        let text = |value: &Value| value.as_str().map_or(0, |text| self.tokens(text));
        let role = match message["type"].as_str() {
            Some("function_call") => "assistant",
            Some("function_call_output") => "tool",
            _ => message["role"].as_str().unwrap_or_default(),
        };
        let said: i64 = texts(message).into_iter().map(|text| self.tokens(text)).sum();
        let mut sum = 3 + self.tokens(role) + said + text(&message["output"]);
        if message["type"] == "function_call" {
            sum += 1 + text(&message["name"]) + text(&message["arguments"]);
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            sum += 1 + text(&call["function"]["name"]) + text(&call["function"]["arguments"]);
        }
        sum
    }

    fn tokens(&self, text: &str) -> i64 {
        if let Some(tokens) = self.counted.borrow().get(text) {
            return *tokens;
        }
        let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len() as i64;
        self.counted.borrow_mut().insert(text.to_owned(), tokens);
        tokens
    }
}

/// A body with halves of characters as replacement characters: a value cannot hold them.
fn value(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&json.replace(r"\ud83d", r"\ufffd"))
}

fn list(endpoint: Endpoint, request: &Value) -> &[Value] {
    request[field(endpoint)].as_array().map_or(&[], Vec::as_slice)
}

/// Checks that nothing but the messages is changed, marks of a prompt cache aside.
fn same_fields(endpoint: Endpoint, before: &Value, after: &Value) -> Result<(), String> {
    let rest = |request: &Value| {
        let mut fields = request.as_object().cloned().unwrap_or_default();
        fields.remove(field(endpoint));
        if endpoint == Endpoint::Messages {
            fields.values_mut().for_each(unmark);
        }
        fields
    };
    let (before, after) = (rest(before), rest(after));
    (before == after).then_some(()).ok_or_else(|| format!("fields: {before:?}\n{after:?}"))
}

/// Takes marks of the cache out, and a list of one marked text for the text.
fn unmark(value: &mut Value) {
    for part in value.as_array_mut().into_iter().flatten() {
        part.as_object_mut().map(|part| part.remove("cache_control"));
    }
    if let Some([only]) = value.as_array().map(Vec::as_slice) {
        if only["type"] == "text" && only["text"].is_string() {
            *value = only["text"].clone();
        }
    }
}

/// The user's last words; none if their message is not plain text.
fn question(endpoint: Endpoint, request: &Value) -> Option<String> {
    let parts = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let is_users = |message: &&Value| {
        let is_message = endpoint != Endpoint::Responses
            || message["type"].is_null()
            || message["type"] == "message";
        let of_tool = parts(message).iter().any(|part| part["type"] == "tool_result");
        message["role"] == "user" && is_message && !of_tool
    };
    let message = list(endpoint, request).iter().rev().find(is_users)?;
    let is_text = message["content"].is_string()
        || parts(message).iter().all(|part| part["text"].is_string());
    let text = texts(message).concat();
    (is_text && !text.trim().is_empty()).then_some(text)
}

/// Checks that every call has its result after it, and every result its call.
fn pairs(endpoint: Endpoint, request: &Value) -> Result<(), String> {
    // Part of the conversation may be on the server.
    let remote = ["previous_response_id", "conversation", "prompt"];
    let refers = |item: &Value| {
        item["type"] == "item_reference" || item["type"].is_null() && !item["id"].is_null()
    };
    let is_remote = remote.iter().any(|name| !request[*name].is_null())
        || list(endpoint, request).iter().any(refers);
    if endpoint == Endpoint::Responses && is_remote {
        return Ok(());
    }
    let mut open: Vec<&str> = Vec::new();
    for message in list(endpoint, request) {
        let (calls, answers) = ids(endpoint, message);
        for answer in answers {
            let at = open.iter().position(|call| *call == answer);
            open.remove(at.ok_or_else(|| format!("result {answer:?} without a call"))?);
        }
        open.extend(calls);
    }
    open.is_empty().then_some(()).ok_or_else(|| format!("calls without results: {open:?}"))
}

/// Ids of the calls and of the answers in a message.
fn ids(endpoint: Endpoint, message: &Value) -> (Vec<&str>, Vec<&str>) {
    let parts = |name: &str| message[name].as_array().map_or(&[][..], Vec::as_slice);
    let of_kind = |kind: &str, id: &str| {
        let blocks = parts("content").iter().filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[id].as_str()).collect()
    };
    let own = |id: &str| message[id].as_str().into_iter().collect();
    match endpoint {
        Endpoint::Messages => (of_kind("tool_use", "id"), of_kind("tool_result", "tool_use_id")),
        Endpoint::Responses => match message["type"].as_str() {
            Some("function_call") => (own("call_id"), Vec::new()),
            Some("function_call_output") => (Vec::new(), own("call_id")),
            _ => (Vec::new(), Vec::new()),
        },
        _ if message["role"] == "tool" => (Vec::new(), own("tool_call_id")),
        _ if message["role"] == "assistant" => (
            parts("tool_calls").iter().filter_map(|call| call["id"].as_str()).collect(),
            Vec::new(),
        ),
        _ => (Vec::new(), Vec::new()),
    }
}
