//! A model that asks again for what it cannot see comes to an end.

use rig_core::completion::CompletionRequest;
use rig_core::message::{AssistantContent, Message};
use rig_core::transcript::validate_canonical;

use crate::run::{ALL, Mode, Seen, Way, agent, budget, finish, layer, results};
use crate::support::filler;
use crate::support::model::{LocalModel, call, local};
use crate::support::tools::page;

/// Needs all of the first so many pages, and asks for the first of them that it does not see.
fn reader(window: i64, pages: usize) -> LocalModel {
    local(window, move |request| match (1..=pages).find(|page| !sees(request, *page)) {
        Some(page) => {
            let id = format!("call-{page}-{}", request.chat_history.len());
            vec![call(id, "read_page", serde_json::json!({ "page": page }))]
        }
        None => vec![AssistantContent::text("That is all.")],
    })
}

fn sees(request: &CompletionRequest, page: usize) -> bool {
    results(request).iter().any(|result| result.starts_with(&format!("page-{page} ")))
}

/// So many exchanges that are over.
fn talk(turns: usize) -> Vec<Message> {
    let exchange = |turn: usize| {
        let words = |who: &str| format!("{who}{turn} {}", filler(14));
        [Message::user(words("q")), Message::assistant(words("a"))]
    };
    (0..turns).flat_map(exchange).collect()
}

/// Requests of a loop, if it ended.
async fn play(
    (way, mode): (Way, Mode),
    window: i64,
    turns: usize,
    pages: usize,
) -> Option<Vec<CompletionRequest>> {
    let seen = Seen::default();
    let agent = agent(way, reader(window, pages), layer(budget(window), &seen), &seen);
    let runner = agent.prompt("Read them all.").history(talk(turns)).max_turns(3 * pages);
    let ended = finish(runner, mode).await;
    ended.is_ok_and(|response| response.output() == "That is all.").then(|| seen.sent.all())
}

#[tokio::test]
async fn a_loop_that_fits_has_no_needless_call() {
    for (at, window) in [600_i64, 1_000, 2_000, 4_000].into_iter().enumerate() {
        for turns in [0, 5, 80] {
            // Seven tenths of the window, beside the question and the head.
            let pages =
                usize::try_from(window * 7 / 10).unwrap() / (page(1).split(' ').count() + 16);
            let sent = play(ALL[at], window, turns, pages).await.expect("a loop that ends");
            assert_eq!(sent.len(), pages + 1, "{window}, {turns}: needless calls");
            for request in &sent {
                validate_canonical(&request.chat_history).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_loop_longer_than_the_window_keeps_its_question_and_its_newest_steps() {
    for way in ALL {
        let seen = Seen::default();
        let turns = std::sync::atomic::AtomicUsize::new(0);
        let model =
            local(1_000, move |_| match turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                step @ ..40 => {
                    let page = serde_json::json!({ "page": step + 3 });
                    vec![call(format!("call-{step}"), "read_page", page)]
                }
                _ => vec![AssistantContent::text("Done.")],
            });
        let agent = agent(way.0, model, layer(budget(1_000), &seen), &seen);
        let runner = agent.prompt("Read on.").history(talk(20)).max_turns(50);
        finish(runner, way.1).await.unwrap();
        let sent = seen.sent.all();
        assert_eq!(sent.len(), 41);
        for (step, request) in sent.iter().enumerate() {
            validate_canonical(&request.chat_history).unwrap();
            assert!(request.chat_history.contains(&Message::user("Read on.")) || step < 12);
            // The newest steps, without holes.
            let kept = results(request);
            let newest = (3..step + 3).rev().map(page).take(kept.len());
            assert!(kept.iter().rev().cloned().eq(newest), "{step}: {kept:?}");
            assert!(kept.len() >= step.min(8), "{} of {step}", kept.len());
        }
        let plans = seen.selections.all();
        let broke = plans
            .iter()
            .filter(|selection| selection.plan.as_ref().is_some_and(|plan| plan.broke.is_some()));
        assert!(broke.count() < sent.len(), "every request began anew");
    }
}
