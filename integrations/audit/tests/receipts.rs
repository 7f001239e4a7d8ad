//! Receipts reproduce what was sent, and name what differs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use cupel::{ContextBudget, Policy};
use cupel_audit::{PlannerSettings, Receipt, ReceiptCall, ReceiptForm, Verification};
use cupel_json::{Endpoint, JsonBody};
use serde_json::json;

fn request() -> String {
    let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
    for turn in 0..20 {
        let text = format!("Question {turn} about order W-{turn}. ").repeat(4);
        messages.push(json!({"role": "user", "content": text}));
        messages.push(json!({"role": "assistant", "content": format!("Answer {turn}.")}));
    }
    messages.push(json!({"role": "user", "content": "And order W-3?"}));
    json!({"model": "gpt-4o", "temperature": 0, "messages": messages}).to_string()
}

/// The receipt of a call that was cut, and the bytes that were sent.
fn receipt(request: &str, sources: u64, secret: Option<&[u8]>) -> (String, String) {
    let body = JsonBody::parse(Endpoint::Chat, request).unwrap();
    let settings = PlannerSettings::default();
    let (policy, budget) = (Policy::chat(), ContextBudget::builder(400).build().unwrap());
    let planned = settings.planner().unwrap().plan(body.clone(), &policy, &budget).unwrap();
    assert!(planned.is_cut);
    let sent = planned.body.json().to_owned();
    let call = ReceiptCall {
        policy: &policy,
        planner: &settings,
        budget: &budget,
        grid_window: None,
        factor: 1.0,
        sources,
        secret,
    };
    let receipt = Receipt::new(&call, &body, &sent).unwrap();
    for form in [ReceiptForm::Kept, ReceiptForm::Dropped, ReceiptForm::Recalled] {
        assert!(receipt.units.iter().any(|unit| unit.form == form), "{form:?}");
    }
    (receipt.json(), sent)
}

#[test]
fn a_receipt_reproduces_the_bytes_and_holds_none_of_them() {
    let request = request();
    for secret in [None, Some(&b"secret"[..])] {
        let (receipt, sent) = receipt(&request, 0, secret);
        assert!(!receipt.contains("Question") && !receipt.contains("W-3"));
        let reproduced = Receipt::verify(&receipt, &request, secret).unwrap();
        assert_eq!(reproduced, Verification::Reproduced { sent });
    }
}

#[test]
fn a_changed_byte_of_the_request_is_named() {
    let request = request();
    let (receipt, _) = receipt(&request, 0, None);
    let differences = |changed: &str| match Receipt::verify(&receipt, changed, None).unwrap() {
        Verification::Different { differences } => differences,
        other => panic!("{other:?}"),
    };
    let one = differences(&request.replacen("Answer 7.", "Answer 8.", 1));
    assert_eq!(one, ["message 16 of the request has other bytes"]);
    let outside = differences(&request.replacen("\"temperature\":0", "\"temperature\":1", 1));
    assert_eq!(outside, ["bytes of the request outside of its messages differ"]);
    let shorter = request.replacen(
        r#","messages":[{"content":"Be brief.","role":"system"}"#,
        r#","messages":[{"role":"x"}"#,
        1,
    );
    assert!(!differences(&shorter.replacen("Be brief.", "Be long.", 1)).is_empty());
    // Any byte at all.
    for at in (0..request.len()).step_by(97) {
        let mut bytes = request.clone().into_bytes();
        bytes[at] = if bytes[at] == b'~' { b'!' } else { b'~' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(!differences(&changed).is_empty(), "byte {at}");
    }
}

#[test]
fn a_changed_byte_of_the_receipt_is_named() {
    let request = request();
    let (receipt, _) = receipt(&request, 0, None);
    for at in (0..receipt.len()).step_by(13) {
        let mut bytes = receipt.clone().into_bytes();
        bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        let changed = String::from_utf8(bytes).unwrap();
        let found = Receipt::verify(&changed, &request, None);
        let is_named = match &found {
            Ok(Verification::Different { differences }) => !differences.is_empty(),
            Ok(_) => false,
            // Some bytes make it no receipt at all.
            Err(why) => !why.is_empty(),
        };
        assert!(is_named, "byte {at}: {found:?}");
    }
}

#[test]
fn items_from_sources_and_a_missing_secret_are_said() {
    let request = request();
    let (with_sources, _) = receipt(&request, 3, None);
    let why = "3 items from sources".to_owned();
    let verified = Receipt::verify(&with_sources, &request, None).unwrap();
    assert_eq!(verified, Verification::NotReproducible { why });
    let (keyed, _) = receipt(&request, 0, Some(b"secret"));
    assert!(Receipt::verify(&keyed, &request, None).unwrap_err().contains("secret"));
    let other = Receipt::verify(&keyed, &request, Some(b"other")).unwrap();
    assert!(matches!(other, Verification::Different { .. }));
}
