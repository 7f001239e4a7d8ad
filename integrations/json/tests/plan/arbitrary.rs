//! Random conversations that only grow.

use proptest::prelude::*;
use serde_json::Value;

use crate::support::{assistant, filler, step, system, user};

/// One thing that happens in a conversation.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Question(usize),
    Answer(usize),
    Step(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (1_usize..60).prop_map(Event::Question),
        3 => (1_usize..80).prop_map(Event::Answer),
        4 => prop_oneof![4 => 1_usize..80, 1 => 200_usize..900].prop_map(Event::Step),
    ]
}

/// A conversation, and after how many messages a model was called.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Value>,
    pub(crate) calls: Vec<usize>,
}

/// Texts share words, so that something is recalled.
fn words(seed: usize, count: usize) -> String {
    let themes = ["parcel", "invoice", "flight", "garden", "printer", "refund"];
    let theme = themes[seed % themes.len()];
    format!("{theme} {theme}{} {}", seed % 7, filler(&format!("w{seed}x"), count))
}

pub(crate) fn conversation() -> impl Strategy<Value = Conversation> {
    (0_usize..60, prop::collection::vec(event(), 1..26)).prop_map(|(head, events)| {
        let mut messages = vec![system(&filler("rule", head + 1)), user(&words(0, 5))];
        let mut calls = vec![messages.len()];
        for (seed, event) in events.into_iter().enumerate() {
            match event {
                Event::Question(length) if messages.last().unwrap()["role"] != "user" => {
                    messages.push(user(&words(seed, length)));
                }
                Event::Question(_) => continue,
                Event::Answer(length) if messages.last().unwrap()["role"] != "assistant" => {
                    // The answer to the last call, and then the user goes on.
                    messages.push(assistant(&words(seed, length)));
                    messages.push(user(&words(seed + 1, length / 3 + 1)));
                }
                Event::Answer(_) => continue,
                Event::Step(length) => {
                    let id = format!("call-{seed}");
                    messages.extend(step(&id, &words(seed, 2), &words(seed, length)));
                }
            }
            calls.push(messages.len());
        }
        Conversation { messages, calls }
    })
}
