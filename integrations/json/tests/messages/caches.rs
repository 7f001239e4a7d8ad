//! The stand-in's prompt cache, by the rules of the page on prompt caching.

use serde_json::{Value, json};

use cupel_dev_servers::local_server::messages::caches::{Memory, Usage};

fn request(messages: &[Value]) -> Value {
    json!({"model": "test-100000", "max_tokens": 9, "messages": messages})
}

fn said(count: usize) -> Vec<Value> {
    let message = |at: usize| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        json!({"role": role, "content": [{"type": "text", "text": format!("{at} {}", "word ".repeat(100))}]})
    };
    (0..count).map(message).collect()
}

fn marked(mut messages: Vec<Value>) -> Vec<Value> {
    let last = messages.last_mut().unwrap();
    last["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    messages
}

#[test]
fn a_prefix_is_read_from_a_mark_within_twenty_blocks() {
    let mut memory = Memory::default();
    let first = memory.serve(&request(&marked(said(9))));
    assert!(first.read == 0 && first.written > 900, "{first:?}");
    let next = memory.serve(&request(&marked(said(27))));
    assert_eq!(next.read, first.written, "18 blocks on");
    let far = memory.serve(&request(&marked(said(49))));
    assert_eq!(far.read, 0, "22 blocks on");
    let again = memory.serve(&request(&marked(said(49))));
    assert_eq!((again.read, again.written), (far.written, 0));
    assert_eq!(memory.serve(&request(&said(49))).read, 0, "without a mark nothing is looked for");
}

#[test]
fn short_prompts_are_not_cached() {
    let mut memory = Memory::default();
    let short = request(&marked(said(1)));
    assert_eq!(memory.serve(&short).written, 0);
    assert_eq!(memory.serve(&short).read, 0);
    let usage = Usage { read: 100, written: 100, new: 100 };
    assert!((usage.cost() - 235.0).abs() < 1e-9 && usage.total() == 300);
}
