//! Filters, sorting, search and details of the list, by mouse and by keyboard.

use cupel::explain::Explanation;
use cupel_browser::{Key, Tab};

use crate::data::explanation;
use crate::{assert_quiet, browser, open};

/// The numbers of the items that are drawn, in their order.
fn drawn(tab: &mut Tab<'_>) -> Vec<usize> {
    let numbers = tab
        .eval("[...document.querySelectorAll('#rows > li[id]')].map((row) => Number(row.id.slice(5)))")
        .unwrap();
    numbers.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as usize).collect()
}

/// Data of an item in the page's order: the selection, then the rest.
struct Row {
    inside: bool,
    kind: String,
    source: String,
    reason: String,
    score: f64,
    tokens: i64,
    text: String,
}

fn rows(explanation: &Explanation) -> Vec<Row> {
    let row = |item: &cupel::ContextItem, score, inside, reason: &str| Row {
        inside,
        kind: item.kind().to_string(),
        source: item.source().to_string(),
        reason: reason.to_owned(),
        score,
        tokens: item.tokens(),
        text: format!("{}\n{}", item.content(), item.tags().join(" ")),
    };
    let report = &explanation.report;
    let included = report.included.iter().map(|e| row(&e.item, e.score, true, e.reason.name()));
    let excluded = report.excluded.iter().map(|e| row(&e.item, e.score, false, e.reason.name()));
    included.chain(excluded).collect()
}

fn numbers(rows: &[Row], keep: impl Fn(&Row) -> bool) -> Vec<usize> {
    (0..rows.len()).filter(|&at| keep(&rows[at])).collect()
}

/// Chooses the option that begins with a name.
fn choose(tab: &mut Tab<'_>, selector: &str, name: &str) {
    let find = format!(
        "[...document.querySelector('{selector}').options].find((o) => o.text.startsWith('{name}')).value"
    );
    let value = tab.eval(&find).unwrap();
    tab.choose(selector, value.as_str().unwrap()).unwrap();
}

fn assert_shows(tab: &mut Tab<'_>, expected: &[usize]) {
    let status = tab.text("#status").unwrap();
    assert!(status.starts_with(&format!("{} of 300 items", expected.len())), "{status}");
    assert_eq!(drawn(tab), expected.iter().copied().take(100).collect::<Vec<_>>());
}

#[test]
fn filters_show_what_they_say() {
    let mut browser = browser!();
    let explanation = explanation(300);
    let rows = rows(&explanation);
    let mut tab = open(&mut browser, &explanation.page().to_string());

    choose(&mut tab, "#filter-kind", "Ticket");
    assert_shows(&mut tab, &numbers(&rows, |row| row.kind == "Ticket"));
    choose(&mut tab, "#filter-source", "Rag");
    assert_shows(&mut tab, &numbers(&rows, |row| row.kind == "Ticket" && row.source == "Rag"));
    tab.click("#reset").unwrap();
    assert_eq!(tab.text("#status").unwrap().split(',').next().unwrap(), "300 items");

    choose(&mut tab, "#filter-reason", "Deduplicated");
    let copies = numbers(&rows, |row| row.reason == "Deduplicated");
    assert!(copies.len() > 1);
    assert_shows(&mut tab, &copies);
    tab.click("#reset").unwrap();

    for (value, inside) in [("in", true), ("out", false)] {
        tab.click(&format!("input[name=in][value={value}]")).unwrap();
        assert_shows(&mut tab, &numbers(&rows, |row| row.inside == inside));
    }
    tab.click("#reset").unwrap();

    tab.click("#search").unwrap();
    tab.type_text("WareHouse del").unwrap();
    let hits = numbers(&rows, |row| row.text.to_lowercase().contains("warehouse del"));
    assert!(!hits.is_empty() && hits.len() < 300);
    assert_shows(&mut tab, &hits);
    assert_eq!(
        tab.eval("document.querySelector('#rows mark').textContent").unwrap(),
        "warehouse del"
    );
    tab.type_text(" no such words").unwrap();
    assert!(tab.text("#rows").unwrap().contains("Nothing matches"));
    tab.press(Key::ESCAPE).unwrap();
    assert_eq!(drawn(&mut tab).len(), 100);

    // The legend is a filter too, and the select says so.
    tab.click("#legend button").unwrap();
    let pressed = tab.text("#legend button[aria-pressed=true] .name").unwrap();
    assert_shows(&mut tab, &numbers(&rows, |row| row.kind == pressed));
    let chosen = "document.querySelector('#filter-kind').selectedOptions[0].text";
    assert!(tab.eval(chosen).unwrap().as_str().unwrap().starts_with(&pressed));
    tab.click("#legend button[aria-pressed=true]").unwrap();
    assert_eq!(tab.count("#legend button[aria-pressed=true]").unwrap(), 0);
    assert_quiet(&mut tab);
}

#[test]
fn sorting_sorts() {
    let mut browser = browser!();
    let explanation = explanation(300);
    let rows = rows(&explanation);
    let mut tab = open(&mut browser, &explanation.page().to_string());
    let mut by = |key: &str, better: &dyn Fn(&Row, &Row) -> bool| {
        tab.click(&format!("[data-sort={key}]")).unwrap();
        let drawn = drawn(&mut tab);
        assert_eq!(drawn.len(), 100);
        let wrong = drawn.windows(2).find(|pair| better(&rows[pair[1]], &rows[pair[0]]));
        assert_eq!(wrong, None, "by {key}");
        assert_eq!(tab.text("[data-sort][aria-pressed=true]").unwrap().split(' ').count(), 2);
    };
    by("score", &|a, b| a.score > b.score);
    by("score", &|a, b| a.score < b.score);
    by("tokens", &|a, b| a.tokens > b.tokens);
    by("tokens", &|a, b| a.tokens < b.tokens);
    by("kind", &|a, b| a.kind.to_lowercase() < b.kind.to_lowercase());
    by("source", &|a, b| a.source.to_lowercase() < b.source.to_lowercase());
    by("reason", &|a, b| a.reason < b.reason);
    tab.click("[data-sort=order]").unwrap();
    assert_eq!(drawn(&mut tab), (0..100).collect::<Vec<_>>());
}

#[test]
fn details_are_folded_and_hold_the_parts_of_the_score() {
    let mut browser = browser!();
    let explanation = explanation(300);
    let mut tab = open(&mut browser, &explanation.page().to_string());
    assert_eq!(tab.count("#rows .body").unwrap(), 0);
    let number = explanation.report.included.iter().position(|e| !e.item.pinned()).unwrap();
    let entry = &explanation.report.included[number];
    tab.click(&format!("#item-{number} summary")).unwrap();
    let body = tab.text(&format!("#item-{number} .body")).unwrap();
    for part in ["ReflexiveScorer", "TagScorer", "KindScorer", "× 70 %"] {
        assert!(body.contains(part), "{part} in {body}");
    }
    assert!(body.contains(&format!("{:.3} CompositeScorer", entry.score)), "{body}");
    assert!(body.contains(entry.item.content()) && body.contains("number"), "{body}");
    let out = explanation.report.included.len();
    tab.click("input[name=in][value=out]").unwrap();
    tab.click(&format!("#item-{out} summary")).unwrap();
    let body = tab.text(&format!("#item-{out} .body")).unwrap();
    assert!(body.contains("BudgetExceeded: needs") && body.contains("were left"), "{body}");
}

#[test]
fn the_keyboard_is_enough() {
    let mut browser = browser!();
    let mut tab = open(&mut browser, &explanation(300).page().to_string());
    let focus = |tab: &mut Tab<'_>| {
        let focus = "document.activeElement.closest('li[id]')?.id || document.activeElement.id";
        tab.eval(focus).unwrap().as_str().unwrap_or_default().to_owned()
    };
    // The first key leads to the items.
    tab.press(Key::TAB).unwrap();
    assert_eq!(tab.eval("document.activeElement.textContent").unwrap(), "Skip to the items");

    tab.press(Key::Char('/')).unwrap();
    assert_eq!(focus(&mut tab), "search");
    tab.type_text("Item 12:").unwrap();
    assert!(tab.text("#status").unwrap().starts_with("1 of 300"));
    tab.press(Key::ESCAPE).unwrap();

    // From the search to the rows: selects, reset, sorts, the first row.
    for _ in 0..5 + 6 {
        tab.press(Key::TAB).unwrap();
    }
    assert_eq!(focus(&mut tab), "item-0");
    tab.press(Key::DOWN).unwrap();
    tab.press(Key::DOWN).unwrap();
    tab.press(Key::UP).unwrap();
    assert_eq!(focus(&mut tab), "item-1");
    tab.press(Key::ENTER).unwrap();
    tab.wait_for("#item-1 details[open] .body").unwrap();

    // The grid: one stop, arrows inside, and Enter shows the item.
    tab.eval("document.querySelector('#grid button').focus()").unwrap();
    assert_eq!(tab.count("#grid [tabindex='0']").unwrap(), 1);
    for _ in 0..30 {
        tab.press(Key::RIGHT).unwrap();
    }
    tab.press(Key::DOWN).unwrap();
    let item = tab.eval("document.activeElement.dataset.item").unwrap();
    let item = item.as_str().unwrap().to_owned();
    assert!(tab.text("#grid-word").unwrap().starts_with('#'));
    tab.press(Key::ENTER).unwrap();
    assert_eq!(focus(&mut tab), format!("item-{item}"));
    tab.wait_for(&format!("#item-{item} details[open]")).unwrap();
    assert_quiet(&mut tab);
}
