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
