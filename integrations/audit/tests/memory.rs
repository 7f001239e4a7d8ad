//! Memory of an audit: that of the longest session, however many there are.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use cupel::Policy;
use cupel_audit::Audit;
use serde_json::json;

/// A session of about 200 KB.
fn session() -> String {
    let mut messages = Vec::new();
    for turn in 0..10 {
        messages.push(json!({"role": "user", "content": format!("Question {turn}?")}));
        let text = format!("Line {turn} of an answer.\n").repeat(800);
        messages.push(json!({"role": "assistant", "content": text}));
    }
    json!({"messages": messages}).to_string()
}

/// Most bytes that are allocated at a time in an audit of so many sessions.
fn most_bytes(sessions: usize) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let mut file = std::fs::File::create(&path).unwrap();
    for _ in 0..sessions {
        writeln!(file, "{}", session()).unwrap();
    }
    let audit = Audit::new().window(10_000).way("chat", Policy::chat());
    let measured = allocation_counter::measure(|| {
        let report = audit.files(&[path], &mut |_| {}).unwrap();
        assert_eq!(report.sessions, sessions as u64);
    });
    measured.bytes_max
}

#[test]
fn more_sessions_need_no_more_memory() {
    // Vocabularies are loaded once.
    most_bytes(1);
    let (few, many) = (most_bytes(2), most_bytes(20));
    assert!(many < few + few / 5, "{few} and {many} bytes");
}
