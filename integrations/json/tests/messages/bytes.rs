//! Everything but what is selected stays byte for byte.

use cupel::Policy;
use cupel::layer::CupelLayer;
use cupel_json::{Endpoint, JsonBody, MessagesAdapter, Request};

use crate::support::{layer, models, send};

const ODD: &str = r#"{ "max_tokens" : 1.0e2,"messages" : [ {"content":"Hi \u0041" , "role":"user","future":1.50},
 {"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s=="},{"type":"from_tomorrow","x":[1,  2]} ]} ,
 {"role":"user","content":[ {"type":"text","text":"Go on","cache_control":{"type":"ephemeral"}} ] } ], "model":"other-9000" , "metadata":{"user_id":"ü"}, "service_tier":"auto" }"#;

#[test]
fn what_fits_is_sent_as_it_came() {
    let (sent, report) = send(&layer(9_000, Policy::chat()), ODD).unwrap();
    assert_eq!(sent.json(), ODD);
    assert!(report.uncounted.iter().any(|what| what.contains("from_tomorrow")), "{report:?}");
}

#[test]
fn untouched_messages_and_fields_stay_as_slices() {
    let long = "word ".repeat(3_000);
    let old = format!(
        r#"{{"role":"user","content":"{long}"}} , {{"content": "Fine \u0042","role":"assistant" ,"x":{{}}}},"#
    );
    let body = ODD.replacen(r#""messages" : ["#, &format!(r#""messages" : [ {old}"#), 1);
    let body = body.replace("other-9000", "other-3000");
    let (sent, _) = send(&layer(3_000, Policy::chat()), &body).unwrap();
    let sent = sent.json();
    for slice in [
        r#"{ "max_tokens" : 1.0e2,"messages" : ["#,
        r#""Hi \u0041""#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s=="},{"type":"from_tomorrow","x":[1,  2]} ]}"#,
        r#", "model":"other-3000" , "metadata":{"user_id":"ü"}, "service_tier":"auto" }"#,
    ] {
        assert!(sent.contains(slice), "{slice}\n{sent}");
    }
    assert!(!sent.contains(&long));
}

#[test]
fn what_sources_give_is_the_first_text_of_the_users_turn() {
    let adapter = MessagesAdapter::new().models(models(9_000));
    let note = cupel::ContextItem::new("The key is under the mat.", 9).unwrap();
    let layer = CupelLayer::builder()
        .budget(adapter.window())
        .adapter(adapter)
        .policy(Policy::chat())
        .source(cupel::gather::Source::items("notes", [note]))
        .build()
        .unwrap()
        .selector();
    let sent = |messages: &str| {
        let body = format!(r#"{{"model":"test-9000","max_tokens":9,"messages":[{messages}]}}"#);
        let body = JsonBody::parse(Endpoint::Messages, body).unwrap();
        let sent = futures::executor::block_on(layer.select(body)).unwrap().request;
        serde_json::from_str::<serde_json::Value>(sent.json()).unwrap()
    };
    let alone = sent(r#"{"role":"user","content":"Where is it?"}"#);
    let text = alone["messages"][0]["content"].as_str().unwrap();
    assert!(text.contains("under the mat") && text.ends_with("\n\nWhere is it?"), "{alone}");
    assert_eq!(alone["messages"].as_array().unwrap().len(), 1);
    let in_loop = sent(
        r#"{"role":"user","content":"Where is it?"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"here"}]}"#,
    );
    assert!(in_loop["messages"][0]["content"].as_str().unwrap().contains("mat"));
    assert_eq!(in_loop["messages"][2]["content"].as_array().unwrap().len(), 1);
}

#[test]
fn the_question_is_the_users_last_words() {
    let body = |messages: &str| {
        let body = format!(r#"{{"model":"m","max_tokens":9,"messages":[{messages}]}}"#);
        JsonBody::parse(Endpoint::Messages, body).unwrap().question()
    };
    let asked = r#"{"role":"user","content":[{"type":"text","text":"Where?"}]}"#;
    let looked = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"here"}]}"#;
    assert_eq!(body(&format!("{asked},{looked}")).as_deref(), Some("Where?"));
}

#[test]
fn bodies_of_the_other_apis_are_turned_away() {
    let chat = r#"{"model":"test-9000","messages":[{"role":"user","content":"Hi"}]}"#;
    let body = JsonBody::parse(Endpoint::Chat, chat).unwrap();
    let error = futures::executor::block_on(layer(9_000, Policy::chat()).select(body));
    assert!(error.unwrap_err().to_string().contains("use OpenAiAdapter"));
}
