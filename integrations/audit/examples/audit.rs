//! `cargo run --example audit -p tower-cupel-audit -- <files or folders>`: replays recorded conversations at two
//! windows, prints the table, and writes `audit.html` into the folder for temporary files.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use cupel::Policy;
use cupel_audit::Audit;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        paths.push(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/turns/data").into());
    }
    let audit = Audit::new()
        .window(8_000)
        .window(32_000)
        .way("chat", Policy::chat())
        .way("tool_use", Policy::tool_use());
    let report = audit.files(&paths, &mut |_| {})?;
    println!("{report}");
    let page = std::env::temp_dir().join("audit.html");
    std::fs::write(&page, report.page().to_string())?;
    println!("page: {}", page.display());
    Ok(())
}
