//! Items sent through a channel while a call gathers.

use cupel::gather::{ChannelSender, Source, SourceOutcome, channel};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Echo, Request, call, item, layer_with, ms, report, request};

fn tools(capacity: usize) -> (ChannelSender, Source<Request>) {
    let (sender, source) = channel("tools", capacity);
    (sender, source.deadline(ms(100)).optional())
}

#[tokio::test(start_paused = true)]
async fn items_that_arrive_while_gathering_are_candidates_until_the_turn_ends() {
    let (sender, source) = tools(8);
    tokio::spawn(async move {
        for number in 0..3 {
            sleep(ms(10)).await;
            sender.send(item(&format!("result {number}"), 1)).await.unwrap();
        }
        sleep(ms(10)).await;
        sender.end_turn().await.unwrap();
        // The sender lives on, so it is the end of the turn that ends the source.
        sleep(ms(10_000)).await;
        drop(sender);
    });
    let start = Instant::now();
    let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
    assert_eq!(sent, ["result 0", "result 1", "result 2"]);
    assert_eq!(start.elapsed(), ms(40));
    assert_eq!(selection.gather.source("tools").unwrap().outcome, SourceOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn items_and_the_end_of_a_turn_may_come_before_the_call() {
    let (sender, source) = tools(8);
    sender.send(item("result", 1)).await.unwrap();
    sender.end_turn().await.unwrap();
    let start = Instant::now();
    let (sent, _) = report(layer_with([source]), request()).await.unwrap();
    assert_eq!(sent, ["result"]);
    assert_eq!(start.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn without_an_end_of_turn_a_call_waits_for_the_deadline() {
    let (sender, source) = tools(8);
    sender.send(item("result", 1)).await.unwrap();
    let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
    assert_eq!(sent, ["result"]);
    let tools = selection.gather.source("tools").unwrap();
    assert_eq!((&tools.outcome, tools.elapsed), (&SourceOutcome::TimedOut, ms(100)));
}

#[tokio::test(start_paused = true)]
async fn without_senders_a_call_does_not_wait() {
    let (sender, source) = tools(8);
    sender.clone().send(item("last words", 1)).await.unwrap();
    drop(sender);
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    let start = Instant::now();
    assert_eq!(call(&mut service, request()).await.unwrap(), ["last words"]);
    assert!(call(&mut service, request()).await.unwrap().is_empty());
    assert_eq!(start.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn each_turn_belongs_to_one_call() {
    let (sender, source) = tools(8);
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    for turn in 0..3 {
        sender.send(item(&format!("turn {turn}"), 1)).await.unwrap();
        sender.end_turn().await.unwrap();
    }
    for turn in 0..3 {
        assert_eq!(call(&mut service, request()).await.unwrap(), [format!("turn {turn}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_call_did_not_take_waits_for_the_next() {
    let (sender, source) = tools(8);
    for number in 0..3 {
        sender.send(item(&format!("result {number}"), 1)).await.unwrap();
    }
    sender.end_turn().await.unwrap();
    let mut service = layer_with([source.limit(2)]).build().unwrap().layer(Echo::default());
    assert_eq!(call(&mut service, request()).await.unwrap(), ["result 0", "result 1"]);
    assert_eq!(call(&mut service, request()).await.unwrap(), ["result 2"]);
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_deadline_waits_for_the_next_call() {
    let (sender, source) = tools(8);
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    assert!(call(&mut service, request()).await.unwrap().is_empty());
    sender.send(item("late", 1)).await.unwrap();
    // The end of the turn that came too late ends the next one: turns have no names.
    sender.end_turn().await.unwrap();
    sender.send(item("in time", 1)).await.unwrap();
    assert_eq!(call(&mut service, request()).await.unwrap(), ["late"]);
    assert_eq!(call(&mut service, request()).await.unwrap(), ["in time"]);
}

#[tokio::test(start_paused = true)]
async fn of_two_calls_at_once_one_takes_the_turn_and_the_other_the_next() {
    let (sender, source) = tools(8);
    let service = layer_with([source]).build().unwrap().layer(Echo::default());
    let first = tokio::spawn(service.clone().oneshot(request()));
    let second = tokio::spawn(service.oneshot(request()));
    for turn in ["a", "b"] {
        for number in 0..2 {
            sleep(ms(5)).await;
            sender.send(item(&format!("{turn}{number}"), 1)).await.unwrap();
        }
        sender.end_turn().await.unwrap();
    }
    let mut turns = [first.await.unwrap().unwrap(), second.await.unwrap().unwrap()];
    turns.sort();
    assert_eq!(turns, [["a0", "a1"], ["b0", "b1"]]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_lets_the_next_one_take_the_rest_of_the_turn() {
    let (sender, source) = tools(8);
    let service = layer_with([source]).build().unwrap().layer(Echo::default());
    let dropped = tokio::spawn(service.clone().oneshot(request()));
    sleep(ms(1)).await;
    dropped.abort();
    assert!(dropped.await.is_err());
    sender.send(item("result", 1)).await.unwrap();
    sender.end_turn().await.unwrap();
    assert_eq!(service.oneshot(request()).await.unwrap(), ["result"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_channel_makes_the_sender_wait_for_a_call() {
    for capacity in [0, 1] {
        let (sender, source) = tools(capacity);
        let sending = tokio::spawn(async move {
            for number in 0..5 {
                sender.send(item(&format!("result {number}"), 1)).await.unwrap();
            }
            sender.end_turn().await.unwrap();
        });
        sleep(ms(10)).await;
        assert!(!sending.is_finished());
        let (sent, _) = report(layer_with([source]), request()).await.unwrap();
        assert_eq!(sent.len(), 5);
        sending.await.unwrap();
    }
}

#[tokio::test]
async fn when_nobody_can_take_an_item_any_more_it_comes_back() {
    let (sender, source) = tools(8);
    let layer = layer_with([source]).build().unwrap();
    let service = layer.layer(Echo::default());
    drop(layer);
    // The service still has the source.
    sender.send(item("taken", 1)).await.unwrap();
    drop(service);
    let closed = sender.send(item("lost", 1)).await.unwrap_err();
    assert_eq!(closed.item.as_ref().map(cupel::ContextItem::content), Some("lost"));
    assert_eq!(
        closed.to_string(),
        "the source of this channel has been dropped, so nobody will take what is sent",
    );
    assert_eq!(sender.end_turn().await.unwrap_err().item, None);
    assert_eq!(format!("{sender:?}"), "ChannelSender { closed: true }");
}
