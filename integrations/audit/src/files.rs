//! Files of recordings: found in folders, and read session by session.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use crate::session::Session;
use crate::transcript;

/// Part of a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct SkippedLine {
    /// The file, and the line in it.
    pub place: String,
    /// Why it was skipped.
    pub why: String,
}

/// Longest line that is read. It bounds the memory of a file that has no lines.
const LINE_BYTES: u64 = 512 << 20;

/// Files with recordings: each path itself, or all `.jsonl`, `.ndjson` and `.json` files below it, by name.
///
/// # Errors
///
/// Names the path that does not exist, or the folder without recordings.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in paths {
        let facts = path.metadata().map_err(|error| format!("{}: {error}", path.display()))?;
        let before = found.len();
        match facts.is_dir() {
            true => walk(path, 0, &mut found)?,
            false => found.push(path.clone()),
        }
        if found.len() == before {
            let endings = "expected files that end in .jsonl, .ndjson or .json";
            return Err(format!("{}: no recordings; {endings}", path.display()));
        }
    }
    Ok(found)
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    const DEEPEST: usize = 32;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() && depth < DEEPEST {
            walk(&path, depth + 1, found)?;
        } else if path
            .extension()
            .is_some_and(|end| end == "jsonl" || end == "ndjson" || end == "json")
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Reads the sessions of a file, one at a time. `on_session` gets each one with the bytes that were read so
/// far.
pub(crate) fn sessions(path: &Path, on_session: &mut dyn FnMut(Result<Session, SkippedLine>, u64)) {
    let name = path.display().to_string();
    let skipped = |place: String, why: String| Err(SkippedLine { place, why });
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return on_session(skipped(name, error.to_string()), 0),
    };
    if path.extension().is_some_and(|end| end == "json") {
        let mut text = String::new();
        let read =
            std::io::Read::read_to_string(&mut std::io::Read::take(file, LINE_BYTES), &mut text);
        let bytes = text.len() as u64;
        let session = match read {
            Err(error) => return on_session(skipped(name, error.to_string()), bytes),
            Ok(_) => Session::read(name.clone(), &text),
        };
        return match session {
            Ok(session) => on_session(Ok(session), bytes),
            // Some call a file of lines `.json`.
            Err(why)
                if text.trim_end().contains('\n') && text.lines().next().is_some_and(is_json) =>
            {
                drop(why);
                lines(&name, text.as_bytes(), on_session);
            }
            Err(why) => on_session(skipped(name, why), bytes),
        };
    }
    lines(&name, BufReader::new(file), on_session);
}

fn is_json(line: &str) -> bool {
    serde_json::from_str::<&RawValue>(line).is_ok()
}

fn lines(
    name: &str,
    mut reader: impl BufRead,
    on_session: &mut dyn FnMut(Result<Session, SkippedLine>, u64),
) {
    let (mut line, mut number, mut bytes) = (Vec::new(), 0_usize, 0_u64);
    // Messages of a file that has one on each line.
    let mut messages: Vec<Box<RawValue>> = Vec::new();
    loop {
        line.clear();
        number += 1;
        let place = format!("{name}:{number}");
        let read = std::io::Read::take(&mut reader, LINE_BYTES).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(read) => bytes = bytes.saturating_add(read as u64),
            Err(error) => {
                let why = error.to_string();
                on_session(Err(SkippedLine { place, why }), bytes);
                break;
            }
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            let why = "the line is not UTF-8".to_owned();
            on_session(Err(SkippedLine { place, why }), bytes);
            continue;
        };
        let text = text.trim().trim_start_matches('\u{feff}');
        if text.is_empty() {
            continue;
        }
        match transcript::message(text) {
            Some(message) => messages.push(message),
            None => {
                let session = Session::read(place.clone(), text);
                on_session(session.map_err(|why| SkippedLine { place, why }), bytes);
            }
        }
    }
    if !messages.is_empty() {
        let session = Session::of_messages(name.to_owned(), &messages);
        let place = name.to_owned();
        on_session(session.map_err(|why| SkippedLine { place, why }), bytes);
    }
}
