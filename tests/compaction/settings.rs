//! Settings that are refused, and the keys of summaries.

use std::time::Duration;

use cupel::conversation::plan::{SummaryRules, Turn};
use cupel::conversation::{Conversation, Message, MessageTexts, Role, Rules};
use cupel::gather::{CompactorPrice, MemorySummaries};
use cupel::layer::{Compaction, CupelLayer};
use cupel::model::TurnPlan;
use cupel::{ContextBudget, Policy};

use crate::chat::{Behaviour, Chat, ChatAdapter, Counted, compaction, talk};

#[test]
fn a_wrong_setting_is_named() {
    let base = || compaction(Counted::new(Behaviour::Outline), MemorySummaries::new(10));
    let error = |compaction: Compaction<Chat>| {
        let builder = CupelLayer::builder()
            .adapter(ChatAdapter)
            .policy(Policy::chat())
            .budget(ContextBudget::builder(1_000).build().unwrap());
        builder.compaction(compaction).build().unwrap_err().to_string()
    };
    let priced = Counted {
        price: CompactorPrice { input: f64::NAN, output: 1.0 },
        ..Counted::new(Behaviour::Outline)
    };
    for (wrong, part) in [
        (base().share(2.0), "summaries.share must be between 0 and 1, got 2"),
        (base().limit(0), "summaries.limit must be at least 1 token, got 0"),
        (base().budget(-1.0), "compaction.budget must be between 0 and 1, got -1"),
        (base().at_once(0), "compaction.at_once must be at least 1, got 0"),
        (base().wait(Duration::ZERO), "compaction.wait is zero"),
        (base().lookup_deadline(Duration::ZERO), "compaction.lookup_deadline is zero"),
        (compaction(priced, MemorySummaries::new(10)), "has a price of NaN for input"),
    ] {
        let error = error(wrong);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_key_depends_on_everything_that_a_summary_is_made_of() {
    let conversation = |chat: &Chat| {
        let messages =
            chat.messages.iter().map(|(role, text)| Message::new(*role, text.as_str(), 100));
        Conversation::new(messages.collect(), &Rules::new()).unwrap()
    };
    let plan = TurnPlan::new();
    let turn = Turn::new(&plan, 4_000);
    let keys = |chat: &Chat, rules: &SummaryRules| {
        let cells = conversation(chat).summary_cells(&turn, rules, &MessageTexts);
        cells.looked_up.into_iter().map(|cell| cell.key).collect::<Vec<_>>()
    };
    let (chat, rules) = (talk(30), SummaryRules::new("a", "1").limit(64).share(0.06));
    let base = keys(&chat, &rules);
    assert!(base.len() > 2);
    assert_eq!(keys(&chat, &rules), base);
    for other in [
        rules.clone().tenant("t"),
        rules.clone().limit(65),
        SummaryRules::new("b", "1").limit(64).share(0.06),
        SummaryRules::new("a", "2").limit(64).share(0.06),
    ] {
        let other = keys(&chat, &other);
        assert!(base.iter().all(|key| !other.contains(key)));
    }
    // A changed text changes the key of its cell alone.
    let mut changed = chat.clone();
    let at = changed.messages.len() - 20;
    changed.messages[at].1.replace_range(0..1, "q");
    let changed = keys(&changed, &rules);
    let differing = base.iter().zip(&changed).filter(|(a, b)| a != b).count();
    assert!(differing <= 1, "{differing}");
}

#[test]
fn cells_are_as_long_as_four_summaries() {
    let mut messages: Vec<Message> = Vec::new();
    for turn in 0..60 {
        messages.push(Message::new(Role::User, format!("Question {turn}?"), 100));
        messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
    }
    messages.push(Message::new(Role::User, "And now?", 10));
    let conversation = Conversation::new(messages, &Rules::new()).unwrap();
    let plan = TurnPlan::new();
    let turn = Turn::new(&plan, 4_000);
    for limit in [50, 128, 150, 400] {
        let rules = SummaryRules::new("a", "1").limit(limit).share(0.5);
        let cells = conversation.summary_cells(&turn, &rules, &MessageTexts);
        for cell in cells.wanted.iter().chain(&cells.looked_up) {
            assert!(cell.tokens >= 4 * limit, "{limit}: {cell:?}");
        }
        assert_eq!(cells.looked_up.is_empty(), limit > 150, "{limit}");
    }
}
