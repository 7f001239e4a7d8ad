//! Nothing that was acknowledged is lost when a writer or the server is killed.

use std::time::{Duration, Instant};

use cupel_archive::Archive;

use super::writer::{Writer, check};
use crate::support::Database;
use cupel_dev_servers::postgres::{Server, shared};

/// Number of rounds, and their time limit; a few within some seconds by default.
fn rounds() -> (usize, Duration) {
    match std::env::var("CUPEL_ARCHIVE_CRASHES").ok().and_then(|rounds| rounds.parse().ok()) {
        Some(rounds) => (rounds, Duration::MAX),
        None => (25, Duration::from_secs(10)),
    }
}

/// A moment between the first acknowledgement and a little later, another one each time.
fn wait_for_a_random_moment(writer: &Writer, round: usize) {
    let until = Instant::now() + Duration::from_secs(30);
    while writer.count() == 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(writer.count() > 0, "the writer has written nothing");
    // Steps of the golden ratio spread over all moments without two that are alike.
    let moment = (round as f64 * 0.618_033_988_749_895).fract() * 120_000.0;
    std::thread::sleep(Duration::from_micros(moment as u64));
}

async fn kill_writers(address: &str) {
    let (rounds, time) = rounds();
    let started = Instant::now();
    let archive = Archive::open(address).await.unwrap();
    let mut acknowledged = Vec::new();
    let mut done = 0;
    for round in 0..rounds {
        let writer = Writer::start(address, round);
        wait_for_a_random_moment(&writer, round);
        acknowledged.extend(writer.kill());
        // A new connection now and then, as after a restart.
        if round % 5 == 0 {
            check(&Archive::open(address).await.unwrap(), &acknowledged).await;
        }
        done += 1;
        if started.elapsed() > time {
            break;
        }
    }
    check(&archive, &acknowledged).await;
    eprintln!("{done} writers killed, {} acknowledged appends are there", acknowledged.len());
    assert!(acknowledged.len() >= done);
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_what_it_acknowledged_to_writers_that_are_killed() {
    kill_writers(&Database::sqlite().address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_what_it_acknowledged_to_writers_that_are_killed() {
    let Some(server) = shared() else { return };
    kill_writers(&server.address(&server.database())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_what_it_acknowledged_when_the_server_is_killed() {
    let (rounds, time) = rounds();
    let Some(server) = Server::start() else { return };
    let started = Instant::now();
    let address = server.address(&server.database());
    let archive = Archive::open(&address).await.unwrap();
    let mut acknowledged = Vec::new();
    let mut done = 0;
    for round in 0..rounds {
        let writer = Writer::start(&address, round);
        wait_for_a_random_moment(&writer, round);
        server.kill();
        acknowledged.extend(writer.kill());
        server.run();
        // The same archive, whose connections are all gone.
        check(&archive, &acknowledged).await;
        done += 1;
        if started.elapsed() > time {
            break;
        }
    }
    eprintln!("{done} servers killed, {} acknowledged appends are there", acknowledged.len());
    assert!(acknowledged.len() >= done);
}
