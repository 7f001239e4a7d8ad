//! Items of sources: one message, in the position and form of the template, in the placer's order.

use cupel::gather::{BoxError, Source};
use cupel::layer::{ContextAdapter, Strategy};
use cupel::{ContextItem, Policy};
use cupel_async_openai::{
    ChatService, ContextPosition, ContextRole, ContextTemplate, OpenAiAdapter, Request,
    ResponsesService,
};
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{
    adapter, assistant, builder, calling, chat, client, contents, ok_server, response, sent,
    system, tool, user, words,
};

/// The texts in the frame of a quotation, and what stands around the frame.
fn quoted(text: &str) -> (Vec<String>, String) {
    let (before, rest) = text.split_once("<recalled>\n").unwrap();
    let (inside, after) = rest.split_once("</recalled>\n\n").unwrap();
    let texts = inside.lines().skip(1).map(|line| line.replace("[documents, untrusted] ", ""));
    (texts.collect(), format!("{before}|{after}"))
}

fn document(text: &str, relevance: f64) -> ContextItem {
    ContextItem::builder(text, 1).future_relevance_hint(relevance).build().unwrap()
}

fn documents<R: 'static>() -> Source<R> {
    Source::items("documents", vec![document("alpha", 0.9), document("beta", 0.5)])
}

/// Sends messages with the two documents beside them.
async fn send(adapter: OpenAiAdapter, messages: &[Value]) -> Vec<String> {
    let server = ok_server().await;
    let layer = builder(adapter).source(documents()).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    service.oneshot(chat(json!({"model": "gpt-4o", "messages": messages}))).await.unwrap();
    sent(&server)
}

#[tokio::test]
async fn before_the_last_user_message_unless_told_otherwise() {
    let messages = [
        system("s"),
        user("first"),
        assistant("answer"),
        user("second"),
        calling(&["a"]),
        tool("a", "found"),
    ];
    let sent = send(adapter("gpt-4o"), &messages).await;
    let mut contents = contents(&sent);
    assert_eq!(quoted(&contents.remove(3)).0, ["alpha", "beta"]);
    assert_eq!(contents, ["s", "first", "answer", "second", "", "found"]);
    assert!(sent[3].contains("\"role\":\"user\""));
}

#[tokio::test]
async fn as_the_template_says() {
    let template = ContextTemplate::new()
        .header("<docs>")
        .item(|item| format!("({})", item.content()))
        .footer("</docs>")
        .role(ContextRole::Developer)
        .position(ContextPosition::AfterInstructions);
    let messages = [system("s"), json!({"role": "developer", "content": "d"}), user("u")];
    let sent = send(adapter("gpt-4o").template(template), &messages).await;
    let mut contents = contents(&sent);
    let (texts, around) = quoted(&contents.remove(2));
    assert_eq!((texts.join(" "), around.as_str()), ("(alpha) (beta)".to_owned(), "<docs>|</docs>"));
    assert_eq!(contents, ["s", "d", "u"]);
    assert!(sent[2].contains("\"role\":\"developer\""));
}

#[tokio::test]
async fn after_the_instructions_when_no_user_speaks() {
    let sent = send(adapter("gpt-4o"), &[system("s"), assistant("a")]).await;
    let mut contents = contents(&sent);
    assert_eq!(quoted(&contents.remove(1)).0, ["alpha", "beta"]);
    assert_eq!(contents, ["s", "a"]);
}

#[tokio::test]
async fn the_placers_order_counts_inside() {
    let server = ok_server().await;
    let items: Vec<ContextItem> = [("a", 0.1), ("b", 0.9), ("c", 0.5), ("d", 0.7)]
        .into_iter()
        .map(|(text, relevance)| document(text, relevance))
        .collect();
    // The best first and last, the weakest in the middle.
    let policy = Policy::document_qa();
    let adapter = adapter("gpt-4o");
    let layer = cupel::layer::CupelLayer::builder()
        .budget(adapter.window())
        .adapter(adapter)
        .policy(policy)
        .source(Source::items("documents", items))
        .build()
        .unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request =
        json!({"model": "gpt-4o", "messages": [user("one"), assistant("two"), user("u")]});
    service.oneshot(chat(request)).await.unwrap();
    let sent = contents(&sent(&server));
    // The conversation keeps its order all the same.
    assert_eq!((sent[0].as_str(), sent[1].as_str(), sent[3].as_str()), ("one", "two", "u"));
    // The question is pinned and takes the first place, so the best document gets the last.
    assert_eq!(quoted(&sent[2]).0, ["d", "a", "c", "b"]);
}

#[tokio::test]
async fn a_text_becomes_a_list_when_something_stands_beside_it() {
    let server = ok_server().await;
    let request = json!({"model": "gpt-4o", "input": "the question"});
    let with = builder(adapter("gpt-4o")).source(documents()).build().unwrap();
    let service =
        ServiceBuilder::new().layer(with).service(ResponsesService::new(client(server.url())));
    service.oneshot(response(request.clone())).await.unwrap();
    let contents = contents(&sent(&server));
    assert_eq!(
        (quoted(&contents[0]).0, &*contents[1]),
        (vec!["alpha".into(), "beta".into()], "the question")
    );

    let without = builder(adapter("gpt-4o")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(without).service(ResponsesService::new(client(server.url())));
    service.oneshot(response(request.clone())).await.unwrap();
    let body: Value = serde_json::from_slice(&server.take_arrived()[0].body).unwrap();
    assert_eq!(body["input"], "the question");
}

#[tokio::test]
async fn a_source_can_ask_for_the_question() {
    let server = ok_server().await;
    let search = Source::list("search", |request: &_| {
        let question = Request::question(request).unwrap_or_default();
        async move { Ok::<_, BoxError>(vec![ContextItem::new(format!("about {question}"), 3)?]) }
    });
    let layer = builder(adapter("gpt-4o")).source(search).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let question = json!({"role": "user", "content": [{"type": "text", "text": "crabs"}]});
    let request =
        chat(json!({"model": "gpt-4o", "messages": [question, calling(&["a"]), tool("a", "x")]}));
    service.oneshot(request).await.unwrap();
    assert!(contents(&sent(&server))[0].contains("about crabs"));
}

#[tokio::test]
async fn what_is_written_around_items_is_paid_for() {
    // Each item says it is one token; written out it is many.
    let template = ContextTemplate::new().item(|item| item.content().repeat(10));
    let adapter = adapter("test-120").template(template);
    let items: Vec<ContextItem> = (0..9).map(|seed| document(&words(seed, 9), 0.5)).collect();
    let server = ok_server().await;
    let layer = builder(adapter).source(Source::items("documents", items)).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request = chat(json!({"model": "test-120", "messages": [user("u")]}));
    service.oneshot(request).await.unwrap();
    // The server would have refused more.
    assert!(sent(&server).len() <= 2);
}

#[test]
fn header_and_footer_are_counted() {
    let frame = |template: ContextTemplate| {
        let request = chat(json!({"model": "gpt-4o", "messages": [user("u")]}));
        adapter("gpt-4o")
            .template(template)
            .split(request, Strategy::Scored)
            .unwrap()
            .source_frame_tokens
    };
    let plain = frame(ContextTemplate::new().header(""));
    assert_eq!(frame(ContextTemplate::new().header("one two three")), plain + 3);
    assert_eq!(frame(ContextTemplate::new().header("").footer("one two three")), plain + 3);
}
