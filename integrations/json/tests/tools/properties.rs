//! Recorded and random conversations with tools, in every API.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::support::{APIS, Step, body, chat, check, demand, names, send, tool};

const SUBJECTS: [&str; 6] = ["invoice", "parcel", "meeting", "branch", "flight", "recipe"];
const DEEDS: [&str; 5] = ["list", "create", "delete", "share", "search"];

fn offered() -> Vec<(String, String)> {
    let each = |subject: &'static str| {
        DEEDS.map(|deed| {
            (format!("{deed}_{subject}"), format!("Can {deed} the {subject} of a team."))
        })
    };
    SUBJECTS.into_iter().flat_map(each).collect()
}

fn step() -> impl Strategy<Value = Vec<Step>> {
    let word = prop::sample::select(vec![
        "invoice", "share", "flight", "yes", "parcel", "search", "thanks",
    ]);
    let words = prop::collection::vec(word, 1..6).prop_map(|words| words.join(" "));
    let calls = prop::collection::vec((0..30_usize, 1..60_usize), 0..3);
    (words, prop::collection::vec(calls, 0..3), any::<bool>()).prop_map(
        |(words, rounds, answered)| {
            let tools = offered();
            let call =
                |(at, length): (usize, usize)| (tools[at].0.clone(), "result ".repeat(length));
            let mut steps = vec![Step::User(words)];
            for round in rounds.into_iter().filter(|round| !round.is_empty()) {
                steps.push(Step::Calls(round.into_iter().map(call).collect()));
            }
            if answered {
                steps.push(Step::Model("That is what I found.".to_owned()));
            }
            steps
        },
    )
}

/// Ends with what a model has to respond to, and no two users' messages stand in a row.
fn conversation() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..6).prop_map(|turns| {
        let mut steps = vec![Step::System("Be brief.".to_owned())];
        for turn in turns {
            if matches!(steps.last(), Some(Step::User(_) | Step::Calls(_))) {
                steps.push(Step::Model("Go on.".to_owned()));
            }
            steps.extend(turn);
        }
        if matches!(steps.last(), Some(Step::Model(_))) {
            steps.push(Step::User("And now the flight?".to_owned()));
        }
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_body_becomes_invalid(
        steps in conversation(), window in 300_i64..3_000, share in 0.0_f64..0.6,
        demanded in prop::option::of(0..30_usize), planned in any::<bool>(),
    ) {
        for api in APIS {
            let tools: Vec<Value> = offered().iter().map(|(name, text)| tool(api, name, text)).collect();
            let choice = demanded.map_or(Value::Null, |at| demand(api, &offered()[at].0));
            let before = body(api, &tools, &steps, choice);
            let policy = if planned { chat(share) } else { chat(share).without_plan() };
            let Ok((after, json, selection)) = send(api, &before, window, policy) else { continue };
            check(&before, &after);
            let all = selection.tools.is_none();
            prop_assert_eq!(all, names(&after).len() == tools.len());
            if all && selection.sent.left_out == 0 && selection.plan.as_ref().is_none_or(|it| it.whole) {
                prop_assert_eq!(json, before.to_string());
            }
            if let Some(report) = &selection.tools {
                let sent: Vec<&str> = report.sent().map(|tool| &*tool.name).collect();
                prop_assert_eq!(sent, names(&after));
                prop_assert_eq!(selection.tool_tokens, report.sent_tokens);
            }
        }
    }
}

#[test]
fn recorded_runs_stay_valid_and_keep_their_tools_within_an_exchange() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/turns/data");
    let mut cut = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(file).unwrap().lines().take(1) {
            let (steps, mut used) = recorded(&serde_json::from_str(line).unwrap());
            used.extend(offered());
            for api in APIS {
                let tools: Vec<Value> =
                    used.iter().map(|(name, text)| tool(api, name, text)).collect();
                let mut before: Option<Vec<String>> = None;
                for end in (steps.len().saturating_sub(30)..=steps.len()).filter(|end| {
                    matches!(steps.get(end.wrapping_sub(1)), Some(Step::User(_) | Step::Calls(_)))
                }) {
                    let request = body(api, &tools, &steps[..end], Value::Null);
                    let Ok((sent, _, selection)) = send(api, &request, 6_000, chat(0.1)) else {
                        continue;
                    };
                    check(&request, &sent);
                    cut += usize::from(selection.tools.is_some());
                    let now = names(&sent);
                    if let Step::Calls(calls) = &steps[end - 1] {
                        // The recorded model had all tools; here it has those that were sent.
                        let could = |before: &Vec<String>| {
                            before.len() < tools.len()
                                && calls.iter().all(|(name, _)| before.contains(name))
                        };
                        let same = before.filter(could).is_none_or(|before| before == now);
                        assert!(same, "changed within an exchange");
                    }
                    before = Some(now);
                }
            }
        }
    }
    assert!(cut > 50, "{cut}");
}

/// The steps of a recorded run, and the tools that it calls.
fn recorded(run: &Value) -> (Vec<Step>, Vec<(String, String)>) {
    let messages = run["messages"].as_array().unwrap();
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    let (mut steps, mut used) = (Vec::new(), Vec::new());
    for message in messages {
        match message["role"].as_str().unwrap() {
            "system" => steps.push(Step::System(text(message))),
            "user" => steps.push(Step::User(text(message))),
            "tool" => {
                let id = &message["tool_call_id"];
                let mut name =
                    messages.iter().filter_map(|it| it["tool_calls"].as_array()).flatten();
                let name =
                    name.rfind(|call| call["id"] == *id).unwrap()["function"]["name"].clone();
                let name = name.as_str().unwrap().to_owned();
                if !used.iter().any(|(it, _)| *it == name) {
                    used.push((name.clone(), format!("Can {}.", name.replace('_', " "))));
                }
                match steps.last_mut() {
                    Some(Step::Calls(calls)) => calls.push((name, text(message))),
                    _ => steps.push(Step::Calls(vec![(name, text(message))])),
                }
            }
            _ if message["tool_calls"].is_array() => steps.push(Step::Calls(Vec::new())),
            _ => steps.push(Step::Model(text(message))),
        }
    }
    steps.retain(|step| !matches!(step, Step::Calls(calls) if calls.is_empty()));
    (steps, used)
}
