//! Whatever the history and the budget, what scoring sends is a conversation that providers take.

use cupel::layer::{ContextError, CupelLayer, SelectedRequest, Selection};
use cupel::placer::UShapedPlacer;
use cupel::scorer::RecencyScorer;
use cupel::{ContextBudget, GreedySlice, Policy};
use proptest::collection::vec;
use proptest::prelude::*;
use rig_core::completion::{CompletionRequest, Document};
use rig_core::message::{Message, UserContent};
use rig_core::transcript::{TranscriptError, validate_canonical};

use crate::select::{adapter, answers, calls, request};
use crate::support::filler;

/// A turn of a conversation.
#[derive(Debug, Clone)]
enum Turn {
    System(usize),
    User(usize),
    Answer(usize),
    /// Calls of so many tools, with results of so many words.
    Tools(usize, usize),
    /// As `Tools`, and the user says something beside the results.
    ToolsAndWords(usize, usize),
    /// As `Tools`, with instructions between calls and results.
    ToolsPastSystem(usize, usize),
}

fn turn() -> impl Strategy<Value = Turn> {
    let words = || 0..30_usize;
    prop_oneof![
        1 => words().prop_map(Turn::System),
        5 => words().prop_map(Turn::User),
        5 => words().prop_map(Turn::Answer),
        6 => (1..4_usize, words()).prop_map(|(calls, words)| Turn::Tools(calls, words)),
        1 => (1..3_usize, words()).prop_map(|(calls, words)| Turn::ToolsAndWords(calls, words)),
        1 => (1..3_usize, words()).prop_map(|(calls, words)| Turn::ToolsPastSystem(calls, words)),
    ]
}

/// The history of an agent under way: canonical, and it ends with what somebody said to the model.
fn canonical(turns: &[Turn]) -> Vec<Message> {
    let mut history: Vec<Message> = Vec::new();
    let after_assistant =
        |history: &[Message]| matches!(history.last(), Some(Message::Assistant(_)));
    for (n, turn) in turns.iter().enumerate() {
        let ids = |count: usize| (0..count).map(|c| format!("{n}-{c}")).collect::<Vec<_>>();
        match *turn {
            Turn::System(words) => history.push(Message::system(format!("s{n} {}", filler(words)))),
            Turn::User(words) => history.push(Message::user(format!("u{n} {}", filler(words)))),
            Turn::Answer(words) if !after_assistant(&history) => {
                history.push(Message::assistant(format!("a{n} {}", filler(words))));
            }
            Turn::Tools(count, words)
            | Turn::ToolsAndWords(count, words)
            | Turn::ToolsPastSystem(count, words)
                if !after_assistant(&history) =>
            {
                let ids = ids(count);
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                history.push(calls(&ids));
                if matches!(turn, Turn::ToolsPastSystem(..)) {
                    history.push(Message::system(format!("t{n}")));
                }
                let mut result = answers(&ids, &filler(words));
                if let (Turn::ToolsAndWords(..), Message::User { content }) = (turn, &mut result) {
                    content.push(UserContent::text(format!("w{n}")));
                }
                history.push(result);
            }
            _ => {}
        }
    }
    if !matches!(history.last(), Some(Message::User { .. })) {
        history.push(Message::user("and now?"));
    }
    history
}

/// A history as it must not be: each message from anywhere, and any may be missing.
fn broken(turns: &[Turn], missing: &[bool], swaps: &[(usize, usize)]) -> Vec<Message> {
    let mut history: Vec<Message> = canonical(turns)
        .into_iter()
        .zip(missing.iter().cycle())
        .filter_map(|(message, missing)| (!missing).then_some(message))
        .collect();
    if !history.is_empty() {
        for (a, b) in swaps {
            let count = history.len();
            history.swap(a % count, b % count);
        }
    }
    history
}

fn policies() -> impl Strategy<Value = Policy> {
    (0..4_usize).prop_map(|n| match n {
        0 => Policy::chat(),
        1 => Policy::tool_use(),
        2 => Policy::rag(),
        _ => Policy::builder()
            .scorer(RecencyScorer)
            .slicer(GreedySlice)
            .placer(UShapedPlacer)
            .build()
            .unwrap(),
    })
}

fn run(
    request: CompletionRequest,
    policy: Policy,
    room: i64,
    horizon: Option<i64>,
) -> Result<(CompletionRequest, Selection), ContextError> {
    let adapter = match horizon {
        Some(tokens) => adapter().horizon(tokens),
        None => adapter(),
    };
    let layer = CupelLayer::builder()
        .adapter(adapter)
        .policy(policy.without_plan())
        .budget(ContextBudget::builder(room).build().unwrap())
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(layer.selector().select(request)).map(SelectedRequest::into_parts)
}

/// The positions in the history of what was sent: the same messages in the same order.
fn positions(sent: &[Message], history: &[Message]) -> Vec<usize> {
    let mut at = 0;
    let mut positions = Vec::new();
    for message in sent {
        let found = history[at..].iter().position(|own| own == message);
        at += found.expect("a message that was not there, or not in this order") + 1;
        positions.push(at - 1);
    }
    positions
}

fn last(history: &[Message], test: impl Fn(&Message) -> bool) -> Option<usize> {
    history.iter().rposition(test)
}

fn has_words(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    content.iter().any(|part| matches!(part, UserContent::Text(_)))
}

fn words_of(message: &Message) -> Vec<&UserContent> {
    let Message::User { content } = message else { return Vec::new() };
    content.iter().filter(|part| matches!(part, UserContent::Text(_))).collect()
}

/// At least 400 cases; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(400), failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_canonical_history_stays_canonical(
        turns in vec(turn(), 0..25), room in 0..600_i64, policy in policies(),
        documents in vec(0..40_usize, 0..4), horizon in prop::option::of(0..300_i64),
    ) {
        let history = canonical(&turns);
        prop_assert!(validate_canonical(&history).is_ok(), "the test's own histories are");
        let mut asked = request(history.clone());
        asked.documents = documents.iter().enumerate().map(|(n, words)| Document {
            id: n.to_string(), text: filler(*words), additional_props: Default::default(),
        }).collect();
        let own = asked.documents.clone();
        match run(asked, policy, room, horizon) {
            Ok((sent, selection)) => {
                validate_canonical(&sent.chat_history).unwrap();
                let kept = positions(&sent.chat_history, &history);
                // System text, the user's last words and the last entry are always there.
                prop_assert!(kept.contains(&(history.len() - 1)));
                for (at, message) in history.iter().enumerate() {
                    if matches!(message, Message::System { .. }) {
                        prop_assert!(kept.contains(&at));
                    }
                }
                let question = last(&history, has_words);
                prop_assert!(question.is_none_or(|question| kept.contains(&question)));
                // The budget holds, and the report adds up.
                let sum: i64 = selection.report.included.iter().map(|i| i.item.tokens()).sum();
                prop_assert!(sum + selection.fixed_tokens <= room);
                prop_assert_eq!(
                    selection.report.included.len() + selection.report.excluded.len(),
                    selection.report.total_candidates
                );
                // Documents keep their order too.
                let mut documents = own.iter();
                prop_assert!(sent.documents.iter().all(|d| documents.any(|own| own == d)));
            }
            // Then what must be sent does not fit.
            Err(error) => {
                let text = error.to_string();
                let expected = text.contains("inned") || text.contains("tools and formats take");
                prop_assert!(expected, "{}", text);
            }
        }
    }

    #[test]
    fn a_broken_history_is_mended_by_leaving_out(
        turns in vec(turn(), 0..20), missing in vec(prop::bool::weighted(0.2), 1..40),
        swaps in vec((any::<usize>(), any::<usize>()), 0..6), room in 0..600_i64,
        policy in policies(), horizon in prop::option::of(0..300_i64),
    ) {
        let history = broken(&turns, &missing, &swaps);
        let Ok((sent, selection)) = run(request(history.clone()), policy, room, horizon) else {
            return Ok(());
        };
        // Never a call without its result nor a result without its call. Two answers in a row are
        // let through where the history had them so; rig and providers take them.
        if let Err(error) = validate_canonical(&sent.chat_history) {
            let harmless = matches!(error, TranscriptError::ConsecutiveAssistant { .. });
            prop_assert!(harmless, "{}", error);
            let canonical = validate_canonical(&history);
            prop_assert!(canonical.is_err());
        }
        let units = selection.report.included.len() + selection.report.excluded.len();
        prop_assert_eq!(units, selection.report.total_candidates);
        // The user's last words are there, whatever stood beside them.
        if let Some(question) = last(&history, has_words) {
            let words = words_of(&history[question]);
            prop_assert!(sent.chat_history.iter().any(|message| words_of(message) == words));
        }
    }
}
