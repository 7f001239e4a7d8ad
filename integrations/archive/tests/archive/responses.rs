//! Archiving what was asked and answered in the Responses API.

use cupel_archive::record::{RecordLayer, Recorder, Responses};
use cupel_archive::{ConversationHandle, Role};
use futures::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use tower::{BoxError, Layer as _, Service, ServiceExt, service_fn};

use crate::in_both;
use crate::support::Database;

async fn conversation(database: &Database) -> ConversationHandle {
    database.open().await.namespace("t").unwrap().conversation("c").unwrap()
}

async fn contents(conversation: &ConversationHandle) -> Vec<(Role, String)> {
    let all = conversation.recent(1_000).await.unwrap();
    all.into_iter().map(|stored| (stored.message.role, stored.message.content)).collect()
}

/// The output of a model that thinks, then calls a tool, or says something.
fn output(text: &str) -> Value {
    let thoughts = json!({"type": "reasoning", "id": "rs_1", "summary": [
        {"type": "summary_text", "text": "secret thoughts"}]});
    let said = match text.strip_prefix("look ") {
        Some(at) => json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look",
            "arguments": format!("{{\"at\":{at}}}"), "status": "completed"}),
        None => {
            json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]})
        }
    };
    json!([thoughts, said])
}

/// A model that says what the request tells it to say.
async fn told(request: Value) -> Result<Value, BoxError> {
    let status = request["status"].as_str().unwrap_or("completed");
    Ok(json!({"id": "resp_1", "object": "response", "status": status,
        "output": output(request["say"].as_str().unwrap())}))
}

in_both! {
    async fn a_loop_with_a_tool_is_archived_once_in_its_order(database) {
        let conversation = conversation(database).await;
        let recorder = Recorder::new();
        let of = conversation.clone();
        let transcript = Responses::new(move |_: &Value| Some(of.clone()));
        let mut model = RecordLayer::new(recorder.clone(), transcript).layer(service_fn(told));
        let mut input = vec![
            json!({"role": "developer", "content": "Be brief."}),
            json!({"role": "user", "content": [
                {"type": "input_text", "text": "What is at 7?"},
                {"type": "input_image", "image_url": "data:"}]}),
        ];
        let mut ask = async |input: &[Value], say: &str| {
            let asked = json!({"instructions": "Help.", "input": input, "say": say});
            model.ready().await.unwrap().call(asked).await.unwrap()["output"].clone()
        };
        let called = ask(&input, "look 7").await;
        input.extend(called.as_array().unwrap().iter().cloned());
        input.push(json!({"type": "function_call_output", "call_id": "c1", "output": "a bridge"}));
        let answered = ask(&input, "A bridge.").await;
        input.extend(answered.as_array().unwrap().iter().cloned());
        input.push(json!({"type": "message", "role": "user", "content": "Thanks!"}));
        ask(&input, "You are welcome.").await;
        recorder.flush().await;
        let expected = [
            (Role::User, "What is at 7?\n[input_image]"),
            (Role::Assistant, "look({\"at\":7})"),
            (Role::Tool, "a bridge"),
            (Role::Assistant, "A bridge."),
            (Role::User, "Thanks!"),
            (Role::Assistant, "You are welcome."),
        ];
        assert_eq!(contents(&conversation).await, expected.map(|(role, text)| (role, text.to_owned())));
        assert_eq!((recorder.written(), recorder.dropped()), (6, 0));
        let all = conversation.recent(9).await.unwrap();
        let wire: Value = serde_json::from_str(all[1].message.wire.as_deref().unwrap()).unwrap();
        assert_eq!(wire, output("look 7")[1]);
    }

    async fn what_goes_on_from_an_earlier_response_is_new_even_in_the_same_words(database) {
        let conversation = conversation(database).await;
        let recorder = Recorder::new();
        let of = conversation.clone();
        let transcript = Responses::new(move |_: &Value| Some(of.clone()));
        let mut model = RecordLayer::new(recorder.clone(), transcript).layer(service_fn(told));
        for goes_on in [json!({}), json!({"previous_response_id": "resp_1"}),
            json!({"conversation": {"id": "conv_1"}}), json!({"previous_response_id": null})]
        {
            let mut asked = json!({"input": "More.", "say": "Well."});
            asked.as_object_mut().unwrap().extend(goes_on.as_object().unwrap().clone());
            model.ready().await.unwrap().call(asked).await.unwrap();
        }
        recorder.flush().await;
        let texts: Vec<String> = contents(&conversation).await.into_iter().map(|(_, text)| text).collect();
        // The last request brings a history that is known: only its answer is new.
        assert_eq!(texts, ["More.", "Well.", "More.", "Well.", "More.", "Well.", "Well."]);
    }

    async fn an_answer_that_failed_or_is_not_there_yet_is_not_archived(database) {
        let conversation = conversation(database).await;
        let recorder = Recorder::new();
        let of = conversation.clone();
        let transcript = Responses::new(move |_: &Value| Some(of.clone()));
        let mut model = RecordLayer::new(recorder.clone(), transcript).layer(service_fn(told));
        for status in ["failed", "cancelled", "queued", "in_progress", "incomplete"] {
            let asked = json!({"input": status, "say": "So far.", "status": status});
            model.ready().await.unwrap().call(asked).await.unwrap();
        }
        recorder.flush().await;
        let texts: Vec<String> = contents(&conversation).await.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["incomplete", "So far."]);
    }

    async fn a_stream_of_events_is_archived_when_its_answer_is_complete(database) {
        let conversation = conversation(database).await;
        let recorder = Recorder::new();
        let of = conversation.clone();
        let transcript = Responses::new(move |_: &Value| Some(of.clone())).streamed();
        let model = service_fn(async |request: Value| {
            let how = request["how"].as_str().unwrap().to_owned();
            let delta = json!({"type": "response.output_text.delta", "delta": "Hel"});
            let end = |kind: &str| json!({"type": format!("response.{kind}"),
                "response": {"status": kind, "output": output("Hello")}});
            let events: Vec<Result<Value, BoxError>> = match how.as_str() {
                "broken" => vec![Ok(delta), Err("reset".into()), Ok(end("completed"))],
                "cut" => vec![Ok(delta)],
                kind => vec![Ok(delta), Ok(end(kind))],
            };
            let events: BoxStream<'static, Result<Value, BoxError>> = stream::iter(events).boxed();
            Ok::<_, BoxError>(events)
        });
        let mut model = RecordLayer::new(recorder.clone(), transcript).layer(model);
        let mut ask = async |how: &str, read: usize| {
            let asked = json!({"input": format!("{how} {read}"), "how": how});
            let events = model.ready().await.unwrap().call(asked).await.unwrap();
            events.take(read).count().await
        };
        for (how, read) in [("cut", 9), ("broken", 9), ("failed", 9), ("completed", 1), ("completed", 9)] {
            ask(how, read).await;
        }
        recorder.flush().await;
        let texts: Vec<String> = contents(&conversation).await.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["completed 9", "Hello"]);
    }
}
