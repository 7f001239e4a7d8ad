//! Single bodies, each with something that a list of tools may have.

use cupel::Policy;
use cupel::conversation::plan::PrefixBreak;
use cupel::model::ToolLimit;
use cupel::tool_choice::ToolReason;
use cupel_json::Endpoint;
use serde_json::{Value, json};

use super::support::{APIS, Step, body, chat, check, names, send, tool};

/// A parcel tool at the beginning, and 40 others.
fn tools(api: Endpoint) -> Vec<Value> {
    let mut tools = vec![tool(api, "find_parcel", "Finds a parcel by its number.")];
    let other =
        |number: usize| tool(api, &format!("tool_{number}"), "Does something else altogether.");
    tools.extend((0..40).map(other));
    tools
}

fn asked() -> [Step; 1] {
    [Step::User("Where is my parcel?".to_owned())]
}

#[test]
fn a_request_that_fits_keeps_every_byte() {
    for api in APIS {
        let request = body(api, &tools(api), &asked(), Value::Null);
        let (_, json, selection) = send(api, &request, 100_000, chat(0.01)).unwrap();
        assert_eq!(json, request.to_string());
        assert_eq!(selection.tools, None);
        assert!(selection.tool_tokens > 500);
    }
}

#[test]
fn a_request_that_does_not_fit_keeps_the_tools_that_the_question_needs() {
    for api in APIS {
        let request = body(api, &tools(api), &asked(), Value::Null);
        let (sent, _, selection) = send(api, &request, 1_000, chat(0.25)).unwrap();
        check(&request, &sent);
        assert_eq!(names(&sent)[0], "find_parcel");
        let report = selection.tools.unwrap();
        assert!(report.sent_tokens <= 250 && report.offered_tokens > 1_000);
        assert_eq!(selection.tool_tokens, report.sent_tokens);
    }
}

#[test]
fn a_policy_can_keep_all_tools() {
    let policy = Policy::chat().with_tools(ToolLimit::never());
    for api in APIS {
        let request = body(api, &tools(api), &asked(), Value::Null);
        assert!(send(api, &request, 1_000, policy.clone()).is_err());
    }
}

#[test]
fn tools_beyond_their_share_alone_are_left_out() {
    for api in APIS {
        let mut steps = vec![Step::User("Hello".to_owned()), Step::Model("Hello.".to_owned())];
        steps.push(Step::User("word ".repeat(4_000)));
        steps.push(Step::Model("I see.".to_owned()));
        steps.extend(asked());
        let few = &tools(api)[..5];
        let (sent, _, _) =
            send(api, &body(api, few, &steps, Value::Null), 3_000, chat(0.25)).unwrap();
        assert_eq!(names(&sent).len(), 5);
    }
}

#[test]
fn hosted_and_deferred_tools_and_those_that_instructions_name_stay() {
    let mut list = tools(Endpoint::Responses);
    list.push(json!({"type": "web_search"}));
    list.push(
        json!({"type": "function", "name": "later", "defer_loading": true, "parameters": {}}),
    );
    let mut request = body(Endpoint::Responses, &list, &asked(), Value::Null);
    request["instructions"] = json!("Before anything else call tool_17.");
    let (sent, _, selection) = send(Endpoint::Responses, &request, 1_000, chat(0.1)).unwrap();
    let report = selection.tools.unwrap();
    let reason = |name: &str| report.tools.iter().find(|tool| tool.name == name).unwrap().reason;
    assert_eq!(reason("tool_17"), ToolReason::Instructions);
    assert_eq!(reason("later"), ToolReason::Deferred);
    assert!(names(&sent).contains(&"web_search".to_owned()));

    let api = Endpoint::Messages;
    let mut list = tools(api);
    list.push(json!({"type": "bash_20250124", "name": "bash"}));
    let steps = [&[Step::System("Use tool_3.".to_owned())][..], &asked()].concat();
    let (sent, _, _) = send(api, &body(api, &list, &steps, Value::Null), 1_200, chat(0.1)).unwrap();
    let names = names(&sent);
    assert!(
        names.contains(&"bash".to_owned()) && names.contains(&"tool_3".to_owned()),
        "{names:?}"
    );
}

#[test]
fn a_namespace_is_one_tool_and_a_call_in_it_keeps_it() {
    let api = Endpoint::Responses;
    let mut list = tools(api);
    list.push(json!({"type": "namespace", "name": "crm", "description": "Customers.",
        "tools": [{"type": "function", "name": "look_up", "parameters": {}}]}));
    let steps = [
        Step::User("Who is it?".to_owned()),
        Step::Calls(vec![("look_up".to_owned(), "Ana".to_owned())]),
        Step::Model("Ana.".to_owned()),
        Step::User("Where is my parcel?".to_owned()),
    ];
    let (sent, _, _) = send(api, &body(api, &list, &steps, Value::Null), 1_200, chat(0.1)).unwrap();
    assert_eq!(names(&sent).last().unwrap(), "crm");
}

#[test]
fn the_mark_of_a_tool_that_is_left_out_moves_to_the_last_one_that_is_sent() {
    let api = Endpoint::Messages;
    let mut list = tools(api);
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    list.last_mut().unwrap()["cache_control"] = mark.clone();
    let (sent, _, _) =
        send(api, &body(api, &list, &asked(), Value::Null), 1_000, chat(0.1)).unwrap();
    let tools = sent["tools"].as_array().unwrap();
    assert_eq!(tools.last().unwrap()["cache_control"], mark);
    let marked = tools.iter().filter(|tool| tool.get("cache_control").is_some());
    assert_eq!(marked.count(), 1);
}

#[test]
fn another_set_loses_the_cache_and_the_report_says_what_it_cost() {
    for api in APIS {
        let mut list = tools(api);
        list.push(tool(api, "write_invoice", "Writes an invoice to a customer."));
        let letter =
            |number| tool(api, &format!("find_letter_{number}"), "Finds a letter by its number.");
        list.extend((0..5).map(letter));
        let mut steps = vec![Step::System("word ".repeat(600))];
        steps.extend(asked());
        steps.push(Step::Calls(vec![("find_parcel".to_owned(), "In Lyon.".to_owned())]));
        steps.push(Step::Model("In Lyon.".to_owned()));
        steps.push(Step::User("Thanks!".to_owned()));
        let (_, _, same) =
            send(api, &body(api, &list, &steps, Value::Null), 1_500, chat(0.08)).unwrap();
        let plan = same.plan.unwrap();
        assert!(!same.tools.unwrap().changed);
        assert_ne!(plan.broke, Some(PrefixBreak::ToolsChanged));

        *steps.last_mut().unwrap() = Step::User("Now write an invoice to the customer.".to_owned());
        let (sent, _, other) =
            send(api, &body(api, &list, &steps, Value::Null), 1_500, chat(0.08)).unwrap();
        assert!(names(&sent).contains(&"write_invoice".to_owned()));
        let (plan, tools) = (other.plan.clone().unwrap(), other.tools.clone().unwrap());
        assert_eq!((plan.cached_tokens, plan.broke), (0, Some(PrefixBreak::ToolsChanged)));
        assert!(tools.changed);
        if api != Endpoint::Messages {
            // Without a mark Anthropic's cache would have known nothing.
            assert!(tools.lost_tokens > 400, "{}", tools.lost_tokens);
        }
        let text = other.explain().text().to_string();
        assert!(text.contains("TOOLS") && text.contains("another set than before"), "{text}");
    }
}

#[test]
fn lists_that_are_no_tools_do_no_harm() {
    for list in [json!([]), json!([7, null, "x"]), json!({"a": 1}), json!("none"), json!(null)] {
        for api in APIS {
            let mut request = body(api, &[], &asked(), Value::Null);
            request["tools"] = list.clone();
            let (_, json, _) = send(api, &request, 1_000, chat(0.0)).unwrap();
            assert_eq!(json, request.to_string());
        }
    }
}
