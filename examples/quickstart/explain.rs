//! Makes a page of a saved report, and of the one before it if there is one.
//!
//! Run it with `cargo run --example explain -- report.json [previous.json] > page.html`. The files
//! hold a report as JSON, or an explanation, which has the budget and the sources as well:
//! `cargo run --example quickstart -- --json report.json` writes one. `--text` prints to the
//! terminal instead, and `--without-texts` leaves out the texts and all that quotes them.

use std::error::Error;
use std::io::{self, ErrorKind, Write};

use cupel::explain::Explanation;

const USAGE: &str =
    "usage: explain [--text] [--without-texts] report.json [previous.json] > page.html";

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let known = ["--text", "--without-texts"];
    if let Some(unknown) = flags.iter().find(|flag| !known.contains(&flag.as_str())) {
        return Err(format!("unknown argument {unknown:?}; {USAGE}").into());
    }
    let is_set = |flag: &str| flags.iter().any(|set| set == flag);
    let (report, previous) = match files.as_slice() {
        [report] => (read(report)?, None),
        [report, previous] => (read(report)?, Some(read(previous)?)),
        _ => return Err(USAGE.into()),
    };
    let shown = if is_set("--text") {
        let text = report.text().previous(previous.as_ref()).for_stdout();
        if is_set("--without-texts") { text.without_texts() } else { text }.to_string()
    } else {
        let page = report.page().previous(previous.as_ref());
        if is_set("--without-texts") { page.without_texts() } else { page }.to_string()
    };
    match io::stdout().write_all(shown.as_bytes()) {
        // `| head` has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn read(file: &str) -> Result<Explanation, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    Explanation::from_json(&text).map_err(|error| format!("{file}: {error}").into())
}
