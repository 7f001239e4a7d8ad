//! A dry run over messages is what a layer over the same conversation sends.

use std::collections::BTreeMap;

use cupel::conversation::{
    Attributes, Conversation, DryRun, Edits, Exchanges, Message, MessageTexts, Rehearsal,
    RehearsedMessage, Role, Rules,
};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, ContextError, CupelLayer, SelectedRequest, Split, Strategy};
use cupel::model::{Grid, RecallBy, TurnPlan};
use cupel::{ContextBudget, CupelError, Policy, SelectionReport};
use proptest::prelude::{Strategy as _, *};

/// A request that is nothing but messages, and what became of them.
#[derive(Debug, Clone)]
struct Talk {
    messages: Vec<Message>,
    fixed_tokens: i64,
    uncounted: bool,
    edits: Option<Edits>,
}

struct TalkAdapter {
    rules: Rules,
}

impl ContextAdapter<Talk> for TalkAdapter {
    type Rest = Talk;

    fn split(&self, talk: Talk, _: Strategy) -> Result<Split<Talk>, BoxError> {
        let conversation = Conversation::new(talk.messages.clone(), &self.rules)?;
        let uncounted = talk.uncounted.then(|| "a picture".to_owned());
        let mut split = Split::conversation(conversation, talk.fixed_tokens, talk)?;
        split.uncounted.extend(uncounted);
        Ok(split)
    }

    fn join(&self, mut talk: Talk, edits: &mut Edits) -> Result<Talk, BoxError> {
        talk.edits = Some(edits.clone());
        // Adapters may take texts out instead of copying them.
        edits.quotation = None;
        Ok(talk)
    }
}

fn layer(
    talk: &Talk,
    rules: &Rules,
    policy: &Policy,
    budget: &ContextBudget,
) -> Result<SelectedRequest<Talk>, ContextError> {
    let layer = CupelLayer::builder()
        .adapter(TalkAdapter { rules: rules.clone() })
        .policy(policy.clone())
        .budget(budget.clone())
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(layer.selector().select(talk.clone()))
}

/// A report without what depends on the clock: times of stages, and the last digits of scores by age.
fn timeless(mut report: SelectionReport) -> SelectionReport {
    for event in &mut report.events {
        (event.duration_ms, event.started_at) = (0.0, None);
    }
    let included = report.included.iter_mut().map(|entry| &mut entry.score);
    let excluded = report.excluded.iter_mut().map(|entry| &mut entry.score);
    included.chain(excluded).for_each(|score| *score = (*score * 1e6).round());
    report
}

/// Parts of the edits that an adapter writes.
fn parts(edits: &Edits) -> impl PartialEq + std::fmt::Debug {
    let excerpts: BTreeMap<_, _> = edits.excerpts.clone();
    let numbers = (edits.fixed_tokens, edits.has_sources, edits.placed.clone());
    let kept = (edits.kept.clone(), edits.documents.clone());
    (kept, excerpts, edits.quotation.clone(), edits.plan.clone(), numbers)
}

fn assert_same(
    sent: Result<SelectedRequest<Talk>, ContextError>,
    turn: Result<DryRun, CupelError>,
) {
    let (sent, turn) = match (sent, turn) {
        (Ok(sent), Ok(turn)) => (sent, turn),
        // The layer says more about it.
        (Err(_), Err(_)) => return,
        (sent, turn) => panic!("the layer: {sent:?}; the dry run: {turn:?}"),
    };
    let (request, selection) = sent.into_parts();
    assert_eq!(parts(&request.edits.unwrap()), parts(&turn.edits));
    let (mut shown, mut rehearsed) = (selection.explain(), turn.explain());
    for explanation in [&mut shown, &mut rehearsed] {
        explanation.report = timeless(std::mem::take(&mut explanation.report));
    }
    shown.notes.retain(|note| !note.starts_with("not counted"));
    assert_eq!(shown.fixed_tokens, selection.fixed_tokens);
    assert_eq!(shown, rehearsed);
    assert_eq!(timeless(selection.report), timeless(turn.report));
    assert_eq!(selection.plan.map(|plan| *plan), turn.plan);
    assert_eq!((selection.sent, selection.budget), (turn.sent, turn.budget));
}

#[derive(Debug, Clone)]
enum Event {
    User(String),
    Assistant(String),
    Tool { words: String, result: String, times: usize },
    Unanswered,
    Marked(String),
    System,
}

fn words() -> impl proptest::strategy::Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "parcel", "invoice", "Lyon", "key", "boiler", "error", "the", "where", "is", "7731",
    ]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

fn event() -> impl proptest::strategy::Strategy<Value = Event> {
    prop_oneof![
        5 => words().prop_map(Event::User),
        5 => words().prop_map(Event::Assistant),
        4 => (words(), words(), 1_usize..60)
            .prop_map(|(words, result, times)| Event::Tool { words, result, times }),
        1 => Just(Event::Unanswered),
        1 => words().prop_map(Event::Marked),
        1 => Just(Event::System),
    ]
}

fn tokens(text: &str) -> i64 {
    i64::try_from(text.len() / 4).unwrap() + 1
}

fn message(role: Role, text: impl Into<String>) -> Message {
    let text = text.into();
    let tokens = tokens(&text) + 3;
    Message::new(role, text, tokens)
}

fn messages(events: Vec<Event>) -> Vec<Message> {
    let mut messages = Vec::new();
    for (number, event) in events.into_iter().enumerate() {
        let id = format!("call_{number}");
        match event {
            Event::User(text) => messages.push(message(Role::User, text)),
            Event::Assistant(text) => messages.push(message(Role::Assistant, text)),
            Event::Tool { words, result, times } => {
                let text = format!("{result}\n").repeat(times);
                let result = tokens(&text);
                messages.push(message(Role::Assistant, words).calls(&id).tool("look"));
                messages.push(message(Role::Tool, text).answers(&id).result(result));
            }
            Event::Unanswered => messages.push(message(Role::Assistant, "look").calls(&id)),
            Event::Marked(text) => {
                let attributes = Attributes::new().pinned(true).priority(3);
                messages.push(message(Role::User, text).attributes(attributes));
            }
            Event::System => messages.push(message(Role::System, "Be brief.")),
        }
    }
    messages
}

fn policies() -> impl proptest::strategy::Strategy<Value = Policy> {
    let by_policy = TurnPlan::new().recall_by(RecallBy::Policy).recall(0.3);
    let compared = TurnPlan::new().grid(Grid::Tokens(64)).compare(true);
    prop::sample::select(vec![
        Policy::chat(),
        Policy::rag(),
        Policy::tool_use(),
        Policy::document_qa(),
        Policy::chat().without_plan(),
        Policy::chat().without_relevance(),
        Policy::tool_use().without_plan().without_relevance(),
        Policy::tool_use().with_plan(by_policy),
        Policy::rag().with_plan(compared),
    ])
}

fn rules() -> impl proptest::strategy::Strategy<Value = Rules> {
    let newest = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let rules = Rules::new().newest(newest);
    prop::sample::select(vec![
        rules.clone(),
        rules.clone().exchanges(Exchanges::StepsApart),
        rules.exchanges(Exchanges::Apart).user_first(true),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_dry_run_is_what_the_layer_sends(
        events in prop::collection::vec(event(), 0..40),
        policy in policies(),
        rules in rules(),
        window in 0_i64..3_000,
        reserve in 0_i64..200,
        fixed_tokens in prop_oneof![Just(0_i64), 0_i64..300],
        uncounted: bool,
    ) {
        let messages = messages(events);
        let talk = Talk { messages: messages.clone(), fixed_tokens, uncounted, edits: None };
        let budget = ContextBudget::builder(window).output_reserve(reserve.min(window)).build().unwrap();
        let sent = layer(&talk, &rules, &policy, &budget);
        if uncounted {
            let split = TalkAdapter { rules }.split(talk, Strategy::Planned);
            let Ok(split) = split else { return Ok(()) };
            assert_same(sent, split.rehearsal(&MessageTexts).unwrap().dry_run(&policy, &budget));
        } else {
            let conversation = Conversation::new(messages, &rules).unwrap();
            let rehearsal = Rehearsal::new(conversation);
            let turn = rehearsal.and_then(|it| it.fixed_tokens(fixed_tokens).dry_run(&policy, &budget));
            assert_same(sent, turn);
        }
    }
}

/// Forty turns of 100 tokens, of which the first holds the answer to the last.
fn long_talk() -> Vec<Message> {
    let mut messages = vec![Message::new(Role::User, "The key is under the mat.", 50)];
    for turn in 0..40 {
        messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 50));
        messages.push(Message::new(Role::User, format!("Remark {turn}."), 50));
    }
    messages.push(Message::new(Role::Assistant, "Anything else?", 50));
    messages.push(Message::new(Role::User, "Where is the key?", 10));
    messages
}

#[test]
fn a_report_says_whether_the_turn_was_planned_or_scored() {
    let talk = Talk { messages: long_talk(), fixed_tokens: 0, uncounted: false, edits: None };
    let budget = ContextBudget::builder(2_000).build().unwrap();
    for (policy, expected) in [
        (Policy::chat(), Strategy::Planned),
        (Policy::chat().without_plan(), Strategy::Scored),
        (Policy::rag().without_plan(), Strategy::Scored),
    ] {
        let sent = layer(&talk, &Rules::new(), &policy, &budget).unwrap();
        assert_eq!(sent.selection.report.strategy, expected);
        let text = sent.selection.explain().text().to_string();
        assert!(text.contains(&format!(", {expected}: ")), "{text}");
    }
    // No user has asked anything: the steps of the model are planned.
    let messages = vec![Message::new(Role::Assistant, "Hello!", 10)];
    let talk = Talk { messages, fixed_tokens: 0, uncounted: false, edits: None };
    let sent = layer(&talk, &Rules::new(), &Policy::chat(), &budget).unwrap();
    assert_eq!(sent.selection.report.strategy, Strategy::Planned);
}

#[test]
fn a_message_is_seen_whole_quoted_or_not_at_all() {
    let conversation = Conversation::new(long_talk(), &Rules::new()).unwrap();
    let rehearsal = Rehearsal::new(conversation).unwrap();
    let budget = ContextBudget::builder(1_000).build().unwrap();
    let turn = rehearsal.dry_run(&Policy::chat(), &budget).unwrap();
    assert_eq!(turn.view_of(0), RehearsedMessage::Quoted);
    assert_eq!(turn.view_of(10), RehearsedMessage::Dropped);
    assert_eq!(turn.view_of(82), RehearsedMessage::Whole);
    assert_eq!(turn.view_of(83), RehearsedMessage::Dropped);
}
