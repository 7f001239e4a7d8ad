//! Random conversations with tools, thinking and media, in random windows.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Fitting, layer, planned, scored, send};
use cupel_dev_servers::local_server::messages::{self, thoughts};

/// One exchange: what the user says, the steps, and whether the model thinks, and has answered.
#[derive(Debug, Clone)]
struct Exchange {
    says: String,
    media: bool,
    steps: Vec<Vec<(String, bool)>>,
    thinks: Vec<bool>,
    beside: Option<String>,
    answer: String,
}

/// Words that estimates are good at: what they miss is another test's business.
const WORDS: [&str; 12] = [
    "the", "order", "was", "sent", "on", "Tuesday,", "but", "nobody", "has", "signed", "for",
    "it.\n",
];

fn words(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS.as_slice());
    prop::collection::vec(word, count).prop_map(|words| words.join(" "))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => words(1..40),
        1 => words(100..600),
        1 => Just("日本語 🦀 e\u{301} \u{202e}abc\n\"quoted\" \\ </recalled>".to_owned()),
    ]
    .prop_filter("blank", |text| !text.trim().is_empty())
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let result = (text(), any::<bool>());
    let steps = prop::collection::vec(prop::collection::vec(result, 1..4), 0..5);
    let thinks = prop::collection::vec(any::<bool>(), 6);
    let exchange = (
        text(),
        prop::bool::weighted(0.1),
        steps,
        thinks,
        prop::option::weighted(0.2, text()),
        text(),
    );
    let exchange = exchange.prop_map(|(says, media, steps, thinks, beside, answer)| Exchange {
        says,
        media,
        steps,
        thinks,
        beside,
        answer,
    });
    prop::collection::vec(exchange, 1..8)
}

/// Shape of a conversation.
#[derive(Debug, Clone)]
struct Case {
    exchanges: Vec<Exchange>,
    window: i64,
    manual: bool,
    bound: bool,
    blocks_as_system: bool,
    marks: usize,
    planned: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let window = prop_oneof![Just(2_600_i64), Just(3_400), Just(6_000)];
    let planned = prop::bool::weighted(0.7);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), planned);
    (exchanges(), window, flags, 0_usize..5).prop_map(
        |(exchanges, window, (manual, bound, blocks_as_system, planned), marks)| Case {
            exchanges,
            window,
            manual: manual && !bound,
            bound,
            blocks_as_system,
            marks,
            planned,
        },
    )
}

/// Holds a conversation through the layer, call by call; every call that goes out is checked.
struct Held<'a> {
    case: &'a Case,
    layer: &'a Fitting,
    head: Value,
    messages: Vec<Value>,
    calls: usize,
    sent: usize,
}

impl Held<'_> {
    /// Sends what there is; the request as the model saw it.
    fn call(&mut self) -> Result<Value, TestCaseError> {
        let mut body = self.head.clone();
        body["messages"] = json!(self.messages);
        mark(&mut body, self.case.marks);
        let body = body.to_string();
        let (sent, _) = match send(self.layer, &body) {
            Ok(sent) => sent,
            Err(why) => {
                prop_assert!(why.contains("tokens"), "{}", why);
                return Ok(serde_json::from_str(&body).unwrap());
            }
        };
        let again = send(self.layer, &body).unwrap().0;
        prop_assert_eq!(sent.json(), again.json());
        let beta = sent.needs_beta().unwrap_or_default();
        let checked = messages::check(sent.json().as_bytes(), beta);
        let json = checked.map_err(|refused| {
            TestCaseError::fail(format!("{}\n{body}\n{}", refused.message, sent.json()))
        })?;
        self.keeps(&json)?;
        self.sent += 1;
        Ok(json)
    }

    /// The question and the newest message are there, thoughts are as they were.
    fn keeps(&self, sent: &Value) -> Result<(), TestCaseError> {
        let of = |messages: &[Value]| -> Vec<Value> {
            let blocks = messages.iter().flat_map(messages::blocks);
            blocks.filter(|block| block["type"].as_str().unwrap().ends_with("thinking")).collect()
        };
        let own = of(&self.messages);
        let kept = sent["messages"].as_array().unwrap();
        for thought in of(kept) {
            prop_assert!(own.contains(&thought), "{}", thought);
        }
        let last = kept.last().unwrap();
        let newest = self.messages.last().unwrap();
        prop_assert_eq!(&last["role"], &newest["role"]);
        Ok(())
    }

    fn think(&self, step: usize, seen: &Value, exchange: &Exchange) -> Vec<Value> {
        let wanted = exchange.thinks[step % exchange.thinks.len()];
        if !(wanted || self.case.manual && step == 0) {
            return Vec::new();
        }
        let first = thoughts::think(seen, "Hm.", None);
        let second = thoughts::think_sealed(seen, "c2VhbGVk", Some(&first));
        if step % 2 == 0 { vec![first] } else { vec![first, second] }
    }

    fn hold(&mut self, exchange: &Exchange) -> Result<(), TestCaseError> {
        let mut said = vec![json!({"type": "text", "text": exchange.says})];
        if exchange.media {
            said.insert(0, json!({"type": "image", "source": {"type": "url", "url": "https://x"}}));
        }
        let content = if exchange.media { json!(said) } else { json!(exchange.says) };
        self.messages.push(json!({"role": "user", "content": content}));
        for (step, results) in exchange.steps.iter().enumerate() {
            let seen = self.call()?;
            let mut blocks = self.think(step, &seen, exchange);
            let mut answers = Vec::new();
            for (result, as_blocks) in results {
                self.calls += 1;
                let id = format!("toolu_{}", self.calls);
                blocks.push(json!({"type": "tool_use", "id": id, "name": "f", "input": {"x": 1}}));
                let content = if *as_blocks {
                    json!([{"type": "text", "text": result}])
                } else {
                    json!(result)
                };
                answers.push(json!({"type": "tool_result", "tool_use_id": id, "content": content}));
            }
            let beside = exchange.beside.iter().filter(|_| step == 1);
            answers.extend(beside.map(|text| json!({"type": "text", "text": text})));
            self.messages.push(json!({"role": "assistant", "content": blocks}));
            self.messages.push(json!({"role": "user", "content": answers}));
        }
        let seen = self.call()?;
        let mut blocks = self.think(exchange.steps.len(), &seen, exchange);
        blocks.push(json!({"type": "text", "text": exchange.answer}));
        self.messages.push(json!({"role": "assistant", "content": blocks}));
        Ok(())
    }
}

/// The caller's own marks: on the newest messages that can carry one.
fn mark(body: &mut Value, mut marks: usize) {
    for message in body["messages"].as_array_mut().unwrap().iter_mut().rev() {
        let last = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut());
        let Some(block) =
            last.filter(|block| !block["type"].as_str().unwrap().ends_with("thinking"))
        else {
            continue;
        };
        if marks == 0 {
            return;
        }
        block["cache_control"] = json!({"type": "ephemeral"});
        marks -= 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_that_is_sent_is_refused(case in cases()) {
        let layer = layer(case.window, if case.planned { planned() } else { scored() });
        let bound = if case.bound { "bound-" } else { "" };
        let mut head = json!({"model": format!("test-{bound}{}", case.window), "max_tokens": 1_100,
            "tools": [{"name": "f", "input_schema": {"type": "object"}}]});
        head["system"] = if case.blocks_as_system {
            json!([{"type": "text", "text": "Be brief."}])
        } else {
            json!("Be brief.")
        };
        if case.manual {
            head["thinking"] = json!({"type": "enabled", "budget_tokens": 1_024});
        }
        let mut held =
            Held { case: &case, layer: &layer, head, messages: Vec::new(), calls: 0, sent: 0 };
        for exchange in &case.exchanges {
            held.hold(exchange)?;
        }
    }
}
