//! Tokens that a chat template adds, from the differences between rendered conversations.

use minijinja::Value;
use minijinja::value::Serde;
use serde_json::{Value as Json, json};

use super::render::Renderer;
use crate::tokens::FormatOverhead;

/// Tokens of an id of a call, where a template writes ids.
const ID_TOKENS: i64 = 24;

/// Id of a call that all templates take.
const ID: &str = "callprobe";

/// Texts that begin and end in different ways: a tokenizer may join their first and last token with what
/// stands beside them, or not.
const TEXTS: [&str; 12] = [
    "probe",
    "Where is the key?",
    "Mississippi",
    " leading and trailing ",
    "7",
    "2026-11-18",
    "{\"status\": \"ok\", \"items\": []}",
    "\nfn main() {}\n",
    "(as before)",
    "ответ",
    "答案。",
    "\u{1F511} done!",
];

/// Derives the overhead of a template. The error says why it cannot render a user's message.
pub(super) fn derive(renderer: &Renderer) -> Result<FormatOverhead, String> {
    Probe { renderer }.overhead()
}

/// Returns true if a template writes results as JSON strings, so that each quote and line break is escaped.
pub(super) fn escapes_results(renderer: &Renderer) -> bool {
    let messages = [user("probe"), calls(1), result(0, "say \"no\"\n")];
    Probe { renderer }.shows(&messages, r#"say \"no\"\n"#)
}

fn user(text: &str) -> Json {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Json {
    json!({ "role": "assistant", "content": text })
}

/// An assistant's message with calls.
fn calls(count: usize) -> Json {
    let call = |number: usize| {
        let function = json!({ "name": "probe", "arguments": { "part": "bolt" } });
        json!({ "id": id(number), "type": "function", "function": function })
    };
    let calls: Vec<Json> = (0..count).map(call).collect();
    json!({ "role": "assistant", "content": "", "tool_calls": calls })
}

fn result(number: usize, text: &str) -> Json {
    json!({ "role": "tool", "tool_call_id": id(number), "name": "probe", "content": text })
}

/// Ids have nine letters or digits in templates of Mistral.
fn id(number: usize) -> String {
    let cut = ID.get(..8).unwrap_or(ID);
    format!("{cut}{number}")
}

struct Probe<'a> {
    renderer: &'a Renderer,
}

impl Probe<'_> {
    fn overhead(&self) -> Result<FormatOverhead, String> {
        let mut overhead = FormatOverhead::none();
        let asked = self.tokens(&[user("probe")], false)?;
        let user_extra = self.most(|text| {
            let before = self.tokens(&[user("probe"), assistant("probe")], false).ok()?;
            let after = [user("probe"), assistant("probe"), user(text)];
            Some(self.tokens(&after, false).ok()? - before)
        });
        let alone = || self.most(|text| self.tokens(&[user(text)], false).ok());
        let user_extra = user_extra.or_else(alone).unwrap_or(asked);
        let assistant_extra = self.most(|text| {
            let all = self.tokens(&[user("probe"), assistant(text), user("probe")], false).ok()?;
            Some(all - asked - user_extra - self.text("probe"))
        });
        let system_extra = self.most(|text| {
            let system = json!({ "role": "system", "content": text });
            Some(self.tokens(&[system, user("probe")], false).ok()? - asked)
        });
        let extras = [Some(user_extra), assistant_extra, system_extra];
        overhead.per_message = extras.into_iter().flatten().max().unwrap_or(0).max(0);
        overhead.per_name = 1;
        overhead.per_part = 1;
        self.add_calls(&mut overhead);
        let open = self.tokens(&[user("probe")], true).unwrap_or(asked);
        overhead.answer = (open - self.text("probe") - overhead.per_message).max(0);
        overhead.answer += self.missing(&overhead).max(0);
        Ok(overhead)
    }

    /// Adds what calls and their results cost.
    fn add_calls(&self, overhead: &mut FormatOverhead) {
        let message = overhead.per_message;
        let called = [user("probe"), calls(1)];
        let result_extra = self.most(|text| {
            let before = self.tokens(&called, false).ok()?;
            Some(self.tokens(&[user("probe"), calls(1), result(0, text)], false).ok()? - before)
        });
        let ids = if self.shows(&called, ID.get(..8).unwrap_or(ID)) { ID_TOKENS } else { 0 };
        overhead.per_result = result_extra.map_or(0, |extra| (extra - message).max(0)) + ids;
        let input = self.text(r#"{"part": "bolt"}"#) + self.text("probe");
        let of_result = message + overhead.per_result - ids + self.text("probe");
        let plain = self.tokens(&[user("probe"), assistant("probe"), user("probe")], false).ok();
        let turn = |count: usize| {
            let mut turn = vec![user("probe"), calls(count)];
            turn.extend((0..count).map(|number| result(number, "probe")));
            turn.extend([assistant("probe"), user("probe")]);
            self.tokens(&turn, false).ok()
        };
        let one = turn(1).zip(plain).map(|(one, plain)| one - plain - message - of_result - input);
        let more = turn(2).zip(turn(1)).map(|(two, one)| two - one - of_result - input);
        let extra = one.max(more).unwrap_or(0).max(0);
        overhead.per_call = match self.shows(&called, "probe\"") || self.shows(&called, "bolt") {
            true => extra + ids,
            // Servers write calls in their own way then, mostly as JSON.
            false => {
                extra.max(self.text(r#"{"tool_calls": [{"name": "", "arguments": , "id": ""}]}"#))
                    + ID_TOKENS
            }
        };
    }

    /// Tokens that the sum misses of whole conversations.
    fn missing(&self, overhead: &FormatOverhead) -> i64 {
        let system = json!({ "role": "system", "content": "Help." });
        let asked = user("Where is the key?");
        let answered = assistant("Under the mat.");
        let lookup = [asked.clone(), calls(1), result(0, "found: 1"), answered.clone()];
        let talk = [asked.clone(), answered.clone(), user("Thanks. And the other?")];
        let told = [vec![system.clone()], talk.to_vec()].concat();
        let looked_up = [lookup.to_vec(), vec![user("Thanks.")]].concat();
        let open_loop = [vec![system], lookup.get(..3).unwrap_or_default().to_vec()].concat();
        let all = [vec![asked], talk.to_vec(), told, looked_up, open_loop];
        let missing = |messages: &Vec<Json>| {
            let rendered = self.tokens(messages, true).ok()?;
            Some(rendered - self.sum(messages, overhead))
        };
        all.iter().filter_map(missing).max().unwrap_or(0)
    }

    /// Tokens of a conversation by its overhead.
    fn sum(&self, messages: &[Json], overhead: &FormatOverhead) -> i64 {
        let of_message = |message: &Json| {
            let is_result = message.get("role").and_then(Json::as_str) == Some("tool");
            let calls = message.get("tool_calls").and_then(Json::as_array).map_or(0, Vec::len);
            let input = self.text(r#"{"part": "bolt"}"#) + self.text("probe");
            let calls = i64::try_from(calls).unwrap_or(0) * (overhead.per_call + input);
            let content = message.get("content").and_then(Json::as_str).unwrap_or_default();
            let result = if is_result { overhead.per_result } else { 0 };
            overhead.per_message + result + calls + self.text(content)
        };
        messages.iter().map(of_message).sum::<i64>() + overhead.answer
    }

    /// The most that something costs beside its text.
    fn most(&self, cost: impl Fn(&str) -> Option<i64>) -> Option<i64> {
        TEXTS.iter().filter_map(|text| Some(cost(text)? - self.text(text))).max()
    }

    fn text(&self, text: &str) -> i64 {
        if text.is_empty() { 0 } else { self.renderer.count(text) }
    }

    /// Returns true if a rendered conversation has a text in it.
    fn shows(&self, messages: &[Json], text: &str) -> bool {
        let rendered = self.renderer.text(&Value::from(Serde(messages)), None, false);
        rendered.is_ok_and(|rendered| rendered.contains(text))
    }

    fn tokens(&self, messages: &[Json], answer: bool) -> Result<i64, String> {
        self.renderer.tokens(&Value::from(Serde(messages)), None, answer)
    }
}
