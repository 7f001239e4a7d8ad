//! Summaries in requests: when they come, where they stand, and what they leave as it is.

use std::time::Duration;

use cupel::conversation::Role;
use cupel::gather::MemorySummaries;

use crate::chat::{
    Behaviour, Chat, Counted, FIRST, Replica, brief, compaction, has_summary, plain, talk, text,
};

const CALLS: usize = 32;

#[tokio::test(start_paused = true)]
async fn a_summary_stands_for_what_has_left_the_window() {
    let compactor = Counted::new(Behaviour::Outline);
    let replica = Replica::new(compaction(compactor.clone(), MemorySummaries::new(1_000)));
    let calls = replica.follow(CALLS).await;
    let (sent, selection) = calls.last().unwrap();
    let all = text(sent);
    assert!(has_summary(sent), "{all}");
    let report = selection.summaries.as_ref().unwrap();
    let placed = &report.placed;
    assert!(!placed.is_empty() && report.tokens > 0, "{report:?}");
    // The newest that left, without a hole: nothing between the last one and the tail.
    let first_kept = all.find("Question ").unwrap();
    assert!(all[..first_kept].contains("<recalled>"));
    for pair in placed.windows(2) {
        assert_eq!(pair[0].last + 1, pair[1].first, "{placed:?}");
    }
    // It names the questions of its cell.
    let mut exchanges = (placed[0].first - 1) / 2..=(placed[0].last - 1) / 2;
    assert!(exchanges.any(|it| all.contains(&format!("> user: Question {it}?"))), "{all}");
    // Each cell was summarised once.
    let cells = compactor.made();
    assert!((2..CALLS).contains(&cells), "{cells}");
    for (sent, selection) in &calls {
        assert!(selection.sent.tokens <= 4_000, "{}", text(sent));
    }
}

#[tokio::test(start_paused = true)]
async fn the_prefix_changes_only_where_the_cut_moves() {
    let replica =
        Replica::new(compaction(Counted::new(Behaviour::Outline), MemorySummaries::new(1_000)));
    let summarised = replica.follow(CALLS).await;
    let mut moves = 0;
    for pair in summarised.windows(2) {
        let [(before, _), (after, selection)] = pair else { unreachable!() };
        let plan = selection.plan.as_ref().unwrap();
        // All but the question, which carries what is recalled.
        let held = before.len() - 1;
        let same = before[..held].iter().zip(after).take_while(|(a, b)| a == b).count();
        match plan.broke {
            None => assert_eq!(
                same,
                held,
                "{:?}\n{}\n---\n{}",
                selection.summaries,
                brief(before),
                brief(after)
            ),
            Some(_) => moves += 1,
        }
    }
    let plain = plain(CALLS).await;
    let starts = |calls: &[Vec<(Role, String)>]| {
        let second =
            |sent: &Vec<(Role, String)>| sent[1].1.rsplit("</recalled>").next().unwrap().to_owned();
        let mut starts: Vec<String> = calls.iter().map(second).collect();
        starts.dedup();
        starts.len()
    };
    let sent: Vec<_> = summarised.iter().map(|(sent, _)| sent.clone()).collect();
    assert!(moves <= starts(&plain) + 2, "{moves} {}", starts(&plain));
    assert!(starts(&sent) <= starts(&plain) + 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_summary_waits_for_the_next_cut() {
    let slow = Counted::new(Behaviour::Slow(Duration::from_secs(30)));
    let replica = Replica::new(compaction(slow, MemorySummaries::new(1_000)));
    // Cuts move, and nothing is finished.
    let mut before = Vec::new();
    for exchanges in FIRST..=16 {
        before = replica.call(talk(exchanges)).await.0;
    }
    assert!(!has_summary(&before));
    replica.settled().await;
    // Finished now, and the cut is still the same.
    let (same_cut, selection) = replica.call(talk(16)).await;
    assert_eq!(same_cut, before, "{:?}", selection.summaries);
    let mut cut = same_cut[1].clone();
    let mut seen = false;
    for exchanges in 17..=26 {
        let (sent, selection) = replica.call_and_settle(talk(exchanges)).await;
        if selection.plan.as_ref().unwrap().broke.is_none() {
            assert_eq!(sent[1], cut, "{exchanges}");
        }
        cut = sent[1].clone();
        seen |= has_summary(&sent);
    }
    assert!(seen);
}

#[tokio::test(start_paused = true)]
async fn standing_orders_stay_verbatim_before_the_summaries() {
    let order = "Always answer in French.";
    let with_order = |exchanges| {
        let mut chat = talk(exchanges);
        chat.messages[1].1 = order.to_owned();
        chat
    };
    let replica =
        Replica::new(compaction(Counted::new(Behaviour::Outline), MemorySummaries::new(1_000)));
    let mut last = Vec::new();
    for exchanges in FIRST..=CALLS {
        last = replica.call_and_settle(with_order(exchanges)).await.0;
    }
    let all = text(&last);
    let places = ["<standing>", order, "</standing>", "<recalled>", ", summary, untrusted] "];
    let places = places.map(|part| all.find(part).unwrap_or_else(|| panic!("{part}: {all}")));
    assert!(places.is_sorted(), "{places:?} {all}");
}

#[tokio::test(start_paused = true)]
async fn recall_still_quotes_the_originals() {
    let replica =
        Replica::new(compaction(Counted::new(Behaviour::Outline), MemorySummaries::new(1_000)));
    replica.follow(CALLS).await;
    let mut chat = talk(CALLS);
    chat.messages[9].1 = "The safe's code is 4711, says the locksmith.".to_owned();
    chat.messages.last_mut().unwrap().1 = "Which code did the locksmith say?".to_owned();
    let (sent, _) = replica.call(chat).await;
    assert!(sent.last().unwrap().1.contains("code is 4711"), "{}", text(&sent));
}

#[tokio::test(start_paused = true)]
async fn a_summary_cannot_end_its_frame_or_give_orders() {
    let replica =
        Replica::new(compaction(Counted::new(Behaviour::Markers), MemorySummaries::new(1_000)));
    let calls = replica.follow(CALLS).await;
    let (sent, selection) = calls.last().unwrap();
    let count = selection.summaries.as_ref().unwrap().placed.len();
    assert!(count > 0);
    let carrier = sent.iter().find(|(_, text)| text.contains(", summary, untrusted] ")).unwrap();
    let block = carrier.1.split_once("</recalled>\n\n").unwrap().0;
    assert!(!block.contains("<|") && !block.contains("<standing>"), "{block}");
    assert!(!block.contains("</standing>") && !block.contains("\n[3] user"), "{block}");
    assert_eq!(block.matches("‹/recalled>").count(), count, "{block}");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_without_a_name_and_a_layer_without_a_compactor_send_the_same() {
    let replica =
        Replica::new(compaction(Counted::new(Behaviour::Outline), MemorySummaries::new(1_000)));
    for (exchanges, plain) in (FIRST..).zip(plain(CALLS).await) {
        let (sent, selection) = replica.call(Chat { name: None, ..talk(exchanges) }).await;
        assert_eq!(sent, plain);
        assert_eq!(selection.summaries, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_far_from_its_window_is_not_summarised() {
    let compactor = Counted::new(Behaviour::Outline);
    let replica = Replica::new(compaction(compactor.clone(), MemorySummaries::new(1_000)));
    replica.follow(3).await;
    assert_eq!(compactor.made(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_summary_is_waited_for_if_that_is_set() {
    let second = Duration::from_secs(1);
    let slow = Counted::new(Behaviour::Slow(second));
    let store = MemorySummaries::new(1_000);
    let waiting = compaction(slow.clone(), store.clone()).wait(2 * second);
    let begun = tokio::time::Instant::now();
    let (sent, _) = Replica::new(waiting).call(talk(20)).await;
    assert!(has_summary(&sent), "{}", text(&sent));
    assert!(begun.elapsed() >= second && begun.elapsed() < 2 * second, "{:?}", begun.elapsed());

    let never = compaction(Counted::new(Behaviour::Hangs), MemorySummaries::new(1_000));
    let begun = tokio::time::Instant::now();
    let (sent, _) = Replica::new(never.wait(2 * second)).call(talk(20)).await;
    assert!(!has_summary(&sent));
    assert!(begun.elapsed() <= 2 * second + Duration::from_millis(200), "{:?}", begun.elapsed());
}
