//! Tool loops that no user has begun are planned like any other.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::conversation::plan::{Part, PlanOutcome, Turn};
use cupel::conversation::{
    Attributes, Conversation, Message, MessageTexts, Rehearsal, Role, Rules, Texts,
};
use cupel::model::{Strategy, TurnPlan};
use cupel::tokens::counter_fn;
use cupel::{ContextBudget, Policy};

/// A system prompt, and so many steps with results of so many tokens.
fn steps(count: usize, tokens: i64) -> Vec<Message> {
    let mut messages = vec![Message::new(Role::System, "Watch the queue.", 20)];
    for step in 0..count {
        let id = format!("call {step}");
        let result: String = (0..tokens).map(|word| format!("w{word} ")).collect();
        messages.push(Message::new(Role::Assistant, "look()", 10).calls(id.as_str()));
        messages.push(Message::new(Role::Tool, result, tokens + 4).answers(id).result(tokens));
    }
    messages
}

fn conversation(messages: Vec<Message>, rules: &Rules) -> Conversation {
    Conversation::new(messages, rules).unwrap()
}

fn plan(messages: Vec<Message>, rules: &Rules, window: i64) -> PlanOutcome {
    let talk = conversation(messages, rules);
    talk.plan(&Turn::new(&TurnPlan::new(), window), None, &MessageTexts).unwrap()
}

#[test]
fn the_newest_steps_are_sent_without_holes() {
    for rules in [Rules::new(), Rules::new().user_first(true)] {
        let planned = plan(steps(40, 50), &rules, 1_000);
        assert_eq!(planned.parts[0], Part::Head);
        let cut = planned.parts.iter().position(|part| *part == Part::Exchange).unwrap();
        assert!(planned.parts[1..cut].iter().all(|part| *part == Part::Dropped));
        assert!(planned.parts[cut..].iter().all(|part| *part == Part::Exchange));
        assert!((500..=1_000).contains(&planned.pinned_tokens()), "{}", planned.pinned_tokens());
        assert_eq!((planned.question, planned.share), (None, 0));
    }
}

#[test]
fn the_cut_moves_seldom_while_the_loop_grows() {
    let cut = |count: usize| {
        let planned = plan(steps(count, 50), &Rules::new(), 8_192);
        planned.parts.iter().position(|part| *part == Part::Exchange).unwrap()
    };
    let cuts: Vec<usize> = (150..250).map(cut).collect();
    let moves = cuts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(cuts.is_sorted() && (1..=5).contains(&moves), "{cuts:?}");
}

#[test]
fn a_long_result_becomes_an_excerpt() {
    let mut messages = steps(3, 50);
    let long: String = (0..3_000).map(|line| format!("line {line}\n")).collect();
    messages.push(Message::new(Role::Assistant, "read()", 10).calls("long"));
    messages.push(Message::new(Role::Tool, long, 9_000).answers("long").result(8_990));
    let rehearsal = Rehearsal::new(conversation(messages, &Rules::new())).unwrap();
    // Before, the pins alone were over the budget.
    let budget = ContextBudget::builder(1_000).build().unwrap();
    let turn = rehearsal.dry_run(&Policy::chat(), &budget).unwrap();
    assert_eq!(turn.report.strategy, Strategy::Planned);
    assert_eq!(turn.edits.kept, (0..9).collect::<Vec<_>>());
    assert!(turn.edits.excerpts.contains_key(&(8, 0)));
    assert!(turn.sent.tokens <= 1_000);
}

#[test]
fn steps_bring_along_the_step_that_they_need() {
    let mut messages = steps(40, 50);
    let last = messages.len() - 2;
    messages[last] = messages[last].clone().needs(3);
    let planned = plan(messages, &Rules::new(), 1_000);
    assert_eq!((planned.parts[1], planned.parts[2]), (Part::Dropped, Part::Exchange));
}

#[test]
fn a_loop_whose_only_user_message_is_pinned_has_that_as_its_question() {
    let mut messages = steps(40, 50);
    let task = Message::new(Role::User, "Empty the queue.", 30);
    messages.insert(1, task.attributes(Attributes::new().pinned(true)));
    for rules in [Rules::new(), Rules::new().user_first(true)] {
        let planned = plan(messages.clone(), &rules, 1_000);
        assert_eq!((planned.question, planned.parts[1]), (Some(1), Part::Question));
        assert_eq!(planned.parts.last(), Some(&Part::Exchange));
        assert!((500..=1_000).contains(&planned.pinned_tokens()), "{}", planned.pinned_tokens());
    }
}

#[test]
fn the_newest_result_is_there_when_instructions_stand_behind_it() {
    let mut messages = steps(4, 400);
    messages.insert(1, Message::new(Role::User, "Empty the queue.", 30));
    messages.push(Message::new(Role::System, "Two minutes left.", 8));
    let planned = plan(messages, &Rules::new(), 110);
    assert_eq!(
        planned.parts[2..],
        [Part::Dropped, Part::Dropped, Part::Dropped, Part::Exchange, Part::Head]
    );
    assert!(planned.pinned_tokens() <= 110, "{}", planned.pinned_tokens());
}

/// Counts the bytes of texts that are read.
#[derive(Default)]
struct CountedTexts(Cell<usize>);

impl Texts for CountedTexts {
    fn message<'a>(&'a self, _: usize, message: &'a Message) -> Cow<'a, str> {
        self.0.set(self.0.get() + message.text.len() + 1);
        Cow::Borrowed(&message.text)
    }

    fn result<'a>(&'a self, _: usize, message: &'a Message, _: usize) -> Option<Cow<'a, str>> {
        self.0.set(self.0.get() + message.text.len() + 1);
        Some(Cow::Borrowed(&message.text))
    }
}

/// Bytes of texts that planning an exchange of so many steps reads and counts.
fn work(steps_after: usize, with_user: bool) -> usize {
    let counted = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&counted);
    let counter = counter_fn("bytes", move |text: &str| {
        noted.fetch_add(text.len() + 1, Ordering::Relaxed);
        text.len() as i64
    });
    let mut messages = steps(steps_after, 12);
    if with_user {
        messages.insert(1, Message::new(Role::User, "Which queue is long?", 20));
    }
    let talk = conversation(messages, &Rules::new()).counter(Arc::new(counter));
    let texts = CountedTexts::default();
    talk.plan(&Turn::new(&TurnPlan::new(), 4_000), None, &texts).unwrap();
    texts.0.get() + counted.load(Ordering::Relaxed)
}

#[test]
fn planning_ten_times_the_exchange_reads_at_most_ten_times_as_much() {
    for with_user in [false, true] {
        let (short, long) = (work(1_000, with_user), work(10_000, with_user));
        assert!(long <= short * 11 + 1_000, "{short}, {long}");
    }
}
