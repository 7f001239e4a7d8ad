//! Sends requests through a layer and looks at the tools in them.

use std::fmt;
use std::time::Instant;

use cupel::layer::{CupelLayer, Selection, Selector};
use cupel::model::ToolLimit;
use cupel::tokens::HeuristicCounter;
use cupel::tool_choice::{ToolCandidate, ToolExchange, choose_tools};
use cupel::{ContextBudget, Policy};
use cupel_json::{Endpoint, JsonBody, Model, OpenAiAdapter, ToolRule};
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::sets::{ToolSet, Turn};

pub struct Layer(Selector<JsonBody, OpenAiAdapter>);

impl Layer {
    /// A layer whose requests have so many tokens for tools, in a window that not all offered ones fit in.
    pub fn new(budget: i64, offered: i64) -> Self {
        // Long questions have to fit as well.
        let window = (2 * budget).max(8_000).min(offered / 20 * 19);
        let share = budget as f64 / window as f64;
        let models = cupel_json::Models::new();
        let model = models.get("gpt-4o").unwrap().tools(ToolRule::Json);
        let models = models.with("counted-by-json", Model::clone(&model));
        let adapter = OpenAiAdapter::new().models(models).counter(HeuristicCounter);
        let layer = CupelLayer::builder()
            .adapter(adapter)
            .policy(Policy::chat().with_tools(ToolLimit::new().share(share)))
            .budget(ContextBudget::builder(window).build().unwrap())
            .build()
            .unwrap();
        Self(layer.selector())
    }

    fn send(&self, tools: &[Value], messages: &[Value]) -> (Value, Selection) {
        let body = json!({"model": "counted-by-json", "tools": tools, "messages": messages});
        let body = JsonBody::parse(Endpoint::Chat, body.to_string()).unwrap();
        let (body, selection) = block_on(self.0.select(body)).unwrap().into_parts();
        (serde_json::from_str(body.json()).unwrap(), selection)
    }
}

fn name(tool: &Value) -> &str {
    tool["function"]["name"].as_str().unwrap()
}

fn names(body: &Value) -> Vec<String> {
    body["tools"].as_array().unwrap().iter().map(|tool| name(tool).to_owned()).collect()
}

fn said(user: &str) -> Value {
    json!({"role": "user", "content": user})
}

/// Share of the needed tools among the first of each of these numbers, by score.
pub fn first<const N: usize>(set: &ToolSet, numbers: [usize; N]) -> [f64; N] {
    let offered = set.offered_tokens();
    let layer = Layer::new(offered / 4, offered);
    let mut shares = [0.0; N];
    for Turn { user, needs } in &set.questions {
        let (_, selection) = layer.send(&set.tools, &[said(user)]);
        let mut tools = selection.tools.expect("not all fit").tools;
        tools.sort_by(|a, b| b.score.total_cmp(&a.score));
        for (share, number) in shares.iter_mut().zip(numbers) {
            let found = |need: &&String| tools.iter().take(number).any(|it| it.name == **need);
            *share += needs.iter().filter(found).count() as f64 / needs.len() as f64;
        }
    }
    shares.map(|share| share / set.questions.len() as f64)
}

/// Sums over turns.
#[derive(Default)]
pub struct Measured {
    needs: usize,
    found: usize,
    turns: usize,
    tools: usize,
    tokens: usize,
    changes: Option<usize>,
    cost: f64,
    cost_of_all: f64,
}

impl Measured {
    fn look(&mut self, body: &Value, needs: &[String]) -> Vec<String> {
        let names = names(body);
        self.turns += 1;
        self.tools += names.len();
        self.tokens += body["tools"].to_string().len() / 4;
        self.needs += needs.len();
        self.found += needs.iter().filter(|need| names.contains(need)).count();
        names
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns = self.turns as f64;
        let share = self.found as f64 / self.needs as f64;
        let [tools, tokens] = [self.tools, self.tokens].map(|sum| sum as f64 / turns);
        write!(f, "in view {share:.3} tools {tools:.1} tokens {tokens:.0}")?;
        if let Some(changes) = self.changes {
            let cost = self.cost / self.cost_of_all;
            write!(f, " changes {:.3} cost {cost:.3}", changes as f64 / turns)?;
        }
        Ok(())
    }
}

pub fn questions(set: &ToolSet, layer: &Layer) -> Measured {
    let mut measured = Measured::default();
    for turn in &set.questions {
        let (body, _) = layer.send(&set.tools, &[said(&turn.user)]);
        measured.look(&body, &turn.needs);
    }
    measured
}

/// Two requests a turn: the user's question, and the results of the tools that it needs and that are in
/// view.
pub fn conversations(set: &ToolSet, layer: &Layer) -> Measured {
    let mut measured = Measured { changes: Some(0), ..Measured::default() };
    for turns in &set.conversations {
        let mut messages: Vec<Value> = Vec::new();
        let (mut sent, mut of_all) = (PromptCache::default(), PromptCache::default());
        let mut before: Option<Vec<String>> = None;
        for (number, turn) in turns.iter().enumerate() {
            messages.push(said(&turn.user));
            let (body, _) = layer.send(&set.tools, &messages);
            let in_view = measured.look(&body, &turn.needs);
            let changed = before.as_ref().is_some_and(|before| *before != in_view);
            measured.changes = measured.changes.map(|changes| changes + usize::from(changed));
            sent.take(&body["tools"], &messages);
            of_all.take(&json!(set.tools), &messages);
            let mut results = Vec::new();
            let mut calls = Vec::new();
            for (at, need) in turn.needs.iter().filter(|need| in_view.contains(need)).enumerate() {
                let id = format!("call_{number}_{at}");
                calls.push(json!({"id": id, "type": "function",
                    "function": {"name": need, "arguments": "{}"}}));
                results.push(json!({"role": "tool", "tool_call_id": id, "content": "done"}));
            }
            if !calls.is_empty() {
                messages.push(json!({"role": "assistant", "tool_calls": calls}));
                messages.append(&mut results);
                let (body, _) = layer.send(&set.tools, &messages);
                assert_eq!(names(&body), in_view, "the set changed within an exchange");
                sent.take(&body["tools"], &messages);
                of_all.take(&json!(set.tools), &messages);
            }
            messages.push(json!({"role": "assistant", "content": "That is done."}));
            before = Some(in_view);
        }
        measured.cost += sent.cost;
        measured.cost_of_all += of_all.cost;
    }
    measured
}

/// A cache of the longest prefix of the request before, which costs a tenth. Tools stand first.
#[derive(Default)]
struct PromptCache {
    prompt: String,
    cost: f64,
}

impl PromptCache {
    fn take(&mut self, tools: &Value, messages: &[Value]) {
        let messages: Vec<String> = messages.iter().map(Value::to_string).collect();
        let prompt = format!("{tools}{}", messages.join("\n"));
        let same = self.prompt.bytes().zip(prompt.bytes()).take_while(|(a, b)| a == b).count();
        self.cost += (prompt.len() - same) as f64 + 0.1 * same as f64;
        self.prompt = prompt;
    }
}

/// Milliseconds of one choice among 1,000 tools after 20 questions, once they were seen.
pub fn time(rounds: usize) -> f64 {
    const SUBJECTS: [&str; 10] = [
        "invoice", "parcel", "meeting", "file", "branch", "server", "contact", "flight", "song",
        "recipe",
    ];
    const DEEDS: [&str; 10] = [
        "list", "create", "delete", "update", "search", "share", "export", "copy", "watch", "move",
    ];
    let tool = |number: usize| {
        let (subject, deed) = (SUBJECTS[number % 10], DEEDS[number / 10 % 10]);
        let text = format!(
            "{deed} the {subject} of a customer or a team in system {}. Takes the {subject}'s number, a \
             filter by date, a limit and the page to begin with, and gives back what was found.",
            number / 100
        );
        ToolCandidate::new(format!("system{}_{deed}_{subject}", number / 100), text, 120)
    };
    let tools: Vec<ToolCandidate> = (0..1_000).map(tool).collect();
    let question = |number: usize| {
        let (subject, deed) = (SUBJECTS[number * 7 % 10], DEEDS[number * 3 % 10]);
        ToolExchange::new(format!("Please {deed} the {subject} {number} in system {}", number % 10))
            .call(format!("system{}_{deed}_{subject}", number % 10))
    };
    let exchanges: Vec<ToolExchange> = (0..20).map(question).collect();
    let choose = || choose_tools(&tools, &exchanges, &ToolLimit::new(), 8_000);
    let known = choose();
    let mut samples: Vec<f64> = (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            let choice = choose();
            assert_eq!(choice, known);
            begun.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
