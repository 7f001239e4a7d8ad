//! Regret against cases that are planted into recorded runs by a program, among cases that only look alike.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use cupel::Policy;
use cupel::model::TurnPlan;
use cupel_audit::{Audit, AuditReport, Planner, RegretEntry, Session, WayReport};
use cupel_bench_turns::session::{counter, files};
use serde_json::{Value, json};

const SESSIONS: usize = 10;
const PLANTED: usize = 10;
const WINDOW: i64 = 2_000;

/// A number that looks random and is the same on every machine.
fn number(seed: usize) -> usize {
    (seed + 17).wrapping_mul(2_654_435_761) % 900_000 + 100_000
}

fn call(id: usize, value: &Value) -> [Value; 2] {
    let arguments = json!({"reference": value, "urgent": true}).to_string();
    let call = json!({"id": format!("p{id}"), "type": "function",
        "function": {"name": "open_record", "arguments": arguments}});
    let answer = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": format!("p{id}"), "content": "opened"});
    [answer, result]
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A session, the values that its calls will miss, and the number of its calls before the planted ones.
struct Planted {
    messages: Vec<Value>,
    missed: BTreeSet<String>,
    before: usize,
}

fn planted(run: &[Value], session: usize) -> Planted {
    let mut early = Vec::new();
    let mut late = Vec::new();
    let mut missed = BTreeSet::new();
    for case in 0..PLANTED {
        let seed = session * 100 + case;
        let code = format!("ZX-{}", number(seed));
        early.push(user(&format!("Parcel label {code} came back from the depot.")));
        early.push(json!({"role": "assistant", "content": "Noted."}));
        // The model needs the code, and nothing else has it.
        late.push((user(&format!("Carry on with step {case}, please.")), json!(code)));
        missed.insert(code);

        // What only looks like it, in turn.
        let other = format!("QW-{}", number(seed + 5_000));
        let (early_text, late_text, value) = match case % 5 {
            // The user says it again.
            0 => (format!("Label {other}."), format!("Now take {other}, please."), json!(other)),
            // It is part of a longer one.
            1 => (format!("Label {other}77."), "Next step, please.".to_owned(), json!(other)),
            // Nobody said it.
            2 => ("Label lost.".to_owned(), "Another step, please.".to_owned(), json!(other)),
            // It is too short.
            3 => ("Shelf 7QX.".to_owned(), "One more step, please.".to_owned(), json!("7QX")),
            // A number inside a larger one.
            _ => {
                let large = number(seed + 9_000);
                (format!("Sum {large}4."), "The last step, please.".to_owned(), json!(large))
            }
        };
        early.push(user(&early_text));
        early.push(json!({"role": "assistant", "content": "Noted as well."}));
        late.push((user(&late_text), value));
    }
    let head = run.iter().take_while(|message| message["role"] == "system").count();
    let mut messages = run[..head].to_vec();
    messages.extend(early);
    // Whole units only, and enough to push what is early out of the window.
    let rest = &run[head..];
    let ends = (30..rest.len()).find(|at| rest[*at]["role"] == "user").unwrap();
    messages.extend_from_slice(&rest[..ends]);
    let before = messages.iter().filter(|message| message["role"] == "assistant").count();
    for (number, (question, value)) in late.into_iter().enumerate() {
        messages.push(question);
        messages.extend(call(number, &value));
    }
    Planted { messages, missed, before }
}

fn sessions() -> Vec<Planted> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/turns/data");
    let runs: Vec<Value> = files(&folder).into_iter().flat_map(|(_, runs)| runs).collect();
    let run = |session: usize| runs[session % runs.len()]["messages"].as_array().unwrap().clone();
    (0..SESSIONS).map(|session| planted(&run(session), session)).collect()
}

fn audit(session: &Planted, window: i64) -> AuditReport {
    let json = json!({"messages": session.messages}).to_string();
    // What is recalled may bring a value back, and then it is not missed.
    let policy = Policy::chat().with_plan(TurnPlan::new().recall(0.0));
    let audit = Audit::new().window(window).way("chat", policy);
    audit.planner(Planner::new().counter(counter())).sessions([Session::read("s", &json).unwrap()])
}

fn is_planted(session: &Planted, entry: &&RegretEntry) -> bool {
    entry.turn > session.before
}

#[test]
fn planted_regret_is_found_and_what_looks_like_it_is_not() {
    let (mut expected, mut found, mut right) = (0, [0; 2], [0; 2]);
    for session in sessions() {
        let report = audit(&session, WINDOW);
        let window = &report.windows[0];
        expected += session.missed.len();
        for (at, way) in [&window.ways[0], &window.newest_first].into_iter().enumerate() {
            let regrets: Vec<&RegretEntry> =
                way.regrets.iter().filter(|entry| is_planted(&session, entry)).collect();
            found[at] += regrets.len();
            right[at] += regrets.iter().filter(|it| session.missed.contains(&it.value)).count();
        }
    }
    assert_eq!(expected, 100);
    for (name, found, right) in [("chat", found[0], right[0]), ("newest first", found[1], right[1])]
    {
        println!("{name}: {right} of {expected} planted cases, {found} reported");
        assert!(right * 10 >= found * 9 && right * 10 >= expected * 9, "{name}: {right} {found}");
    }
}

#[test]
fn nothing_is_regretted_where_nothing_was_cut() {
    for session in sessions().iter().take(3) {
        let report = audit(session, 1_000_000);
        let window = &report.windows[0];
        let none = |way: &WayReport| {
            (way.tally.regretted_calls, way.tally.regretted_values, way.tally.repeats) == (0, 0, 0)
        };
        assert_eq!(window.larger, 0);
        assert!(none(&window.ways[0]) && none(&window.newest_first));
    }
}
