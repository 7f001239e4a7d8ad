//! The conversations that ship with the benchmarks and the example `recall`: whole, and as their formats say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::HashSet;
use std::path::PathBuf;

use cupel::tokens::{HeuristicCounter, TokenCounter};
use serde_json::Value;

fn path(inside: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(inside)
}

/// Every `*.jsonl` in a folder by name, one value a line.
fn files(folder: &str) -> Vec<(String, Vec<Value>)> {
    let mut files: Vec<_> = std::fs::read_dir(path(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.len() < 400_000, "{name} has {} bytes", text.len());
            let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}"));
            let lines = text.lines().map(parse).collect();
            (name, lines)
        })
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    let text = value[field].as_str().unwrap_or_else(|| panic!("`{field}` is no text in {value}"));
    assert!(!text.trim().is_empty(), "`{field}` is empty in {value}");
    text
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("`{field}` is no list in {value}"))
}

#[test]
fn evidence_points_at_items_that_exist() {
    for (file, conversations) in files("benches/evidence/data") {
        for conversation in &conversations {
            let name = text(conversation, "name");
            let mut ids = HashSet::new();
            for item in list(conversation, "items") {
                assert!(ids.insert(text(item, "id")), "{file}, {name}: two items {}", item["id"]);
                assert!(["Message", "ToolOutput"].contains(&text(item, "kind")), "{file}: {item}");
                text(item, "text");
            }
            assert!(ids.len() >= 150, "{file}, {name}: {} items", ids.len());

            let mut asked = HashSet::new();
            for question in list(conversation, "questions") {
                let words = text(question, "question");
                assert!(asked.insert(words), "{file}: asked twice: {words}");
                let mut seen = HashSet::new();
                for id in list(question, "evidence") {
                    let id = id.as_str().unwrap();
                    assert!(ids.contains(id), "{file}: {words} points at {id}");
                    assert!(seen.insert(id), "{file}: {words} points at {id} twice");
                }
            }
        }
    }
}

#[test]
fn there_are_enough_questions_of_every_sort() {
    let conversations: Vec<Value> =
        files("benches/evidence/data").into_iter().flat_map(|(_, lines)| lines).collect();
    let sizes: Vec<usize> = conversations
        .iter()
        .flat_map(|conversation| list(conversation, "questions"))
        .map(|question| list(question, "evidence").len())
        .collect();
    let tool_outputs = conversations
        .iter()
        .flat_map(|conversation| list(conversation, "items"))
        .filter(|item| item["kind"] == "ToolOutput")
        .count();

    assert!(conversations.len() >= 4, "{} conversations", conversations.len());
    assert!(sizes.len() >= 60, "{} questions", sizes.len());
    assert!(sizes.iter().filter(|size| **size == 0).count() >= 8, "questions without an answer");
    assert!(sizes.iter().filter(|size| **size > 1).count() >= 20, "questions of several items");
    assert!(tool_outputs >= 40, "{tool_outputs} tool outputs");
}

#[test]
fn every_tool_call_of_a_run_has_its_result_behind_it() {
    for (file, runs) in files("benches/turns/data") {
        // Over the whole file, since benchmarks join its runs to one session.
        let mut ids = HashSet::new();
        for run in &runs {
            let name = text(run, "name");
            let messages = list(run, "messages");
            assert!((40..=150).contains(&messages.len()), "{name}: {} messages", messages.len());
            assert_eq!(messages[0]["role"], "system", "{name}");

            let mut waiting: Vec<&str> = Vec::new();
            for (number, message) in messages.iter().enumerate() {
                let place = format!("{file}, {name}, message {number}");
                if message["role"] == "tool" {
                    let id = text(message, "tool_call_id");
                    text(message, "content");
                    assert!(waiting.contains(&id), "{place}: nobody called {id}");
                    waiting.retain(|called| *called != id);
                    continue;
                }
                assert!(waiting.is_empty(), "{place}: no result for {waiting:?}");
                match text(message, "role") {
                    "system" => assert_eq!(number, 0, "{place}"),
                    "user" => assert!(!text(message, "content").is_empty()),
                    "assistant" if message["tool_calls"].is_null() => {
                        text(message, "content");
                    }
                    "assistant" => {
                        for call in list(message, "tool_calls") {
                            let id = text(call, "id");
                            assert!(ids.insert(id), "{place}: {id} comes twice");
                            assert_eq!(call["type"], "function", "{place}");
                            text(&call["function"], "name");
                            let arguments = text(&call["function"], "arguments");
                            let arguments: Value = serde_json::from_str(arguments).expect(&place);
                            assert!(arguments.is_object(), "{place}: {arguments}");
                            waiting.push(id);
                        }
                    }
                    other => panic!("{place}: role {other}"),
                }
            }
            assert!(waiting.is_empty(), "{name} ends without {waiting:?}");
            let users = messages.iter().filter(|message| message["role"] == "user").count();
            assert!(users >= 5, "{name}: {users} user turns");
        }
    }
}

#[test]
fn runs_are_long_enough_to_be_trimmed() {
    let mut longest_loop = 0;
    let mut tokens = 0;
    let mut runs = 0;
    for (file, lines) in files("benches/turns/data") {
        let mut of_file = 0;
        for run in &lines {
            runs += 1;
            let mut steps = 0;
            for message in list(run, "messages") {
                of_file += HeuristicCounter.count(&message.to_string());
                match message["role"].as_str() {
                    Some("user") => steps = 0,
                    _ if !message["tool_calls"].is_null() => steps += 1,
                    _ => {}
                }
                longest_loop = longest_loop.max(steps);
            }
        }
        assert!(of_file > 12_000, "{file} has {of_file} tokens");
        tokens += of_file;
    }
    assert!(runs >= 3, "{runs} runs");
    assert!(tokens >= 40_000, "{tokens} tokens");
    assert!(longest_loop >= 10, "the longest loop has {longest_loop} steps");
}

#[test]
fn the_example_asks_about_the_beginning_and_the_middle() {
    let file =
        std::fs::read_to_string(path("examples/quickstart/recall_conversation.json")).unwrap();
    let conversation: Value = serde_json::from_str(&file).unwrap();
    let messages = list(&conversation, "messages");
    assert!(messages.len() >= 200, "{} messages", messages.len());
    for (number, message) in messages.iter().enumerate() {
        assert_eq!(
            text(message, "role"),
            ["user", "assistant"][number % 2],
            "message {}",
            number + 1
        );
        text(message, "content");
    }
    let questions = list(&conversation, "questions");
    assert!(questions.len() >= 5, "{} questions", questions.len());
    for question in questions {
        text(question, "question");
        let answers = list(question, "answers");
        assert!(!answers.is_empty(), "{question}");
        for answer in answers {
            // Counted from 1; the newest hundred would be sent by any way of selecting.
            let number = answer.as_u64().unwrap() as usize;
            assert!((1..=messages.len() / 2).contains(&number), "{question}");
        }
    }
}
