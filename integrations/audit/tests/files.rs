//! Files as people have them: found in folders, read line by line, and not stopped by bad ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::path::PathBuf;

use cupel::Policy;
use cupel_audit::{Audit, AuditReport};

const SESSION: &str =
    r#"{"messages":[{"role":"user","content":"Hi there"},{"role":"assistant","content":"Hello"}]}"#;

fn audit(paths: &[PathBuf]) -> Result<AuditReport, String> {
    let audit = Audit::new().window(1_000).way("chat", Policy::chat());
    audit.files(paths, &mut |_| {}).map_err(|error| error.to_string())
}

#[test]
fn a_folder_is_read_and_bad_lines_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "a.jsonl",
        format!("{SESSION}\n\nnot json\n{SESSION}\n{{\"prompt\":\"x\"}}\n").as_bytes(),
    );
    write("b/c.json", SESSION.replace(',', ",\n ").as_bytes());
    write("b/d.ndjson", b"\xff\xfe\n");
    // A message on each line.
    write(
        "b/e.jsonl",
        b"{\"role\":\"user\",\"content\":\"Hi\"}\n{\"role\":\"assistant\",\"content\":\"Yes\"}\n",
    );
    write("b/notes.txt", b"not a recording");
    let report = audit(&[folder.path().to_owned()]).unwrap();
    assert_eq!((report.sessions, report.calls), (4, 4));
    assert_eq!(report.skipped_count, 3);
    let places: Vec<&str> =
        report.skipped.iter().map(|it| it.place.rsplit('/').next().unwrap()).collect();
    assert_eq!(places, ["a.jsonl:3", "a.jsonl:5", "d.ndjson:1"]);
    assert!(report.to_string().contains("3 lines could not be read"));
}

#[test]
fn a_path_without_recordings_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    assert!(audit(&[missing]).unwrap_err().contains("missing"));
    assert!(audit(&[folder.path().to_owned()]).unwrap_err().contains("no recordings"));
}

#[test]
fn progress_ends_with_all_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, format!("{SESSION}\n{SESSION}\n")).unwrap();
    let mut last = cupel_audit::AuditProgress::default();
    let audit = Audit::new().window(1_000).way("chat", Policy::chat());
    drop(audit.files(&[path], &mut |progress| last = progress).unwrap());
    assert_eq!((last.bytes, last.sessions, last.calls), (last.of_bytes, 2, 2));
}

#[cfg(unix)]
#[test]
fn links_pipes_and_strange_names_end_no_audit() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("a.jsonl"), SESSION).unwrap();
    // Two links in a circle would be followed 2^64 times.
    std::os::unix::fs::symlink(folder.path(), inside.join("up")).unwrap();
    std::os::unix::fs::symlink(folder.path(), inside.join("up-again")).unwrap();
    std::os::unix::fs::symlink("nowhere", inside.join("dead.jsonl")).unwrap();
    // Nobody ever writes to it.
    let pipe = inside.join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(inside.join("\u{1b}[31mred\nline.jsonl"), "{").unwrap();
    let report = audit(&[folder.path().to_owned()]).unwrap();
    assert_eq!(report.sessions, 1);
    let skipped: Vec<(&str, &str)> = report
        .skipped
        .iter()
        .map(|it| (it.place.rsplit('/').next().unwrap(), it.why.as_str()))
        .collect();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert_eq!(skipped[0], ("pipe.jsonl", "it is no file"));
    assert!(skipped[1].0.starts_with("\u{fffd}[31mred\u{fffd}line.jsonl"), "{skipped:?}");
    assert_eq!(skipped[2].0, "dead.jsonl");
    assert!(!report.to_string().contains('\u{1b}'));
}

#[test]
fn half_characters_and_deep_messages_are_read_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    // JavaScript cuts texts between the two halves of a character.
    let half = SESSION.replace("Hello", "Hello \\ud83d").replace("Hi there", "\\ude00 Hi there");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = SESSION.replace("\"Hello\"", &deep);
    let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    std::fs::write(&path, format!("{half}\n{deep}\n{deeper}\n{SESSION}\n")).unwrap();
    let report = audit(&[path]).unwrap();
    assert_eq!((report.sessions, report.calls), (2, 2));
    let why: Vec<&str> = report.skipped.iter().map(|it| it.why.as_str()).collect();
    assert_eq!(why.len(), 2, "{why:?}");
    assert_eq!(why[0], "message 1 is nested too deeply");
}

#[test]
fn a_session_of_very_many_calls_is_replayed_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let line =
        "{\"role\":\"user\",\"content\":\"Hi\"}\n{\"role\":\"assistant\",\"content\":\"Yes\"}\n";
    std::fs::write(&path, line.repeat(2_001)).unwrap();
    // Without a window nothing is planned.
    let report = Audit::new().files(&[path], &mut |_| {}).unwrap();
    assert_eq!((report.sessions, report.calls, report.skipped_count), (1, 2_000, 1));
    assert_eq!(report.skipped[0].why, "only the first 2000 of its 2001 calls are replayed");
}

#[test]
fn a_system_prompt_of_several_sessions_is_listed_once() {
    let with = |prompt: &str| {
        let system = format!(r#"{{"role":"system","content":"{prompt}"}},"#);
        SESSION.replace("[{", &format!("[{system}{{"))
    };
    let sessions = [with("Be brief and kind."), with("Be brief and kind."), with("Be long.")];
    let sessions = sessions.map(|json| cupel_audit::Session::read("s", &json).unwrap());
    let report = Audit::new().window(1_000).way("chat", Policy::chat()).sessions(sessions);
    let listed: Vec<(u64, u64)> = report
        .waste
        .iter()
        .filter(|entry| entry.kind == cupel_audit::WasteKind::System)
        .map(|entry| (entry.sessions, entry.calls))
        .collect();
    assert_eq!(listed, [(2, 2), (1, 1)]);
}
