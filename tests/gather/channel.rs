//! Items sent through a channel while a call gathers, each turn for one call.

use cupel::gather::{Source, SourceOutcome, Turn, TurnChannel};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt};

use crate::common::{Echo, Request, call, item, layer_with, ms, numbered, report, request};

fn tools(capacity: usize) -> (TurnChannel, Source<Request>) {
    let channel = TurnChannel::new(capacity);
    let source = channel.source("tools", |_: &Request| ());
    (channel, source.deadline(ms(100)).optional())
}

/// A channel whose key is the number of items in a request.
fn keyed() -> (TurnChannel<usize>, Source<Request>) {
    let channel = TurnChannel::new(8);
    let source = channel.source("tools", |request: &Request| request.items().count());
    (channel, source.deadline(ms(100)).optional())
}

/// The request with this key.
fn asking(key: usize) -> Request {
    request().with_items(numbered("question", key))
}

async fn send(turn: &Turn, content: &str) {
    turn.send(item(content, 1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn items_that_arrive_while_gathering_are_candidates_until_the_turn_ends() {
    let (channel, source) = tools(8);
    let turns = channel.clone();
    tokio::spawn(async move {
        sleep(ms(5)).await;
        let turn = turns.turn(());
        for number in 0..3 {
            sleep(ms(10)).await;
            send(&turn, &format!("result {number}")).await;
        }
        sleep(ms(5)).await;
        turn.end();
    });
    let start = Instant::now();
    let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
    assert_eq!(sent, ["result 0", "result 1", "result 2"]);
    assert_eq!(start.elapsed(), ms(40));
    assert_eq!(selection.gather.source("tools").unwrap().outcome, SourceOutcome::Completed);
    drop(channel); // lived on, so it was the end of the turn that ended the source
}

#[tokio::test(start_paused = true)]
async fn items_and_the_end_of_a_turn_may_come_before_the_call() {
    let (channel, source) = tools(8);
    let turn = channel.turn(());
    send(&turn, "result").await;
    turn.end();
    let start = Instant::now();
    let (sent, _) = report(layer_with([source]), request()).await.unwrap();
    assert_eq!(sent, ["result"]);
    assert_eq!(start.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn without_an_end_of_the_turn_a_call_waits_for_the_deadline() {
    let (channel, source) = tools(8);
    let turn = channel.turn(());
    let another = turn.clone();
    send(&turn, "result").await;
    turn.end();
    let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
    assert_eq!(sent, ["result"]);
    let tools = selection.gather.source("tools").unwrap();
    assert_eq!((&tools.outcome, tools.elapsed), (&SourceOutcome::TimedOut, ms(100)));
    drop(another);
}

#[tokio::test(start_paused = true)]
async fn when_nobody_can_begin_a_turn_a_call_does_not_wait() {
    let (channel, source) = tools(8);
    send(&channel.turn(()), "last words").await;
    drop(channel);
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    let start = Instant::now();
    assert_eq!(call(&mut service, request()).await.unwrap(), ["last words"]);
    assert!(call(&mut service, request()).await.unwrap().is_empty());
    assert_eq!(start.elapsed(), ms(0));

    let (channel, source) = tools(8);
    tokio::spawn(async move {
        sleep(ms(10)).await;
        drop(channel);
    });
    let start = Instant::now();
    assert!(report(layer_with([source]), request()).await.unwrap().0.is_empty());
    assert_eq!(start.elapsed(), ms(10));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_comes_too_late_ends_no_other_turn() {
    let (channel, source) = tools(8);
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    let mut late = channel.turn(());
    for number in 0..3 {
        // The call runs into its deadline before the turn ends.
        assert!(call(&mut service, request()).await.unwrap().is_empty());
        let over = late.send(item("late", 1)).await.unwrap_err();
        assert_eq!(over.item.content(), "late");
        assert_eq!(
            over.to_string(),
            "the turn is over: its call has ended, or the next turn has begun before a call took it",
        );
        late.end();
        let turn = channel.turn(());
        send(&turn, &format!("in time {number}")).await;
        turn.end();
        let sent = call(&mut service, request()).await.unwrap();
        assert_eq!(sent, [format!("in time {number}")]);
        late = channel.turn(());
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_takes_its_turn_along() {
    let (channel, source) = tools(8);
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    for number in 0..3 {
        let turn = channel.turn(());
        let cancelled = tokio::spawn(service.clone().oneshot(request()));
        sleep(ms(1)).await;
        cancelled.abort();
        assert!(cancelled.await.is_err());
        assert!(turn.send(item("for the cancelled one", 1)).await.is_err());

        // A call that was cancelled while it waited for a turn does not get the next one either.
        let cancelled = tokio::spawn(service.clone().oneshot(request()));
        sleep(ms(1)).await;
        cancelled.abort();
        assert!(cancelled.await.is_err());

        let next = channel.turn(());
        turn.end();
        send(&next, &format!("result {number}")).await;
        next.end();
        assert_eq!(call(&mut service, request()).await.unwrap(), [format!("result {number}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn two_users_of_one_layer_get_their_own_items() {
    let (channel, source) = keyed();
    let service = layer_with([source]).build().unwrap().layer(Echo::default());
    let first = tokio::spawn(service.clone().oneshot(asking(1)));
    let second = tokio::spawn(service.oneshot(asking(2)));
    sleep(ms(1)).await;
    // The second one's turn begins first, and they take turns.
    let turns = [channel.turn(2), channel.turn(1)];
    for number in 0..2 {
        for (turn, user) in turns.iter().zip([2, 1]) {
            sleep(ms(5)).await;
            send(turn, &format!("for {user}: {number}")).await;
        }
    }
    drop(turns);
    assert_eq!(first.await.unwrap().unwrap()[1..], ["for 1: 0", "for 1: 1"]);
    assert_eq!(second.await.unwrap().unwrap()[2..], ["for 2: 0", "for 2: 1"]);
}

#[tokio::test(start_paused = true)]
async fn with_a_key_for_each_call_turns_may_begin_long_before_their_calls() {
    let (channel, source) = keyed();
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    for key in [3, 1, 2] {
        send(&channel.turn(key), &format!("turn {key}")).await;
    }
    for key in 1..=3 {
        let sent = call(&mut service, asking(key)).await.unwrap();
        assert_eq!(sent[key..], [format!("turn {key}")]);
    }
    assert_eq!(format!("{channel:?}"), "TurnChannel { keys: 0, .. }");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_has_taken_is_over_when_the_next_one_begins() {
    let (channel, source) = tools(8);
    let stale = channel.turn(());
    send(&stale, "stale").await;
    let fresh = channel.turn(());
    assert_eq!(format!("{stale:?} {fresh:?}"), "Turn { over: true } Turn { over: false }");
    assert!(stale.send(item("stale", 1)).await.is_err());
    send(&fresh, "fresh").await;
    fresh.end();
    assert_eq!(report(layer_with([source]), request()).await.unwrap().0, ["fresh"]);

    channel.turn(()).end();
    channel.remove(&());
    assert_eq!(format!("{channel:?}"), "TurnChannel { keys: 0, .. }");
}

#[tokio::test(start_paused = true)]
async fn of_two_calls_with_one_key_one_takes_the_turn_and_the_other_the_next() {
    let (channel, source) = tools(8);
    let service = layer_with([source]).build().unwrap().layer(Echo::default());
    let first = tokio::spawn(service.clone().oneshot(request()));
    let second = tokio::spawn(service.oneshot(request()));
    sleep(ms(1)).await;
    for name in ["a", "b"] {
        let turn = channel.turn(());
        for number in 0..2 {
            send(&turn, &format!("{name}{number}")).await;
        }
    }
    assert_eq!(first.await.unwrap().unwrap(), ["a0", "a1"]);
    assert_eq!(second.await.unwrap().unwrap(), ["b0", "b1"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_all_it_asked_for_ends_the_turn() {
    let (channel, source) = tools(8);
    let turn = channel.turn(());
    for number in 0..3 {
        send(&turn, &format!("result {number}")).await;
    }
    let mut service = layer_with([source.limit(2)]).build().unwrap().layer(Echo::default());
    assert_eq!(call(&mut service, request()).await.unwrap(), ["result 0", "result 1"]);
    assert!(turn.send(item("result 3", 1)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_full_turn_makes_the_sender_wait_for_its_call() {
    for capacity in [0, 1] {
        let (channel, source) = tools(capacity);
        let turn = channel.turn(());
        let sending = tokio::spawn(async move {
            for number in 0..5 {
                send(&turn, &format!("result {number}")).await;
            }
        });
        sleep(ms(10)).await;
        assert!(!sending.is_finished());
        let (sent, _) = report(layer_with([source]), request()).await.unwrap();
        assert_eq!(sent.len(), 5);
        sending.await.unwrap();
    }
}

#[tokio::test]
async fn when_the_layer_and_the_channel_are_gone_an_item_comes_back() {
    let (channel, source) = tools(8);
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    let turn = channel.turn(());
    drop(channel);
    // The service still has the source.
    send(&turn, "taken").await;
    drop(service.ready().await.unwrap().call(request()));
    send(&turn, "taken, too: that call was never polled").await;
    drop(service);
    assert_eq!(turn.send(item("lost", 1)).await.unwrap_err().item.content(), "lost");
}
