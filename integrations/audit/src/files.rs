//! Files of recordings: found in folders, and read session by session.

use std::collections::HashSet;
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

/// Files with recordings, and folders that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct FoundFiles {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) skipped: Vec<SkippedLine>,
}

/// Finds files with recordings: each path itself, or all `.jsonl`, `.ndjson` and `.json` files below it, by
/// name.
///
/// # Errors
///
/// Names the path that does not exist, or the folder without recordings.
pub(crate) fn find(paths: &[PathBuf]) -> Result<FoundFiles, String> {
    let mut found = FoundFiles::default();
    // Folders that were seen: links may lead in a circle.
    let mut seen = HashSet::new();
    for path in paths {
        let named = shown(path);
        let facts = path.metadata().map_err(|error| format!("{named}: {error}"))?;
        let before = found.files.len();
        match facts.is_dir() {
            true => {
                path.read_dir().map_err(|error| format!("{named}: {error}"))?;
                walk(path, 0, &mut seen, &mut found);
            }
            false => found.files.push(path.clone()),
        }
        if found.files.len() == before {
            let endings = "expected files that end in .jsonl, .ndjson or .json";
            return Err(format!("{named}: no recordings; {endings}"));
        }
    }
    Ok(found)
}

fn walk(folder: &Path, depth: usize, seen: &mut HashSet<PathBuf>, found: &mut FoundFiles) {
    const DEEPEST: usize = 64;
    let mut skip = |why: String| found.skipped.push(SkippedLine { place: shown(folder), why });
    if depth > DEEPEST {
        return skip(format!("the folder is deeper than {DEEPEST} levels"));
    }
    match folder.canonicalize().map(|real| seen.insert(real)) {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => return skip(error.to_string()),
    }
    let entries = folder.read_dir().and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
    });
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return skip(error.to_string()),
    };
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, depth + 1, seen, found);
        } else if path
            .extension()
            .is_some_and(|end| end == "jsonl" || end == "ndjson" || end == "json")
        {
            match path.metadata() {
                // A pipe that nobody writes to never ends.
                Ok(facts) if !facts.is_file() => {
                    let why = "it is no file".to_owned();
                    found.skipped.push(SkippedLine { place: shown(&path), why });
                }
                // Whatever else is wrong shows when it is opened.
                _ => found.files.push(path),
            }
        }
    }
}

/// Returns a path as one line of text. Names of files may hold anything, even commands for a terminal.
fn shown(path: &Path) -> String {
    let visible = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    path.display().to_string().chars().map(visible).collect()
}

/// Reads the sessions of a file, one at a time. `on_session` gets each one with the bytes that were read so
/// far.
pub(crate) fn sessions(path: &Path, on_session: &mut dyn FnMut(Result<Session, SkippedLine>, u64)) {
    let name = shown(path);
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
