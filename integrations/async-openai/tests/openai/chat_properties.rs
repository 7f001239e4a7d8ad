//! Random conversations into random windows: Chat Completions, typed and at the HTTP level.

use std::cell::RefCell;
use std::collections::HashMap;

use async_openai::types::chat::ChatCompletionRequestMessage;
use cupel::ContextItem;
use cupel::conversation::plan::Quotation;
use cupel::gather::Source;
use cupel::tokens::{Encoding, shared_counter};
use cupel_async_openai::{ChatService, Streaming};
use futures::StreamExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt};

use crate::arbitrary::{Case, cases, chat, chat_tool};
use crate::oracle::{Oracle, tokens_of};
use crate::support;
use crate::support::{adapter, builder, client, messages_of, ok_server};
use cupel_dev_servers::local_server;

/// The whole request of a case, as the caller would write it.
fn request_of(case: &Case) -> Value {
    let mut request = json!({
        "model": format!("test-{}", case.window),
        "max_completion_tokens": case.output,
        "messages": case.messages,
    });
    if case.tools {
        request["tools"] = json!([chat_tool()]);
    }
    request
}

/// Documents as a retriever would give them.
pub(crate) fn documents<R: 'static>(case: &Case) -> Source<R> {
    let item =
        |(index, text): (usize, &String)| ContextItem::new(format!("{index} {text}"), 1).unwrap();
    Source::items("documents", case.documents.iter().enumerate().map(item).collect::<Vec<_>>())
}

/// Checks what arrived, or that nothing could have been sent.
pub(crate) fn check(
    case: &Case,
    request: &Value,
    is_chat: bool,
    written: &[String],
    outcome: Result<Vec<String>, String>,
) -> Result<Outcome, TestCaseError> {
    let oracle = match is_chat {
        true => Oracle::of_chat(&case.messages),
        false => Oracle::of_responses(&case.messages),
    };
    let field = if is_chat { "messages" } else { "input" };
    let mut bare = request.clone();
    bare[field] = json!([]);
    let fixed = match is_chat {
        true => local_server::tokens::chat(&bare),
        false => local_server::tokens::response(&bare),
    };
    let room = i64::from(case.window) - i64::from(case.output) - fixed;
    let pinned = tokens_of(request, is_chat, &case.messages, oracle.pinned.iter().copied());
    let frame = source_frame(case);
    let sent = match outcome {
        Ok(sent) => sent,
        Err(error) => {
            let impossible = pinned + frame > room || oracle.pinned.is_empty();
            prop_assert!(impossible, "{error}, but {pinned} pinned tokens fit into {room}");
            return Ok(Outcome::Impossible);
        }
    };
    let context: Vec<&String> = sent.iter().filter(|text| text.contains("<recalled>")).collect();
    prop_assert!(context.len() <= 1);
    // Byte for byte what the caller wrote, in the caller's order.
    let own: Vec<&String> = sent.iter().filter(|text| !text.contains("<recalled>")).collect();
    let mut rest = oracle.sound();
    let mut kept = Vec::new();
    for message in &own {
        let found = rest.find(|at| written[*at] == **message);
        prop_assert!(found.is_some(), "not what was written, or not in order: {message}");
        kept.extend(found);
    }
    let kept_texts: Vec<&String> = kept.iter().map(|at| &written[*at]).collect();
    for at in &oracle.pinned {
        prop_assert!(kept_texts.contains(&&written[*at]), "pinned but gone: {}", written[*at]);
    }
    let all = tokens_of(request, is_chat, &case.messages, oracle.sound());
    if all <= room && case.documents.is_empty() {
        prop_assert_eq!(kept.len(), oracle.sound().count(), "all of it fits");
    }
    Ok(match kept.len() < oracle.sound().count() {
        true => Outcome::Trimmed,
        false => Outcome::Whole,
    })
}

/// Tokens of the message around items of sources, and of the frame of the quotation in it.
pub(crate) fn source_frame(case: &Case) -> i64 {
    let quotation = Quotation::frame_tokens(&*shared_counter(Encoding::O200k));
    if case.documents.is_empty() { 0 } else { 8 + quotation }
}

/// Outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// Pinned messages alone do not fit.
    Impossible,
    Whole,
    Trimmed,
}

/// Runs a property on a runtime of its own.
#[allow(clippy::needless_pass_by_value, reason = "a closure is written on the spot")]
pub(crate) fn run<F>(cases: u32, strategy: impl Strategy<Value = Case>, test: F)
where
    F: AsyncFn(&Case, &local_server::LocalServer) -> Result<Outcome, TestCaseError>,
{
    // `CUPEL_CASES=2000` looks for rarer ones.
    let cases = std::env::var("CUPEL_CASES").ok().map_or(cases, |cases| cases.parse().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(ok_server());
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let counts = RefCell::new(HashMap::<Outcome, u32>::new());
    let result = runner.run(&strategy, |case| {
        let outcome = runtime.block_on(test(&case, &server))?;
        *counts.borrow_mut().entry(outcome).or_default() += 1;
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // A property that is about nothing proves nothing. One case in five is trimmed on average; the
    // bar is far below, since cases are drawn at random.
    let counts = counts.into_inner();
    for outcome in [Outcome::Whole, Outcome::Trimmed] {
        let count = counts.get(&outcome).copied().unwrap_or_default();
        assert!(count * 40 > cases, "too few of {outcome:?}: {counts:?}");
    }
}

/// Request that arrived, if one was sent. A refusal by the server is a failure.
pub(crate) fn outcome<T>(
    server: &local_server::LocalServer,
    result: Result<T, impl std::fmt::Display>,
) -> Result<Result<Vec<String>, String>, TestCaseError> {
    let arrived = server.take_arrived();
    if let Some(why) = arrived.iter().find_map(|arrived| arrived.refused.clone()) {
        return Err(TestCaseError::fail(format!("the server refused: {why}")));
    }
    match (result, arrived.first()) {
        (Ok(_), Some(arrived)) => Ok(Ok(messages_of(&arrived.body))),
        (Err(error), None) => Ok(Err(error.to_string())),
        (Err(error), Some(_)) => Err(TestCaseError::fail(format!("sent, but failed: {error}"))),
        (Ok(_), None) => Err(TestCaseError::fail("answered without being asked")),
    }
}

#[test]
fn typed_requests_are_never_refused_and_never_edited() {
    run(160, cases(chat()), async |case, server| {
        let json = request_of(case);
        let request = support::chat(json.clone());
        let written: Vec<String> =
            request.messages.iter().map(|one| serde_json::to_string(one).unwrap()).collect();
        let mut layer = builder(adapter(&request.model));
        if !case.documents.is_empty() {
            layer = layer.source(documents(case));
        }
        let service = ServiceBuilder::new()
            .layer(layer.build().unwrap())
            .service(ChatService::new(client(server.url())));
        let result = service.oneshot(request).await;
        check(case, &json, true, &written, outcome(server, result)?)
    });
}

#[test]
fn streaming_requests_are_selected_alike() {
    run(60, cases(chat()), async |case, server| {
        let json = request_of(case);
        let request = support::chat(json.clone());
        let written: Vec<String> =
            request.messages.iter().map(|one| serde_json::to_string(one).unwrap()).collect();
        let layer = builder(adapter(&request.model)).build().unwrap();
        let service =
            ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
        let result = service.oneshot(Streaming(request)).await;
        let result = match result {
            Ok(stream) => Ok(stream.map(Result::unwrap).collect::<Vec<_>>().await),
            Err(error) => Err(error),
        };
        let case = Case { documents: Vec::new(), ..case.clone() };
        check(&case, &json, true, &written, outcome(server, result)?)
    });
}

#[test]
fn bodies_are_never_refused_and_never_edited() {
    run(160, cases(chat()), async |case, server| {
        let json = request_of(case);
        // Spaces that a serializer would not write must survive.
        let written: Vec<String> = case
            .messages
            .iter()
            .map(|message| format!("{{ {}", &message.to_string()[1..]))
            .collect();
        let body = json!({
            "model": json["model"], "max_completion_tokens": json["max_completion_tokens"],
            "tools": json.get("tools").cloned().unwrap_or(json!([])),
        });
        let body = format!(
            "{},\"messages\":[{}]}}",
            body.to_string().strip_suffix('}').unwrap(),
            written.join(" , ")
        );
        let mut layer = builder(adapter(json["model"].as_str().unwrap()));
        if !case.documents.is_empty() {
            layer = layer.source(documents(case));
        }
        let result =
            crate::bodies::post(server, "/chat/completions", body, layer.build().unwrap()).await;
        check(case, &json, true, &written, outcome(server, result)?)
    });
}

/// Messages survive the round trip through the types that the typed properties rely on.
#[test]
fn typed_messages_are_written_as_they_were_read() {
    let message = json!({"role": "user", "content": "x", "name": "ann"});
    let typed: ChatCompletionRequestMessage = serde_json::from_value(message.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), message);
}
