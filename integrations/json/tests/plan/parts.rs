//! The report of a planned call.

use cupel::conversation::plan::{Part, PrefixBreak};
use cupel::model::{Grid, TurnPlan};

use crate::support::{Settings, assistant, filler, step, system, user};

#[test]
fn every_unit_has_its_part() {
    let mut messages = vec![system("Be brief.")];
    for turn in 0..40 {
        messages.push(user(&filler(&format!("q{turn}x"), 20)));
        messages.push(assistant(&filler(&format!("a{turn}x"), 20)));
    }
    messages.push(user("And now?"));
    messages.extend(step("a", "{}", "done"));
    let sent = Settings::new(1_000).send(&messages).unwrap();
    let parts: Vec<Part> = sent.plan.parts().map(|(_, part)| part).collect();
    assert_eq!(parts.len(), 83);
    assert_eq!(parts[0], Part::Head);
    assert_eq!(parts[1], Part::Earlier);
    assert!(matches!(parts[80], Part::Tail | Part::Faded), "{}", parts[80]);
    assert_eq!(parts[81], Part::Question);
    assert_eq!(parts[82], Part::Exchange);
    let order = |part: &Part| match part {
        Part::Head => 0,
        Part::Earlier => 1,
        Part::Faded => 2,
        Part::Tail => 3,
        _ => 4,
    };
    assert!(parts.is_sorted_by_key(order), "{parts:?}");
}

#[test]
fn the_report_says_what_a_cache_may_know_and_why_not() {
    let mut settings = Settings::new(1_000);
    settings.plan = TurnPlan::new().grid(Grid::Tokens(256));
    let mut messages = vec![system("Be brief."), user("Begin.")];
    let mut reasons = Vec::new();
    for turn in 0..80 {
        let sent = settings.send(&messages).unwrap();
        let all = sent.messages.iter().map(crate::support::tokens).sum::<i64>();
        assert_eq!(sent.tokens, all);
        assert_eq!(sent.plan.cached_tokens + sent.plan.new_tokens, all + 3);
        reasons.push(sent.plan.broke);
        messages.push(assistant(&filler(&format!("a{turn}x"), 20)));
        messages.push(user(&filler(&format!("q{turn}x"), 20)));
    }
    assert_eq!(reasons[0], Some(PrefixBreak::First));
    let count = |why: Option<PrefixBreak>| reasons.iter().filter(|reason| **reason == why).count();
    assert_eq!(count(Some(PrefixBreak::Outgrown)), 1, "{reasons:?}");
    assert!(count(Some(PrefixBreak::CutMoved)) >= 5, "{reasons:?}");
    assert!(count(None) > 40, "{reasons:?}");
    assert_eq!(count(Some(PrefixBreak::GaveWay)), 0, "{reasons:?}");
}
