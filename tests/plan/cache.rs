//! The expectation of a prompt cache against the truth: the requests that are really sent.

use std::sync::Arc;

use cupel::conversation::plan::PrefixBreak;
use cupel::conversation::{
    Answers, Attributes, Conversation, DryRun, Message, PartTokens, QuotableDocument, Rehearsal,
    Role, Rules,
};
use cupel::model::{Grid, TurnPlan};
use cupel::tokens::counter_fn;
use cupel::{ContextBudget, Policy};
use proptest::prelude::*;

/// Tokens of a message beside its text.
const FRAME: i64 = 4;

fn words(text: &str) -> i64 {
    i64::try_from(text.split_whitespace().count() + text.matches('\n').count()).unwrap()
}

/// One thing that happens in a conversation.
#[derive(Debug, Clone)]
enum Event {
    /// The user asks in so many words; none is a blank message.
    Question(usize),
    /// A short remark that comes again and again, word for word.
    Remark,
    Answer(usize),
    /// So many calls in one message, with results of so many words.
    Step(usize, usize),
    /// Calls as messages of their own, and their results behind them.
    Parallel(usize, usize),
    /// A call whose result comes after the next response.
    Late(usize),
    Instructions(usize),
    Pinned(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let length = || prop_oneof![6 => 1..60_usize, 1 => 150..700_usize];
    prop_oneof![
        4 => (0..30_usize).prop_map(Event::Question),
        1 => Just(Event::Remark),
        4 => (1..60_usize).prop_map(Event::Answer),
        5 => (1..4_usize, length()).prop_map(|(calls, words)| Event::Step(calls, words)),
        2 => (2..4_usize, length()).prop_map(|(calls, words)| Event::Parallel(calls, words)),
        1 => length().prop_map(Event::Late),
        1 => (1..8_usize).prop_map(Event::Instructions),
        1 => (1..8_usize).prop_map(Event::Pinned),
    ]
}

fn text(seed: usize, count: usize) -> String {
    let themes = ["parcel", "invoice", "flight", "garden", "printer", "refund"];
    let theme = themes[seed % themes.len()];
    let line =
        |at: usize| if at % 9 == 8 { format!("w{seed}x{at}\n") } else { format!("w{seed}x{at}") };
    (0..count)
        .map(|at| if at == 0 { theme.to_owned() } else { line(at) })
        .collect::<Vec<_>>()
        .join(" ")
}

fn message(role: Role, text: &str) -> Message {
    Message::new(role, text, FRAME + words(text))
}

fn result(id: &str, text: &str) -> Message {
    message(Role::Tool, text).answers(id).result(words(text))
}

/// A history, and after how many messages the model was called.
#[derive(Debug, Clone)]
struct History {
    messages: Vec<Message>,
    calls: Vec<usize>,
}

fn history(with_user: bool, events: &[Event]) -> History {
    let mut messages = vec![message(Role::System, "Be brief.")];
    if with_user {
        messages.push(message(Role::User, &text(0, 6)));
    }
    let mut calls: Vec<usize> = Vec::new();
    let mut late: Option<Message> = None;
    for (seed, event) in events.iter().enumerate() {
        let by_model = messages.last().unwrap().role == Role::Assistant;
        let responds = matches!(
            event,
            Event::Answer(_) | Event::Step(..) | Event::Parallel(..) | Event::Late(_)
        );
        if responds {
            if by_model {
                continue;
            }
            calls.push(messages.len());
        }
        match *event {
            Event::Question(count) => messages.push(message(Role::User, &text(seed, count))),
            Event::Remark => messages.push(message(Role::User, "Go on.")),
            Event::Answer(count) => messages.push(message(Role::Assistant, &text(seed, count))),
            Event::Step(count, length) => {
                let ids: Vec<String> = (0..count).map(|at| format!("{seed}-{at}")).collect();
                let call = message(Role::Assistant, &text(seed, 3));
                messages.push(ids.iter().fold(call, |call, id| call.calls(id.as_str())));
                messages.extend(ids.iter().map(|id| result(id, &text(seed, length / count))));
            }
            Event::Parallel(count, length) => {
                let ids: Vec<String> = (0..count).map(|at| format!("{seed}-{at}")).collect();
                messages.extend(
                    ids.iter().map(|id| message(Role::Assistant, "look").calls(id.as_str())),
                );
                messages.extend(ids.iter().map(|id| result(id, &text(seed, length / count))));
            }
            Event::Late(length) => {
                let id = format!("late-{seed}");
                messages.push(message(Role::Assistant, "look later").calls(id.as_str()));
                messages.push(message(Role::User, "In the meantime:"));
                if let Some(before) = late.replace(result(&id, &text(seed, length))) {
                    messages.push(before);
                }
            }
            Event::Instructions(count) => messages.push(message(Role::System, &text(seed, count))),
            Event::Pinned(count) => {
                let pinned = Attributes::new().pinned(true);
                messages.push(message(Role::User, &text(seed, count)).attributes(pinned));
            }
        }
    }
    if messages.last().unwrap().role != Role::Assistant {
        calls.push(messages.len());
    }
    History { messages, calls }
}

#[derive(Debug, Clone)]
struct Case {
    window: i64,
    fixed: i64,
    recall: f64,
    grid: Grid,
    user_first: bool,
    part: PartTokens,
    documents: usize,
    placeholder: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let grid = prop_oneof![Just(Grid::Cached), Just(Grid::Uncached), Just(Grid::Tokens(100))];
    let part = prop_oneof![
        Just(PartTokens::Free),
        Just(PartTokens::OfShare(3)),
        Just(PartTokens::Beside(3))
    ];
    let documents = prop_oneof![3 => Just(0), 1 => 1..4_usize];
    (200..1_500_i64, 0..30_i64, 0.0..0.4_f64, grid, any::<bool>(), part, documents, any::<bool>())
        .prop_map(|(window, fixed, recall, grid, user_first, part, documents, placeholder)| Case {
            window,
            fixed,
            recall,
            grid,
            user_first,
            part,
            documents,
            placeholder,
        })
}

/// A request that was really sent: documents, then messages, each with its tokens.
#[derive(Debug)]
struct SentSummary {
    turn: DryRun,
    documents: (Vec<usize>, i64),
    messages: Vec<(String, i64)>,
    /// The message with the question, and whether something is quoted in it.
    question: Option<(usize, bool)>,
}

impl Case {
    /// None if what has to be sent does not fit, or if the turn was not planned.
    fn send(&self, messages: &[Message]) -> Option<SentSummary> {
        let rules = Rules::new().answers(Answers::Later).user_first(self.user_first);
        let document = |at: usize| {
            let text = text(at, 12);
            let pinned = Attributes::new().pinned(at == 1);
            QuotableDocument::new(
                pinned.item(text.as_str(), FRAME + words(&text)).build().unwrap(),
                text,
            )
        };
        let conversation = Conversation::new(messages.to_vec(), &rules)
            .unwrap()
            .counter(Arc::new(counter_fn("words", words)))
            .part_tokens(self.part)
            .documents((0..self.documents).map(document).collect())
            .empty_result(if self.placeholder { "nothing left" } else { "" });
        let items = conversation.candidates();
        let first_document = items.len() - self.documents;
        let plan = TurnPlan::new().recall(self.recall).grid(self.grid);
        let rehearsal = Rehearsal::new(conversation).unwrap().fixed_tokens(self.fixed);
        let budget = ContextBudget::builder(self.window).build().unwrap();
        let turn = rehearsal.dry_run(&Policy::chat().with_plan(plan), &budget).ok()?;
        turn.plan.as_ref()?;
        let part = match self.part {
            PartTokens::Free => 0,
            PartTokens::OfShare(tokens) | PartTokens::Beside(tokens) => tokens,
        };
        let write = |at: &usize| {
            let message = &messages[*at];
            let excerpt = turn.edits.excerpts.get(&(*at, 0)).map(|excerpt| &excerpt.text);
            let body = excerpt.unwrap_or(&message.text);
            let quotation = turn.edits.quotation.as_ref().filter(|it| it.message == *at);
            let quoted = quotation.map_or("", |it| it.text.as_str());
            let tokens = FRAME + words(body) + quotation.map_or(0, |_| words(quoted) + part);
            let head = format!("{:?} {:?} {:?}", message.role, message.calls, message.answers);
            (format!("{head} {quoted}{body}"), tokens)
        };
        let sent = turn.edits.kept.iter().map(write).collect();
        let asked = turn.edits.plan.as_ref().and_then(|plan| plan.question);
        let place = asked.and_then(|asked| turn.edits.kept.iter().position(|at| *at == asked));
        let question = place.map(|at| (at, turn.edits.quotation.is_some()));
        let tokens = |at: &usize| items[first_document + at].tokens();
        let documents = turn.edits.documents.clone();
        let documents = (documents.clone(), documents.iter().map(tokens).sum());
        Some(SentSummary { documents, messages: sent, question, turn })
    }
}

impl SentSummary {
    /// Tokens at the beginning of both requests, in whole messages; and whether that is all of the
    /// request before, or all up to a question that had something quoted before it and is not the last
    /// any more.
    fn shared(&self, before: &Self, fixed: i64) -> (i64, bool) {
        if self.documents != before.documents {
            return (fixed, false);
        }
        let pairs = self.messages.iter().zip(&before.messages);
        let shared = pairs.take_while(|(now, then)| now == then).count();
        let tokens = self.messages[..shared].iter().map(|(_, tokens)| tokens).sum::<i64>();
        let is_over = before.question == Some((shared, true))
            && self.question.is_none_or(|(at, _)| at != shared)
            && self.messages.get(shared).is_some_and(|(now, _)| {
                let then = &before.messages[shared].0;
                then.len() > now.len() && then.ends_with(now.rsplit("] ").next().unwrap())
            });
        (fixed + self.documents.1 + tokens, shared == before.messages.len() || is_over)
    }
}

/// Compares the expectation of each call of a history with what the call before sent.
fn check_expectation(with_user: bool, events: &[Event], case: &Case) -> Result<(), TestCaseError> {
    let history = history(with_user, events);
    for (at, known) in history.calls.iter().enumerate() {
        let Some(now) = case.send(&history.messages[..*known]) else { continue };
        let plan = now.turn.plan.clone().unwrap();
        let sent = now.turn.sent.tokens + case.fixed;
        prop_assert_eq!(plan.cached_tokens + plan.new_tokens, sent);
        let Some(before) = at.checked_sub(1) else {
            prop_assert_eq!((plan.broke, plan.cached_tokens), (Some(PrefixBreak::First), 0));
            continue;
        };
        let Some(before) = case.send(&history.messages[..history.calls[before]]) else { continue };
        let (shared, intact) = now.shared(&before, case.fixed);
        prop_assert_eq!(plan.cached_tokens, shared, "{:?}", plan.broke);
        prop_assert_eq!(plan.broke.is_none(), intact, "{:?}", plan.broke);
        let told = plan.following(before.turn.plan.as_ref().unwrap());
        prop_assert_eq!((told.cached_tokens, told.broke.is_none()), (shared, intact));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(64),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_expectation_is_exact_when_the_history_has_only_grown(
        events in prop::collection::vec(event(), 1..30),
        with_user in prop_oneof![4 => Just(true), 1 => Just(false)],
        case in case(),
    ) {
        check_expectation(with_user, &events, &case)?;
    }

    #[test]
    fn a_report_that_is_told_of_any_other_call_never_claims_more_than_both_share(
        events in prop::collection::vec(event(), 1..20),
        other in prop::collection::vec(event(), 1..20),
        common in 0..20_usize,
        case in case(),
        other_fixed in 0..3_i64,
    ) {
        // Two histories with a common beginning.
        let mut other = other;
        let common = common.min(events.len()).min(other.len());
        other[..common].clone_from_slice(&events[..common]);
        let (one, other) = (history(true, &events), history(true, &other));
        let mut other_case = case.clone();
        other_case.fixed += other_fixed;
        let (one, other) = (case.send(&one.messages), other_case.send(&other.messages));
        let (Some(now), Some(before)) = (one, other) else { return Ok(()) };
        let told = now.turn.plan.clone().unwrap().following(before.turn.plan.as_ref().unwrap());
        let (shared, _) = now.shared(&before, case.fixed);
        let truth = if other_fixed == 0 { shared } else { 0 };
        prop_assert_eq!(told.cached_tokens, truth);
        prop_assert_eq!(told.cached_tokens + told.new_tokens, now.turn.sent.tokens + case.fixed);
    }
}

/// The texts before the cut that are closest to the question do not fit as they are quoted.
#[test]
fn an_expectation_is_exact_if_what_is_relevant_does_not_fit_its_share() {
    use Event::{Answer, Late, Parallel, Question, Step};
    let case = |window, fixed, recall, documents| Case {
        window,
        fixed,
        recall,
        grid: Grid::Cached,
        user_first: false,
        part: PartTokens::Free,
        documents,
        placeholder: false,
    };
    let messages = [
        Parallel(2, 34),
        Question(16),
        Step(3, 39),
        Step(3, 18),
        Late(1),
        Answer(27),
        Question(15),
        Question(0),
        Question(0),
        Answer(1),
        Question(1),
    ];
    check_expectation(true, &messages, &case(237, 6, 0.055_082, 0)).unwrap();
    let with_a_document = [Step(1, 643), Step(2, 38), Late(1), Step(1, 36), Answer(1), Question(1)];
    check_expectation(true, &with_a_document, &case(357, 0, 0.260_139, 1)).unwrap();
}

#[test]
fn two_images_of_the_same_size_are_told_apart_by_their_data() {
    let roles = [Role::System, Role::User, Role::Assistant, Role::User];
    let budget = ContextBudget::builder(1_000).build().unwrap();
    let send = |data: &str, tools: u64| {
        let mut messages = roles.map(|role| message(role, "[image]")).to_vec();
        messages[1].note_unseen(data);
        let talk = Conversation::new(messages, &Rules::new()).unwrap().fixed_identity(tools);
        Rehearsal::new(talk).unwrap().dry_run(&Policy::chat(), &budget).unwrap().plan.unwrap()
    };
    let told = send("one", 0).following(&send("other", 0));
    assert_eq!((told.cached_tokens, told.broke), (5, Some(PrefixBreak::Edited)));
    let told = send("one", 1).following(&send("one", 2));
    assert_eq!((told.cached_tokens, told.broke), (0, Some(PrefixBreak::GaveWay)));
    let same = send("one", 1).following(&send("one", 1));
    assert_eq!((same.cached_tokens, same.broke), (20, None));
}
