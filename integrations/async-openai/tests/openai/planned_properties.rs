//! Random conversations into random windows, planned: both APIs, typed and at the HTTP level.

use cupel::Policy;
use cupel::layer::{CupelLayerBuilder, Selection};
use cupel_async_openai::{
    ChatService, Endpoint, JsonBody, OpenAiAdapter, Request, ResponsesService,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::{Service, ServiceBuilder, service_fn};

use crate::arbitrary::{Case, cases, chat, chat_tool, response_tool, responses};
use crate::chat_properties::{Outcome, documents, run, source_frame};
use crate::oracle::{Oracle, tokens_of};
use crate::support::{self, adapter, builder, client};
use cupel_dev_servers::local_server::{self, LocalServer};

fn planned<R: Request + 'static>(case: &Case) -> CupelLayerBuilder<R, OpenAiAdapter> {
    let model = format!("test-{}", case.window);
    let layer = builder(adapter(&model)).policy(Policy::chat());
    if case.documents.is_empty() { layer } else { layer.source(documents(case)) }
}

fn request_of(case: &Case, is_chat: bool) -> Value {
    let (messages, output) = match is_chat {
        true => ("messages", "max_completion_tokens"),
        false => ("input", "max_output_tokens"),
    };
    let mut request = json!({"model": format!("test-{}", case.window)});
    request[messages] = json!(case.messages);
    request[output] = json!(case.output);
    if case.tools {
        request["tools"] = json!([if is_chat { chat_tool() } else { response_tool() }]);
    }
    request
}

/// Checks what arrived, or that it was hard to send anything.
fn check<T>(
    case: &Case,
    is_chat: bool,
    server: &LocalServer,
    result: Result<(T, Selection), impl std::fmt::Display>,
) -> Result<Outcome, TestCaseError> {
    let arrived = server.take_arrived();
    let (oracle, count): (_, fn(&Value) -> i64) = match is_chat {
        true => (Oracle::of_chat(&case.messages), local_server::tokens::chat),
        false => (Oracle::of_responses(&case.messages), local_server::tokens::response),
    };
    let selection = match result {
        Ok((_, selection)) => selection,
        Err(error) => {
            // Refused by the server it would have arrived.
            prop_assert!(arrived.is_empty(), "{error}: {:?}", arrived[0].refused);
            let mut bare = request_of(case, is_chat);
            bare[if is_chat { "messages" } else { "input" }] = json!([]);
            let room = i64::from(case.window) - i64::from(case.output) - count(&bare);
            let pinned = oracle.pinned.iter().copied();
            let pinned = tokens_of(&bare, is_chat, &case.messages, pinned);
            // The message around items of sources, where nobody has asked anything.
            let pinned = pinned + source_frame(case);
            prop_assert!(pinned > room || oracle.pinned.is_empty(), "{error}: {pinned} in {room}");
            return Ok(Outcome::Impossible);
        }
    };
    prop_assert_eq!(&arrived[0].refused, &None);
    let sent: Value = serde_json::from_slice(&arrived[0].body).unwrap();
    let Some(plan) = selection.plan else {
        return Ok(Outcome::Whole); // nobody has asked anything: scored
    };
    let (sent, counted) = (count(&sent), selection.sent.tokens + selection.fixed_tokens);
    // A tokenizer may join the first signs of a question with the end of the quotation before it.
    let is_word = |text: &str| text.starts_with(|first: char| first.is_alphanumeric());
    let words = case.messages.iter().filter_map(|message| message["content"].as_str());
    let seam = if words.clone().all(is_word) { 0 } else { 1 };
    prop_assert!((sent - counted).abs() <= seam, "{} sent, {} counted", sent, counted);
    let whole = plan.whole;
    Ok(if whole { Outcome::Whole } else { Outcome::Trimmed })
}

#[test]
fn typed_requests_of_chat_completions_are_never_refused() {
    run(96, cases(chat()), async |case, server| {
        let request = support::chat(request_of(case, true));
        let mut service = ServiceBuilder::new()
            .layer(planned(case).build().unwrap().with_report())
            .service(ChatService::new(client(server.url())));
        check(case, true, server, service.call(request).await)
    });
}

#[test]
fn typed_requests_of_the_responses_api_are_never_refused() {
    run(96, cases(responses()), async |case, server| {
        let request = support::response(request_of(case, false));
        let mut service = ServiceBuilder::new()
            .layer(planned(case).build().unwrap().with_report())
            .service(ResponsesService::new(client(server.url())));
        check(case, false, server, service.call(request).await)
    });
}

#[test]
fn the_same_body_gives_the_same_bytes_on_two_instances() {
    run(64, cases(chat()), async |case, _| {
        let json = request_of(case, true).to_string();
        let mut bodies = Vec::new();
        let mut whole = true;
        for _ in 0..2 {
            let echo = service_fn(|body: JsonBody| async move {
                Ok::<_, std::convert::Infallible>(body.json().to_owned())
            });
            let mut service = ServiceBuilder::new()
                .layer(planned(case).build().unwrap().with_report())
                .service(echo);
            let body = JsonBody::parse(Endpoint::Chat, json.clone()).unwrap();
            match service.call(body).await {
                Ok((json, selection)) => {
                    whole = selection.plan.is_none_or(|plan| plan.whole);
                    bodies.push(json);
                }
                Err(_) => return Ok(Outcome::Impossible),
            }
        }
        prop_assert_eq!(&bodies[0], &bodies[1]);
        Ok(if whole { Outcome::Whole } else { Outcome::Trimmed })
    });
}
