//! Matched words are shown with the items, and left out with the texts.

use cupel::explain::{Explanation, Section};
use cupel::relevance::Question;
use cupel::{ContextBudget, ContextItem, Policy};
use serde_json::Value;

fn asked() -> Explanation {
    let texts = ["The courier lost the parcel INV-2041.", "Thank you!", "Good morning to you."];
    let items: Vec<_> = texts.iter().map(|text| ContextItem::new(*text, 20).unwrap()).collect();
    let budget = ContextBudget::builder(45).build().unwrap();
    let question = Question::new("Where is parcel INV-2041?");
    Explanation::new(Policy::chat().dry_run_for(&question, &items, &budget).unwrap()).budget(budget)
}

#[test]
fn matched_words_are_shown() {
    let explanation = asked();
    let text = explanation.text().sections(&[Section::Included]).to_string();
    assert!(text.contains("[has ") && text.contains("parcel"), "{text}");
    let data: Value = serde_json::from_str(&explanation.page().data()).unwrap();
    let items = data["items"].as_array().unwrap();
    let parcel = items.iter().find(|item| item["x"].as_str().unwrap().contains("courier")).unwrap();
    let matched: Vec<_> = parcel["matched"].as_array().unwrap().iter().collect();
    assert!(matched.iter().any(|word| *word == "parcel"), "{matched:?}");
    assert!(parcel["hint"].as_f64().unwrap() > 0.0, "{parcel}");
}

#[test]
fn without_texts_they_are_not() {
    let explanation = asked();
    let page = explanation.page().without_texts().to_string();
    let text = explanation.text().without_texts().to_string();
    assert!(!page.contains("2041") && !page.contains("parcel"));
    assert!(!text.contains("2041") && !text.contains("parcel"), "{text}");
}
