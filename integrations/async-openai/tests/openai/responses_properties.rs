//! Random conversations into random windows: the Responses API, typed and at the HTTP level.

use async_openai::types::responses::InputParam;
use cupel_async_openai::ResponsesService;
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt};

use crate::arbitrary::{Case, cases, response_tool, responses};
use crate::chat_properties::{check, documents, outcome, run};
use crate::support::{self, adapter, builder, client};

fn request_of(case: &Case) -> Value {
    let mut request = json!({
        "model": format!("test-{}", case.window),
        "max_output_tokens": case.output,
        "instructions": "Be brief.",
        "input": case.messages,
    });
    if case.tools {
        request["tools"] = json!([response_tool()]);
    }
    request
}

#[test]
fn typed_requests_are_never_refused_and_never_edited() {
    run(160, cases(responses()), async |case, server| {
        let json = request_of(case);
        let request = support::response(json.clone());
        let InputParam::Items(items) = &request.input else { panic!("not a list") };
        let written: Vec<String> =
            items.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
        let mut layer = builder(adapter(request.model.as_deref().unwrap()));
        if !case.documents.is_empty() {
            layer = layer.source(documents(case));
        }
        let service = ServiceBuilder::new()
            .layer(layer.build().unwrap())
            .service(ResponsesService::new(client(server.url())));
        let result = service.oneshot(request).await;
        check(case, &json, false, &written, outcome(server, result)?)
    });
}

#[test]
fn bodies_are_never_refused_and_never_edited() {
    run(160, cases(responses()), async |case, server| {
        let json = request_of(case);
        let written: Vec<String> = case.messages.iter().map(Value::to_string).collect();
        let layer = builder(adapter(json["model"].as_str().unwrap()));
        let layer = match case.documents.is_empty() {
            true => layer,
            false => layer.source(documents(case)),
        };
        let body = json.to_string();
        let result = crate::bodies::post(server, "/responses", body, layer.build().unwrap()).await;
        check(case, &json, false, &written, outcome(server, result)?)
    });
}
