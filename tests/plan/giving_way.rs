//! Recall gives way in steps while a tool loop fills the window.

use cupel::conversation::plan::{Part, PlanOutcome, Turn};
use cupel::conversation::{Conversation, DryRun, Message, MessageTexts, Rehearsal, Role, Rules};
use cupel::model::{ExclusionReason, TurnPlan};
use cupel::{ContextBudget, Policy};

const WINDOW: i64 = 4_000;

/// A long history, a question about its beginning, and so many steps of a tool loop of 70 tokens each.
fn looping(steps: usize) -> Conversation {
    let fact = "The ferry to the island is called Marjatta.";
    let mut messages = vec![Message::new(Role::User, fact, 15)];
    for turn in 0..60 {
        messages.push(Message::new(Role::Assistant, format!("Remark {turn}."), 60));
        messages.push(Message::new(Role::User, format!("Reply {turn}."), 60));
    }
    messages.push(Message::new(Role::Assistant, "Anything else?", 60));
    messages.push(Message::new(Role::User, "Book the ferry to the island. What is it called?", 20));
    for step in 0..steps {
        let id = format!("call {step}");
        messages.push(Message::new(Role::Assistant, "look()", 10).calls(id.as_str()));
        messages.push(Message::new(Role::Tool, format!("result {step}"), 60).answers(id));
    }
    Conversation::new(messages, &Rules::new()).unwrap()
}

fn planned(steps: usize) -> PlanOutcome {
    let plan = TurnPlan::new();
    looping(steps).plan(&Turn::new(&plan, WINDOW), None, &MessageTexts).unwrap()
}

fn sent(steps: usize) -> DryRun {
    let rehearsal = Rehearsal::new(looping(steps)).unwrap();
    rehearsal.dry_run(&Policy::chat(), &ContextBudget::builder(WINDOW).build().unwrap()).unwrap()
}

#[test]
fn the_share_halves_before_nothing_is_recalled_and_only_then_steps_go() {
    let mut shares: Vec<i64> = Vec::new();
    let mut cuts_of_share: Vec<usize> = Vec::new();
    for steps in 0..80 {
        let planned = planned(steps);
        let share = planned.share - planned.frame;
        assert!(planned.pinned_tokens() + planned.share <= WINDOW, "{steps}");
        assert!(share == 0 || !planned.parts.contains(&Part::Dropped), "{steps}");
        if shares.last() != Some(&share) {
            shares.push(share);
            cuts_of_share.push(steps);
        }
    }
    assert_eq!(shares, [400, 200, 0], "at {cuts_of_share:?} steps");
}

#[test]
fn what_was_recalled_stays_in_view_while_its_smaller_share_holds_it() {
    let is_recalled = |sent: &DryRun| {
        let quotation = sent.edits.quotation.as_ref();
        quotation.is_some_and(|quotation| quotation.text.contains("Marjatta"))
    };
    let full = (0..80).map(sent).take_while(|sent| sent.plan.as_ref().unwrap().share > 400);
    let halved: Vec<DryRun> = (full.count()..80)
        .map(sent)
        .take_while(|sent| sent.plan.as_ref().unwrap().share > 0)
        .collect();
    assert!(halved.len() >= 3, "{}", halved.len());
    assert!(halved.iter().all(is_recalled));
    // The quotation fits the smaller share as well, so its bytes stay.
    let mut texts: Vec<_> =
        halved.iter().map(|it| &it.edits.quotation.as_ref().unwrap().text).collect();
    texts.dedup();
    assert!(texts.len() <= 2, "{texts:?}");
}

#[test]
fn the_report_says_in_words_that_recall_gave_way() {
    let words = |steps: usize| sent(steps).plan.unwrap().recall_gave_way;
    assert_eq!(words(0), None);
    let all: Vec<String> = (0..80).filter_map(words).collect();
    assert_eq!(all.first().unwrap(), "recall shrank to 200 tokens: the exchange needed the room");
    assert_eq!(all.last().unwrap(), "nothing is recalled: the exchange needed the room");
    let last = sent(79);
    assert!(last.explain().text().to_string().contains(all.last().unwrap()));
    let bare = last
        .report
        .excluded
        .iter()
        .filter(|excluded| matches!(excluded.reason, ExclusionReason::PinnedOverride { .. }));
    assert_eq!(bare.count(), 0);
}
