//! Documents of a request and of sources, in a planned turn.

use cupel::ContextItem;
use cupel::conversation::Attributes;
use cupel::conversation::plan::Part;
use cupel::gather::Source;
use rig_core::completion::{CompletionRequest, Document};
use rig_core::message::{Message, UserContent};

use crate::select::{adapter, request, try_plan};
use crate::support::{filler, word_count};

fn document(id: &str, text: impl Into<String>) -> Document {
    Document { id: id.to_owned(), text: text.into(), additional_props: Default::default() }
}

fn asked(turns: usize, question: &str, documents: Vec<Document>) -> CompletionRequest {
    let talk = (0..turns).flat_map(|turn| {
        let words = |who: &str| format!("{who}{turn} {}", filler(19));
        [Message::user(words("q")), Message::assistant(words("a"))]
    });
    let mut asked = request(talk.chain([Message::user(question)]).collect());
    asked.documents = documents;
    asked
}

/// Text before the question.
fn recalled(sent: &CompletionRequest) -> String {
    let Some(Message::User { content }) = sent.chat_history.last() else { panic!() };
    match &content[..] {
        [UserContent::Text(recalled), _] => recalled.text.clone(),
        _ => String::new(),
    }
}

fn crates() -> Document {
    document("crates", "A crate holds 24 bottles.")
}

#[tokio::test]
async fn documents_of_a_request_that_fits_stay_where_they_are() {
    let before = asked(3, "How many bottles?", vec![crates(), document("other", filler(50))]);
    let (sent, selection) = try_plan(before.clone(), adapter(), 1_000, Vec::new()).await.unwrap();
    assert_eq!((&sent.chat_history, &sent.documents), (&before.chat_history, &before.documents));
    assert!(selection.plan.unwrap().whole);
}

#[tokio::test]
async fn documents_that_do_not_all_fit_are_quoted_by_relevance() {
    let mut props = document("prices", "A bottle costs 3.");
    props.additional_props.insert("year".to_owned(), "2031".to_owned());
    let documents = vec![document("long", filler(900)), crates(), props, document("", "")];
    let before =
        asked(40, "How many bottles does a crate hold, and what costs a bottle?", documents);
    let (sent, selection) = try_plan(before, adapter(), 1_000, Vec::new()).await.unwrap();
    assert!(sent.documents.is_empty());
    let recalled = recalled(&sent);
    assert!(recalled.contains("[document, untrusted] crates: A crate holds 24 bottles.\n"));
    assert!(recalled.contains("] prices year: \"2031\": A bottle costs 3.\n"), "{recalled}");
    let turn = selection.plan.unwrap();
    assert_eq!(turn.recalled_tokens, word_count(&recalled) + 4);
    assert!(turn.recalled_tokens <= turn.share);
    assert!(turn.cached_tokens + turn.new_tokens <= 1_000);
}

#[tokio::test]
async fn pinned_documents_stay_documents() {
    let pinned =
        adapter().document_attributes(|document| Attributes::new().pinned(document.id == "static"));
    let documents = vec![crates(), document("static", filler(100))];
    let before = asked(40, "How many bottles does a crate hold?", documents);
    let (sent, selection) = try_plan(before.clone(), pinned, 1_000, Vec::new()).await.unwrap();
    assert_eq!(sent.documents, before.documents[1..]);
    assert!(recalled(&sent).contains("crates: A crate holds 24 bottles."));
    let turn = selection.plan.unwrap();
    let parts: Vec<Part> = turn.parts().map(|(_, part)| part).collect();
    assert_eq!(parts[parts.len() - 2..], [Part::Earlier, Part::Head]);
    let used = turn.cached_tokens + turn.new_tokens;
    assert!((700..=1_000).contains(&used), "{used}");
}

#[tokio::test]
async fn what_sources_give_is_quoted_beside_what_was_said() {
    let item = ContextItem::builder("A crate holds 24 bottles.", 1).metadata_entry("id", "crates");
    let items = vec![item.build().unwrap(), ContextItem::new("A crate holds no cans.", 1).unwrap()];
    let source = Source::items("handbook", items);
    let before = asked(40, "How many bottles does a crate hold?", Vec::new());
    let (sent, _) = try_plan(before, adapter(), 1_000, vec![source]).await.unwrap();
    assert!(sent.documents.is_empty());
    let recalled = recalled(&sent);
    assert!(recalled.contains("[handbook, untrusted] crates: A crate holds 24 bottles.\n"));
    assert!(recalled.contains("[handbook, untrusted] A crate holds no cans.\n"), "{recalled}");
}

#[tokio::test]
async fn a_short_conversation_leaves_its_room_to_documents() {
    let documents =
        (0..10).map(|n| document(&format!("d{n}"), format!("bottles {}", filler(99)))).collect();
    let before = asked(0, "How many bottles?", documents);
    let (sent, selection) = try_plan(before, adapter(), 1_000, Vec::new()).await.unwrap();
    let turn = selection.plan.unwrap();
    // A quarter and the frame around it, doubled while there is room.
    assert!((500..600).contains(&turn.share), "{}", turn.share);
    assert_eq!(recalled(&sent).matches("[document, untrusted]").count(), 5);
}
