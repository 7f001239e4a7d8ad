//! Properties of planned turns for every history that only grows.

use cupel::gather::Source;
use cupel::layer::TurnReport;
use cupel::{ContextItem, CupelError};
use proptest::collection::vec;
use proptest::prelude::*;
use rig_core::completion::{CompletionRequest, Document, ToolDefinition};
use rig_core::message::{Message, ToolName, UserContent};
use rig_core::transcript::validate_canonical;

use crate::select::{adapter, answers, calls, request, try_plan};
use crate::support::model::size_of;
use crate::support::{filler, word_count};

/// One thing that happens in a conversation.
#[derive(Debug, Clone)]
enum Event {
    Question(usize),
    Answer(usize),
    /// So many calls at once, with results of so many words.
    Step(usize, usize),
    Instructions(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (1..60_usize).prop_map(Event::Question),
        3 => (1..80_usize).prop_map(Event::Answer),
        4 => (1..4_usize, prop_oneof![3 => 1..80_usize, 1 => 200..2_000_usize])
            .prop_map(|(calls, words)| Event::Step(calls, words)),
        1 => (1..6_usize).prop_map(Event::Instructions),
    ]
}

/// Texts share words, so that something is recalled.
fn words(seed: usize, count: usize) -> String {
    let theme = ["parcel", "invoice", "flight", "garden", "printer"][seed % 5];
    format!("{theme} {theme}{} {}", seed % 7, filler(count))
}

/// A history, and after how many messages the model was asked.
fn history(events: &[Event]) -> (Vec<Message>, Vec<usize>) {
    let mut history = vec![Message::system("Be brief."), Message::user(words(0, 5))];
    let mut asked = vec![2];
    for (seed, event) in events.iter().enumerate() {
        let after_model = matches!(history.last(), Some(Message::Assistant(_)));
        match *event {
            Event::Question(length) if after_model => {
                history.push(Message::user(words(seed, length)));
            }
            Event::Answer(length) if !after_model => {
                history.push(Message::assistant(words(seed, length)));
                history.push(Message::user(words(seed + 1, length / 3 + 1)));
            }
            Event::Step(count, length) if !after_model => {
                let ids: Vec<String> = (0..count).map(|n| format!("{seed}-{n}")).collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                history.push(calls(&ids));
                history.push(answers(&ids, &words(seed, length / count)));
            }
            Event::Instructions(length) => history.push(Message::system(words(seed, length))),
            _ => continue,
        }
        if matches!(history.last(), Some(Message::User { .. })) {
            asked.push(history.len());
        }
    }
    (history, asked)
}

fn has_results(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    content.iter().any(|part| matches!(part, UserContent::ToolResult(_)))
}

fn question(history: &[Message]) -> usize {
    let asks = |message: &Message| matches!(message, Message::User { .. }) && !has_results(message);
    history.iter().rposition(asks).unwrap()
}

/// A message without what is quoted in it and without the texts of its results, which may be
/// excerpts.
fn outline(message: &Message) -> String {
    match message {
        Message::User { content } if has_results(message) => {
            let calls = content.iter().filter_map(|part| match part {
                UserContent::ToolResult(result) => Some(result.call.wire().into_owned()),
                _ => None,
            });
            calls.collect::<Vec<_>>().join(" ")
        }
        Message::User { content } => format!("{:?}", content.last()),
        other => format!("{other:?}"),
    }
}

/// For each message, whether it is instructions, whether it is the user's, and its outline.
fn outlines(history: &[Message]) -> Vec<(bool, bool, String)> {
    let of = |message: &Message| {
        let is_system = matches!(message, Message::System { .. });
        (is_system, matches!(message, Message::User { .. }), outline(message))
    };
    history.iter().map(of).collect()
}

/// Positions of the request's messages in the history.
fn positions(own: &[(bool, bool, String)], kept: &[(bool, bool, String)]) -> Vec<usize> {
    // From the end: equal texts come again, and the newest are kept.
    let mut end = own.len();
    let find = |message: &(bool, bool, String)| {
        let found = own[..end].iter().rposition(|own| own == message);
        end = found.expect("a message that was not there, or not in this order");
        end
    };
    let mut positions: Vec<usize> = kept.iter().rev().map(find).collect();
    positions.reverse();
    positions
}

/// Returns true if messages may be missing between two of a history without its instructions: only
/// steps behind the question, and, if the user has to be first, steps behind the opening of an
/// older exchange.
fn may_be_a_hole(history: &[Message], user_first: bool, before: usize, after: usize) -> bool {
    let spoken = history.iter().filter(|message| !matches!(message, Message::System { .. }));
    let spoken: Vec<Message> = spoken.cloned().collect();
    let question = question(&spoken);
    before == question || user_first && before == self::question(&spoken[..after])
}

/// Head, question and the smallest excerpt of the newest results fit.
fn is_possible(asked: &CompletionRequest, window: i64) -> bool {
    let history = &asked.chat_history;
    let systems = history.iter().filter(|message| matches!(message, Message::System { .. }));
    let mut least = systems.cloned().collect::<Vec<_>>();
    least.push(history[question(history)].clone());
    let mut room = window - 60;
    if has_results(history.last().unwrap()) {
        let turn = history.iter().rposition(|message| matches!(message, Message::Assistant(_)));
        let Message::Assistant(turn) = &history[turn.unwrap()] else { unreachable!() };
        // A call, its result's frame, and its mark.
        room -= 30 * i64::try_from(turn.tool_calls().count()).unwrap();
    }
    room -= 4 * i64::try_from(least.len()).unwrap();
    let mut smallest = request(least);
    smallest.tools = asked.tools.clone();
    size_of(&smallest) <= room
}

#[derive(Debug, Clone)]
struct Case {
    window: i64,
    tools: usize,
    documents: usize,
    sources: bool,
    user_first: bool,
}

impl Case {
    fn asked(&self, history: &[Message]) -> CompletionRequest {
        let mut asked = request(history.to_vec());
        asked.tools = (0..self.tools).map(|n| tool(&format!("look{n}"))).collect();
        asked.documents = (0..self.documents)
            .map(|n| Document {
                id: n.to_string(),
                text: words(n, 20),
                additional_props: Default::default(),
            })
            .collect();
        asked
    }

    fn send(&self, asked: CompletionRequest) -> Result<(CompletionRequest, TurnReport), String> {
        let items: Result<Vec<_>, CupelError> =
            (0..3).map(|n| ContextItem::new(words(n, 10), 12)).collect();
        let sources = match self.sources {
            true => vec![Source::items("wiki", items.unwrap())],
            false => Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let adapter = adapter().user_first(self.user_first);
        match runtime.block_on(try_plan(asked, adapter, self.window, sources)) {
            Ok((sent, selection)) => Ok((sent, *selection.plan.expect("a planned turn"))),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::new(ToolName::new(name).unwrap(), "Looks.", serde_json::json!({}))
}

fn case() -> impl Strategy<Value = Case> {
    let documents = prop_oneof![2 => Just(0), 1 => 1..4_usize];
    (300..2_000_i64, 0..3_usize, documents, any::<bool>(), any::<bool>()).prop_map(
        |(window, tools, documents, sources, user_first)| Case {
            window,
            tools,
            documents,
            sources,
            user_first,
        },
    )
}

/// 64 cases; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(64), failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_call_is_valid_and_begins_as_the_one_before(
        events in vec(event(), 1..24), case in case(),
    ) {
        let (history, calls) = history(&events);
        prop_assert!(validate_canonical(&history).is_ok(), "the test's own histories are");
        let mut before: Option<(usize, CompletionRequest)> = None;
        for known in calls {
            let history = &history[..known];
            let asked = case.asked(history);
            if !is_possible(&asked, case.window) {
                before = None;
                continue;
            }
            let (sent, turn) = case.send(asked.clone()).unwrap();
            // Valid and within the window, question and newest result there.
            validate_canonical(&sent.chat_history).unwrap();
            let counted = turn.cached_tokens + turn.new_tokens;
            prop_assert!(counted <= case.window && size_of(&sent) <= counted, "{counted}");
            prop_assert_eq!(outline(sent.chat_history.last().unwrap()), outline(&history[known - 1]));
            let at = question(&sent.chat_history);
            prop_assert_eq!(outline(&sent.chat_history[at]), outline(&history[question(history)]));
            // In the order of the history, all instructions among them.
            let (own, kept) = (outlines(history), outlines(&sent.chat_history));
            let system = |all: &[(bool, bool, String)]| all.iter().filter(|one| one.0).count();
            prop_assert_eq!(system(&own), system(&kept));
            let spoken = |all: Vec<(bool, bool, String)>| {
                all.into_iter().filter(|one| !one.0).collect::<Vec<_>>()
            };
            let (own, kept) = (spoken(own), spoken(kept));
            let positions = positions(&own, &kept);
            let holes: Vec<_> =
                positions.windows(2).filter(|pair| pair[1] != pair[0] + 1).collect();
            for pair in &holes {
                let may_be = may_be_a_hole(history, case.user_first, pair[0], pair[1]);
                prop_assert!(may_be, "{positions:?}");
            }
            prop_assert!(holes.len() <= 2, "{positions:?}");
            // The user is first where that is asked for, and roles alternate as they did.
            prop_assert!(kept[0].1 || !case.user_first);
            let together = |all: &[(bool, bool, String)]| {
                all.windows(2).filter(|pair| pair[0].1 == pair[1].1).count()
            };
            prop_assert!(together(&kept) <= together(&own));
            if turn.whole && !case.sources && sent.documents.len() == case.documents {
                prop_assert_eq!(&sent.chat_history[..], history);
            }
            // The same request again gives the same, from another instance.
            if known % 3 == 0 {
                let again = case.send(asked).unwrap().0;
                let bytes = |request| serde_json::to_string(request).unwrap();
                prop_assert_eq!(bytes(&again), bytes(&sent));
            }
            // The report assumes that the call before had all that stands before the model's answer
            // to it: instructions that came in between were not there.
            let answered = history.iter().rposition(|one| matches!(one, Message::Assistant(_)));
            let as_assumed = |before: &(usize, _)| Some(before.0) == answered;
            if let Some((earlier, before)) =
                before.filter(as_assumed).filter(|_| turn.broke.is_none())
            {
                let same_question = question(history) == question(&history[..earlier]);
                let end = match same_question {
                    true => before.chat_history.len(),
                    false => question(&before.chat_history),
                };
                prop_assert_eq!(&sent.documents, &before.documents);
                prop_assert_eq!(&sent.chat_history[..end], &before.chat_history[..end]);
            }
            before = Some((known, sent));
        }
    }
}

#[test]
fn filler_counts_as_words() {
    assert_eq!(word_count(&words(3, 7)), 9);
}
