//! Tools of requests that do not fit.

use cupel::layer::{CupelLayer, SelectedRequest, Selection};
use cupel::model::ToolLimit;
use cupel::tool_choice::ToolReason;
use cupel::{ContextBudget, Policy};
use proptest::collection::vec;
use proptest::prelude::*;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{
    AssistantContent, AssistantMessage, Message, ToolCall, ToolChoice, ToolFunction, ToolName,
    ToolResultContent,
};
use serde_json::json;

use crate::select::{adapter, request};
use crate::support::filler;

const SUBJECTS: [&str; 6] = ["invoice", "parcel", "meeting", "branch", "flight", "recipe"];
const DEEDS: [&str; 5] = ["list", "create", "delete", "share", "search"];

fn named(name: &str) -> ToolName {
    ToolName::new(name).unwrap()
}

fn tools() -> Vec<ToolDefinition> {
    let tool = |number: usize| {
        let (subject, deed) = (SUBJECTS[number % 6], DEEDS[number / 6]);
        let about = format!("Can {deed} the {subject} of a team that works in many cities.");
        let parameters = json!({"type": "object", "properties": {subject: {"type": "string"}}});
        ToolDefinition::new(named(&format!("{deed}_{subject}")), about, parameters)
    };
    (0..30).map(tool).collect()
}

/// A call of a tool, and its result.
fn step(id: &str, name: &str, result: &str) -> [Message; 2] {
    let call = ToolCall::from_wire(id, ToolFunction::new(named(name), json!({})));
    let answer = call.result(vec![ToolResultContent::text(result)]);
    let call = AssistantMessage::new(vec![AssistantContent::ToolCall(call)]);
    [Message::Assistant(call), Message::tool_results(vec![answer])]
}

fn send(
    request: CompletionRequest,
    window: i64,
    policy: Policy,
) -> Option<(CompletionRequest, Selection)> {
    let layer = CupelLayer::builder()
        .adapter(adapter())
        .policy(policy)
        .budget(ContextBudget::builder(window).build().unwrap())
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(layer.selector().select(request)).ok().map(SelectedRequest::into_parts)
}

fn chat(share: f64) -> Policy {
    Policy::chat().with_tools(ToolLimit::new().share(share))
}

fn names(request: &CompletionRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn asked(question: &str) -> CompletionRequest {
    let mut asked = request(vec![Message::system("Be brief."), Message::user(question)]);
    asked.tools = tools();
    asked
}

#[test]
fn a_request_that_fits_keeps_all_tools() {
    let asked = asked("Where is my parcel?");
    let (sent, selection) = send(asked.clone(), 100_000, chat(0.01)).unwrap();
    assert_eq!(serde_json::to_value(&sent).unwrap(), serde_json::to_value(&asked).unwrap());
    assert_eq!(selection.tools, None);
}

#[test]
fn a_request_that_does_not_fit_keeps_the_tools_that_the_question_needs() {
    let (sent, selection) = send(asked("Share the invoice."), 150, chat(0.25)).unwrap();
    assert!(names(&sent).contains(&"share_invoice"), "{:?}", names(&sent));
    let report = selection.tools.unwrap();
    assert_eq!(report.sent().count(), sent.tools.len());
    assert!(report.left_out().count() > 20);
    assert_eq!(selection.tool_tokens, report.sent_tokens);
    // They keep their order.
    let all = tools();
    let mut rest = all.iter();
    assert!(sent.tools.iter().all(|tool| rest.any(|it| it.name == tool.name)));
}

#[test]
fn what_the_request_names_and_what_the_provider_runs_stays() {
    let mut asked = asked("Share the invoice.");
    asked.chat_history[0] = Message::system("First call delete_recipe.");
    asked.tool_choice = Some(ToolChoice::Specific { function_names: vec![named("list_branch")] });
    asked.additional_params = Some(json!({"tools": [{"type": "web_search"}], "seed": 7}));
    let (sent, selection) = send(asked.clone(), 200, chat(0.1)).unwrap();
    let report = selection.tools.unwrap();
    let reason = |name: &str| report.tools.iter().find(|tool| tool.name == name).unwrap().reason;
    assert_eq!(reason("delete_recipe"), ToolReason::Instructions);
    assert_eq!(reason("list_branch"), ToolReason::Demanded);
    assert_eq!(reason("web_search"), ToolReason::Hosted);
    assert!(["delete_recipe", "list_branch"].iter().all(|name| names(&sent).contains(name)));
    assert_eq!(sent.additional_params, asked.additional_params);
    assert!(sent.tools.len() < 30);
}

#[test]
fn a_policy_can_keep_all_tools() {
    let policy = Policy::chat().with_tools(ToolLimit::never());
    assert!(send(asked("Share the invoice."), 150, policy).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_request_becomes_invalid(
        turns in vec((0..6_usize, vec((0..30_usize, 1..40_usize), 0..3)), 1..6),
        window in 100_i64..1_500, share in 0.0_f64..0.5, demanded in prop::option::of(0..30_usize),
        planned in any::<bool>(),
    ) {
        let all = tools();
        let mut history = vec![Message::system("Be brief.")];
        let mut called = Vec::new();
        for (turn, (subject, steps)) in turns.iter().enumerate() {
            history.push(Message::user(format!("Share the {} now.", SUBJECTS[*subject])));
            for (number, (tool, length)) in steps.iter().enumerate() {
                let name = all[*tool].name.as_str();
                called.push(name.to_owned());
                history.extend(step(&format!("{turn}-{number}"), name, &filler(*length)));
            }
            if turn + 1 < turns.len() {
                history.push(Message::assistant("That is done."));
            }
        }
        let mut asked = request(history);
        asked.tools = all.clone();
        if let Some(tool) = demanded {
            let function_names = vec![all[tool].name.clone()];
            asked.tool_choice = Some(ToolChoice::Specific { function_names });
        }
        let policy = if planned { chat(share) } else { chat(share).without_plan() };
        let Some((sent, selection)) = send(asked.clone(), window, policy) else { return Ok(()) };
        let names = names(&sent);
        prop_assert!(!names.is_empty());
        let mut rest = all.iter().map(|tool| tool.name.as_str());
        prop_assert!(names.iter().all(|name| rest.any(|it| it == *name)), "{:?}", names);
        for name in &called {
            prop_assert!(names.contains(&name.as_str()), "{} is called", name);
        }
        if let Some(tool) = demanded {
            prop_assert!(names.contains(&all[tool].name.as_str()));
        }
        prop_assert_eq!(selection.tools.is_none(), sent.tools.len() == all.len());
        prop_assert_eq!(&sent.tool_choice, &asked.tool_choice);
        // The counts are those of what is sent.
        if let Some(report) = &selection.tools {
            let reported: Vec<&str> = report.sent().map(|tool| &*tool.name).collect();
            prop_assert_eq!(reported, names);
            prop_assert_eq!(selection.tool_tokens, report.sent_tokens);
        }
    }

    #[test]
    fn a_tool_loop_keeps_its_tools(subject in 0..6_usize, steps in 1..8_usize) {
        let all = tools();
        let mut history = vec![Message::system("Be brief.")];
        history.push(Message::user(format!("Search and share the {}.", SUBJECTS[subject])));
        let mut before: Option<Vec<String>> = None;
        for number in 0..=steps {
            let mut asked = request(history.clone());
            asked.tools = all.clone();
            let Some((sent, _)) = send(asked, 260, chat(0.3)) else { break };
            let now: Vec<String> = names(&sent).into_iter().map(str::to_owned).collect();
            if let Some(before) = &before {
                prop_assert_eq!(before, &now);
            }
            // The model calls what it sees.
            history.extend(step(&number.to_string(), &now[number % now.len()], &filler(5)));
            before = Some(now);
        }
    }
}
