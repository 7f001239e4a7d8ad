//! Any stored conversation: whatever is selected of it, an API accepts, and nothing is lost.

use std::collections::BTreeSet;

use cupel::conversation::{Answers, Conversation, Message, Role, Rules};
use cupel::model::{Origin, PlacedItem};
use cupel::{ContextBudget, ContextItem, Policy};

use super::ensure;
use super::random::Random;

/// A message as they come out of agents that are interrupted, resumed and badly stored.
#[derive(Debug, Clone)]
struct Stored {
    role: Role,
    calls: Vec<String>,
    answers: Vec<String>,
    with_next: bool,
    tokens: i64,
}

impl Stored {
    fn random(random: &mut Random) -> Self {
        let ids = |random: &mut Random, count: usize| -> Vec<String> {
            (0..count).map(|_| format!("call_{}", random.below(5))).collect()
        };
        let (mut calls, mut answers, mut with_next) = (Vec::new(), Vec::new(), false);
        let role = match random.below(12) {
            0 => Role::System,
            1..=3 => Role::User,
            4..=6 => {
                let count = random.below(3);
                calls = ids(random, count);
                Role::Assistant
            }
            7..=10 => {
                let count = 1 + random.below(2);
                answers = ids(random, count);
                Role::Tool
            }
            _ => {
                with_next = true;
                Role::Assistant
            }
        };
        Self { role, calls, answers, with_next, tokens: random.between(0, 40) }
    }

    fn message(&self) -> Message {
        let message = Message::new(self.role, "text", self.tokens);
        let message = self.calls.iter().fold(message, Message::calls);
        let message = self.answers.iter().fold(message, Message::answers);
        if self.with_next { message.with_next() } else { message }
    }
}

pub(crate) fn case(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let most = if random.chance(5) { 120 } else { 30 };
    let count = 1 + random.below(most);
    let stored: Vec<Stored> = (0..count).map(|_| Stored::random(&mut random)).collect();
    let later = random.chance(50);
    check(&stored, later, &mut random).map_err(|promise| format!("{promise}\n{stored:#?}"))
}

fn check(stored: &[Stored], later: bool, random: &mut Random) -> Result<(), String> {
    let rules = if later { Rules::new().answers(Answers::Later) } else { Rules::new() };
    let messages = stored.iter().map(Stored::message).collect();
    let mut conversation =
        Conversation::new(messages, &rules).map_err(|error| error.to_string())?;
    let candidates = conversation.candidates();
    let policies = [Policy::chat, Policy::tool_use, Policy::rag, Policy::document_qa];
    let budget = ContextBudget::builder(random.between(0, 900)).build().unwrap();
    // A budget that does not hold the pins is an error of its own.
    if let Ok(selected) = random.pick(&policies)().to_pipeline().run(&candidates, &budget) {
        let placed = selected.iter().map(|item| {
            let unit = candidates.iter().position(|other| ContextItem::same(other, item)).unwrap();
            PlacedItem { item: item.clone(), origin: Origin::Request(unit) }
        });
        let kept = conversation.arrange(&placed.collect::<Vec<_>>()).kept;
        ensure(kept.is_sorted(), || format!("not in order: {kept:?}"))?;
        let unique: BTreeSet<usize> = kept.iter().copied().collect();
        ensure(unique.len() == kept.len(), || format!("a message twice: {kept:?}"))?;
        let accepted = is_accepted(kept.iter().map(|index| &stored[*index]), later);
        ensure(accepted, || format!("no API accepts {kept:?}"))?;
    }
    let everything = candidates
        .iter()
        .enumerate()
        .map(|(unit, item)| PlacedItem { item: item.clone(), origin: Origin::Request(unit) });
    let kept = conversation.arrange(&everything.collect::<Vec<_>>()).kept.len();
    let refused = conversation.take_refused();
    let refused: usize = refused.iter().map(|r| r.item.content().lines().count()).sum();
    ensure(kept + refused == stored.len(), || {
        format!("{kept} kept and {refused} refused of {} messages", stored.len())
    })
}

/// Every call is answered once, right after it or later, and every answer has its call.
fn is_accepted<'a>(messages: impl Iterator<Item = &'a Stored>, later: bool) -> bool {
    let mut open = BTreeSet::new();
    for Stored { calls, answers, .. } in messages {
        if !later && answers.is_empty() && !open.is_empty() {
            return false;
        }
        if !answers.iter().all(|id| open.remove(id)) || !calls.iter().all(|id| open.insert(id)) {
            return false;
        }
    }
    open.is_empty()
}
