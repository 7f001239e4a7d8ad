//! Recall: passages of long messages, the closest to the question, and nothing that is far from it.

use cupel::conversation::{Conversation, DryRun, Message, Rehearsal, Role, Rules};
use cupel::model::ExclusionReason;
use cupel::{ContextBudget, Policy};

fn tokens(text: &str) -> i64 {
    i64::try_from(text.chars().count().div_ceil(4)).unwrap() + 4
}

fn message(role: Role, text: &str) -> Message {
    Message::new(role, text, tokens(text))
}

/// Sentences that have no word in common with a question.
fn filler(topic: &str, sentences: usize) -> String {
    let sentence =
        |at: usize| format!("Remark {at} about {topic} is of little interest to anybody. ");
    (0..sentences).map(sentence).collect()
}

/// The given messages at the start of a long conversation, and a question at its end.
fn turn(early: Vec<Message>, question: &str) -> DryRun {
    let mut messages = early;
    for at in 0..60 {
        messages.push(message(Role::User, &filler(&format!("weather{at}"), 2)));
        messages.push(message(Role::Assistant, &filler(&format!("sport{at}"), 2)));
    }
    messages.push(message(Role::User, question));
    let rehearsal = Rehearsal::new(Conversation::new(messages, &Rules::new()).unwrap()).unwrap();
    let budget = ContextBudget::builder(4_000).build().unwrap();
    rehearsal.dry_run(&Policy::chat(), &budget).unwrap()
}

fn recalled(early: Vec<Message>, question: &str) -> String {
    turn(early, question).edits.quotation.map(|quotation| quotation.text).unwrap_or_default()
}

#[test]
fn a_long_message_is_quoted_by_its_best_passage() {
    let before = filler("hats", 30);
    let reply = format!("{before}The ferry is called Marjatta. {}", filler("shoes", 30));
    let early = vec![message(Role::User, "Tell me more."), message(Role::Assistant, &reply)];
    let recalled = recalled(early, "What was the ferry called?");
    assert!(recalled.contains("The ferry is called Marjatta."), "{recalled}");
    assert!(recalled.contains("[1] assistant: … "), "{recalled}");
    assert!(tokens(&recalled) < tokens(&reply) / 2, "{recalled}");
}

#[test]
fn a_long_message_does_not_crowd_out_others() {
    let reply = format!("{}The ferry leaves at nine. {}", filler("hats", 40), filler("shoes", 40));
    let early = vec![
        message(Role::User, "The ferry is called Marjatta."),
        message(Role::Assistant, &reply),
        message(Role::User, "The ferry costs 40 euros."),
    ];
    let recalled = recalled(early, "Tell me all about the ferry: called what, leaves when, costs?");
    for fact in ["called Marjatta", "leaves at nine", "costs 40 euros"] {
        assert!(recalled.contains(fact), "{fact}: {recalled}");
    }
}

#[test]
fn a_short_message_stays_whole() {
    let said = format!("My ferry is called Marjatta. {}", filler("hats", 8));
    let recalled = recalled(vec![message(Role::User, &said)], "What is my ferry called?");
    assert!(recalled.contains(&format!("[0] user: {}\n", said.trim_end())), "{recalled}");
}

#[test]
fn weak_matches_do_not_fill_the_share() {
    let mut early = vec![message(Role::User, "The chip of our dog has the number 4471-90.")];
    for at in 0..12 {
        // Neighbours of the answer may belong to it.
        early.extend((0..2).map(|_| message(Role::Assistant, &filler("shoes", 20))));
        early.push(message(Role::User, &format!("Our list has {at} hats and two dogs.")));
    }
    let turn = turn(early, "Which number does the chip of our dog have?");
    let (plan, quotation) = (turn.plan.unwrap(), turn.edits.quotation.unwrap());
    assert_eq!(quotation.messages, [0], "{}", quotation.text);
    assert!(quotation.text.contains("4471-90"));
    assert!(plan.recalled_tokens < plan.share / 2, "{} of {}", plan.recalled_tokens, plan.share);
    let weak = turn.report.excluded.iter().find(|entry| entry.item.content().contains("3 hats"));
    assert!(matches!(weak.unwrap().reason, ExclusionReason::ScoredTooLow { .. }), "{weak:?}");
}

#[test]
fn without_any_match_the_newest_is_recalled() {
    let early = vec![message(Role::User, "My ferry is called Marjatta.")];
    let recalled = recalled(early, "Quarks?");
    assert!(!recalled.contains("Marjatta") && recalled.contains("weather"), "{recalled}");
}

#[test]
fn go_on_recalls_by_what_was_asked_before() {
    let mut early =
        vec![message(Role::User, "The invoice went to Lyon."), message(Role::Assistant, "OK.")];
    for at in 0..60 {
        early.push(message(Role::User, &filler(&format!("weather{at}"), 2)));
        early.push(message(Role::Assistant, &filler(&format!("sport{at}"), 2)));
    }
    early.push(message(Role::User, "Where did the invoice go?"));
    for go_on in ["Go on.", "Ja, weiter!", "yes please", "?"] {
        let mut messages = early.clone();
        messages.push(message(Role::Assistant, "Shall I look?"));
        messages.push(message(Role::User, go_on));
        let talk = Conversation::new(messages, &Rules::new()).unwrap();
        let budget = ContextBudget::builder(4_000).build().unwrap();
        let turn = Rehearsal::new(talk).unwrap().dry_run(&Policy::chat(), &budget).unwrap();
        let recalled = turn.edits.quotation.map(|it| it.text).unwrap_or_default();
        assert!(recalled.contains("[0] user: The invoice went to Lyon."), "{go_on}: {recalled}");
    }
}

#[test]
fn the_newer_of_two_facts_stands_behind_the_older_one() {
    let early = vec![
        message(Role::User, "Our meeting room is number 12."),
        message(Role::Assistant, "Fine."),
        message(Role::User, "Our meeting room is number 31 from Monday on."),
    ];
    let recalled = recalled(early, "Which number has our meeting room?");
    let old = recalled.find("[0] user: Our meeting room is number 12.");
    let new = recalled.find("[2] user: Our meeting room is number 31");
    assert!(old.unwrap() < new.unwrap(), "{recalled}");
}

#[test]
fn of_exact_repeats_the_newest_is_recalled() {
    let said = "Our meeting room is number 12.";
    let early = vec![
        message(Role::User, said),
        message(Role::Assistant, "Fine."),
        message(Role::User, "Our meeting room is number 31."),
        message(Role::Assistant, "Fine."),
        message(Role::User, said),
    ];
    let recalled = recalled(early, "Which number has our meeting room?");
    assert_eq!(recalled.matches(said).count(), 1, "{recalled}");
    let back = recalled.find("[4] user: Our meeting room is number 12.");
    assert!(recalled.find("number 31").unwrap() < back.unwrap(), "{recalled}");
}

/// The closest of two messages, which a user and the other side said.
fn closest(user: &str, other: &str) -> String {
    let pad = |text: &str| format!("{text} {}", filler("hats", 4));
    let mut early = vec![message(Role::Assistant, &pad(other))];
    early.extend((0..6).map(|_| message(Role::Assistant, &format!("Ann: {}", filler("shoes", 8)))));
    early.push(message(Role::User, &pad(user)));
    let turn = turn(early, "Which harbour does the ferry leave from?");
    let best = turn.report.included.iter().filter(|entry| entry.item.content().contains("ferry"));
    let best = best.filter(|entry| !entry.item.pinned()).max_by(|a, b| a.score.total_cmp(&b.score));
    best.unwrap().item.content().to_owned()
}

#[test]
fn the_users_own_words_weigh_more_beside_a_model() {
    let best = closest("The ferry leaves a harbour.", "The ferry leaves a harbour, a harbour.");
    assert!(best.contains("user: "), "{best}");
}

#[test]
fn among_people_nobodys_words_weigh_more() {
    let people = |text: &str| text.replace("Remark", "Ann: Remark");
    let mut early = vec![message(Role::Assistant, "Bo: The ferry leaves a harbour, a harbour.")];
    early.extend((0..6).map(|_| message(Role::Assistant, &people(&filler("shoes", 1)))));
    early.push(message(Role::User, "Ann: The ferry leaves a harbour."));
    for at in 0..60 {
        early.push(message(Role::User, &people(&filler(&format!("weather{at}"), 1))));
        early.push(message(Role::Assistant, &people(&filler(&format!("sport{at}"), 1))));
    }
    early.push(message(Role::User, "Which harbour does the ferry leave from?"));
    let talk = Conversation::new(early, &Rules::new()).unwrap();
    let budget = ContextBudget::builder(1_000).build().unwrap();
    let turn = Rehearsal::new(talk).unwrap().dry_run(&Policy::chat(), &budget).unwrap();
    let score = |text: &str| {
        let found = turn.report.included.iter().find(|entry| entry.item.content().contains(text));
        found.unwrap().score
    };
    assert!(score("Bo: The ferry") > score("Ann: The ferry"));
}

#[test]
fn tool_results_are_quoted_as_excerpts_that_keep_their_shape() {
    let result = format!("{{\"ferry\": \"Marjatta\", \"notes\": \"{}\"}}", filler("hats", 20));
    let tokens = tokens(&result);
    let early = vec![
        message(Role::Assistant, "Let me look at the ferry.").calls("c1"),
        message(Role::Tool, &result).answers("c1").result(tokens),
    ];
    let recalled = recalled(early, "What is the ferry called?");
    assert!(recalled.contains("[1, untrusted] tool: {\"ferry\": \"Marjatta\""), "{recalled}");
}
