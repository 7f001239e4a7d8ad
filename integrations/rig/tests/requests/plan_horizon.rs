//! A planned turn over a history that is looked at no further back than a horizon.

use cupel::conversation::plan::PrefixBreak;
use rig_core::message::Message;
use rig_core::transcript::validate_canonical;

use crate::select::{adapter, plan};
use crate::support::filler;

const WINDOW: i64 = 8_000;
const TURNS: usize = 120;

/// So many exchanges, and a question.
fn history(turns: usize) -> Vec<Message> {
    let talk = (0..=turns).flat_map(|turn| {
        let words = |who: &str| format!("{who}{turn} {}", filler(80 + turn * 56 % 104));
        [Message::user(words("q")), Message::assistant(words("a"))]
    });
    let mut history: Vec<Message> =
        [Message::system("Be brief.")].into_iter().chain(talk).collect();
    history.pop();
    history
}

#[tokio::test]
async fn the_prefix_holds_for_as_long_as_the_horizon_does_and_the_report_says_when_not() {
    for horizon in [5_000, 9_000, 16_000] {
        let mut before: Option<Vec<Message>> = None;
        let (mut held, mut moved) = (0, 0);
        for turns in 0..TURNS {
            let history = history(turns);
            let (sent, turn) = plan(&history, adapter().horizon(horizon), WINDOW).await;
            validate_canonical(&sent).unwrap();
            let end = sent.len() - 1;
            // The tail is the end of the history.
            let tail = &sent[1..end];
            assert_eq!(tail, &history[history.len() - 1 - tail.len()..history.len() - 1]);
            if turn.broke.is_none() {
                let then = before.as_deref().unwrap();
                assert_eq!(sent[..then.len() - 1], then[..then.len() - 1], "{horizon}, {turns}");
                held += 1;
            }
            moved += usize::from(turn.broke == Some(PrefixBreak::StartMoved));
            before = Some(sent);
        }
        assert!(moved > 0, "{horizon}: it never said so");
        assert!(held > TURNS / 2, "{horizon}: {held} of {TURNS} held");
    }
}

#[tokio::test]
async fn what_lies_beyond_the_horizon_is_not_recalled() {
    let mut history = history(TURNS);
    history[1] = Message::user("My order is INV-2041.");
    let end = history.len() - 1;
    history[end] = Message::user("Which order, INV-2041?");
    let recalls = |sent: &[Message]| format!("{:?}", sent.last()).contains("My order is");
    let (sent, _) = plan(&history, adapter().horizon(12_000), WINDOW).await;
    assert!(!recalls(&sent));
    let (sent, _) = plan(&history, adapter(), WINDOW).await;
    assert!(recalls(&sent));
}
