//! Duration of work in the browser's page: opening, filtering, searching, sorting.
//!
//! Run it with `cargo bench -p cupel-browser --bench page`. Opening is from the start of loading to
//! the last script; the others are from the input to the next frame. Medians of five.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "../tests/pages/data.rs"]
mod data;

use cupel_browser::{Browser, Error, Tab};
use data::explanation;

const RUNS: usize = 5;

/// From the start of loading until the page is drawn from its data.
const OPEN: &str = "performance.getEntriesByName('cupel-open')[0].startTime + \
                    performance.getEntriesByName('cupel-open')[0].duration";

/// Waits until what an input changed is laid out and about to be painted.
fn timed(input: &str) -> String {
    format!(
        "(async () => {{ const start = performance.now(); {input}; \
         document.body.offsetHeight; await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); \
         return performance.now() - start; }})()"
    )
}

/// Inputs of a person, each with the input that undoes it.
const INPUTS: [(&str, &str); 4] = [
    (
        "filter by kind",
        "{ const s = document.querySelector('#filter-kind'); s.selectedIndex = 1; s.dispatchEvent(new Event('change')); }",
    ),
    (
        "search, first",
        "{ const s = document.querySelector('#search'); s.value = 'refund order'; s.dispatchEvent(new Event('input')); }",
    ),
    (
        "search, next letter",
        "{ const s = document.querySelector('#search'); s.value = 'refund order i'; s.dispatchEvent(new Event('input')); }",
    ),
    ("sort by score", "document.querySelector('[data-sort=score]').click()"),
];

fn number(tab: &mut Tab<'_>, script: &str) -> Result<f64, Error> {
    Ok(tab.eval(script)?.as_f64().unwrap_or(f64::NAN))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this too, and is not about speed.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut browser = Browser::start()?;
    println!("{:<22}{:>14}{:>14}{:>14}", "ms", "300 items", "3,000 items", "10,000 items");
    let mut table = vec![Vec::new(); INPUTS.len() + 3];
    for count in [300, 3_000, 10_000] {
        let explanation = explanation(count);
        let begun = std::time::Instant::now();
        let html = explanation.page().to_string();
        let rendered = begun.elapsed().as_secs_f64() * 1_000.0;
        let mut times = vec![Vec::new(); INPUTS.len() + 1];
        for _ in 0..RUNS {
            let mut tab = browser.open_page(&html)?;
            times[0].push(number(&mut tab, OPEN)?);
            for (row, (_, input)) in INPUTS.iter().enumerate() {
                times[row + 1].push(number(&mut tab, &timed(input))?);
            }
        }
        table[0].push(html.len() as f64 / 1_024.0);
        table[1].push(rendered);
        for (row, times) in times.into_iter().enumerate() {
            table[row + 2].push(median(times));
        }
    }
    let names = ["page, KiB", "written by the library", "open"];
    let names = names.into_iter().chain(INPUTS.map(|(name, _)| name));
    for (name, row) in names.zip(table) {
        println!("{name:<22}{:>14.1}{:>14.1}{:>14.1}", row[0], row[1], row[2]);
    }
    Ok(())
}
