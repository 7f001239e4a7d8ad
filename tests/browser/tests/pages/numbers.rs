//! The numbers on the page are the report's, at any size.

use crate::data::explanation;
use crate::{assert_quiet, browser, open};

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<String> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| String::from_utf8_lossy(group).into_owned())
        .collect();
    groups.join(",")
}

#[test]
fn of_none_one_three_hundred_and_ten_thousand_items() {
    let mut browser = browser!();
    for count in [0, 1, 300, 10_000] {
        let explanation = explanation(count);
        let report = &explanation.report;
        let mut tab = open(&mut browser, &explanation.page().to_string());
        let (included, excluded) = (report.included.len(), report.excluded.len());
        assert_eq!(tab.text("#tile-in").unwrap(), grouped(included));
        assert_eq!(tab.text("#tile-out").unwrap(), grouped(excluded));
        let status = tab.text("#status").unwrap();
        let items = if count == 1 { "1 item," } else { "items," };
        assert!(status.starts_with(&grouped(count)) && status.contains(items), "{status}");
        assert_eq!(tab.text("#h-items").unwrap(), "What is in, what is out, and why");

        // The bar and its legend: every kind's tokens, and what is kept free.
        let bar = tab.eval("document.getElementById('bar').getAttribute('aria-label')").unwrap();
        let bar = bar.as_str().unwrap();
        let kinds = ["Message", "Document", "ToolOutput", "Memory", "Ticket"];
        for kind in kinds {
            let tokens: i64 = report
                .included
                .iter()
                .filter(|entry| entry.item.kind().as_str() == kind)
                .map(|entry| entry.item.tokens())
                .sum();
            let expected = format!("{kind} {}", grouped(tokens as usize));
            assert!(tokens == 0 || bar.contains(&expected), "{expected} in {bar}");
        }
        let reserve = explanation.budget.as_ref().unwrap().output_reserve();
        assert!(
            bar.contains(&format!("Kept for the answer {}", grouped(reserve as usize))),
            "{bar}"
        );
        assert!(bar.contains("Margin for estimates"), "{bar}");
        let legend = tab.text("#legend").unwrap();
        assert!(legend.contains("Fixed 120"), "{legend}");

        // Not all rows at once, and the rest when asked for.
        let rows = |tab: &mut cupel_browser::Tab<'_>| tab.count("#rows > li[id]").unwrap() as usize;
        assert_eq!(rows(&mut tab), count.min(100));
        if count > 100 {
            tab.click("#more").unwrap();
            // The button, and what comes into view after it.
            assert!(rows(&mut tab) >= 200);
        }
        assert_eq!(tab.count("#stages tbody tr").unwrap(), 5);
        assert_eq!(tab.count("#sources tbody tr").unwrap(), 3);
        let sources = tab.text("#sources").unwrap();
        assert!(
            sources.contains("timed out") && sources.contains("failed: <b>gone</b>"),
            "{sources}"
        );
        assert!(tab.text("#notes").unwrap().contains("a file by its id"));
        assert_quiet(&mut tab);
    }
}

#[test]
fn a_report_alone_shows_what_it_has() {
    let mut browser = browser!();
    let report = explanation(300).report;
    let page = cupel::explain::Explanation::new(report).page().to_string();
    let mut tab = open(&mut browser, &page);
    assert_eq!(tab.text("#h-window").unwrap(), "The selection");
    assert!(!tab.text("#legend").unwrap().contains("answer"));
    assert_eq!(tab.count("#sources, #notes, #difference").unwrap(), 0);
}

#[test]
fn the_grid_shows_the_selection_in_its_order() {
    let mut browser = browser!();
    let explanation = explanation(300);
    let mut tab = open(&mut browser, &explanation.page().to_string());
    let cells = tab
        .eval("[...document.querySelectorAll('#grid button')].map((cell) => Number(cell.dataset.item))")
        .unwrap();
    let cells: Vec<u64> =
        cells.as_array().unwrap().iter().map(|cell| cell.as_u64().unwrap()).collect();
    assert!(cells.is_sorted() && cells.len() > 100, "{cells:?}");
    // The share of the squares is the share of the tokens.
    let tokens: i64 = explanation.report.included.iter().map(|entry| entry.item.tokens()).sum();
    let size = explanation.budget.as_ref().unwrap().max_tokens() + 120;
    let expected = 500.0 * tokens as f64 / size as f64;
    assert!((cells.len() as f64 - expected).abs() < 3.0, "{} squares, {expected}", cells.len());
    assert_eq!(tab.count("#grid .cell").unwrap(), 500);
}
