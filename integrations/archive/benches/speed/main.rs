//! The archive against raw `sqlx` statements that do the same, and as it grows.
//!
//! `cargo bench -p tower-cupel-archive` fills a file and a PostgreSQL server of its own with 100,000
//! and 1,000,000 messages, 100 in each conversation, and measures an append, the latest 20, and a
//! search inside one conversation, in turns with the raw statements on the same tables; times are
//! medians. `-- --quick` fills 10,000 and 100,000.
//!
//! The raw append is a transaction with the same inserts, the raw read the same select, and the raw
//! search what one would write by hand: the index's rows that have any of the words, the messages
//! themselves with their neighbours, and the same judge for these. *Whole* reads the whole
//! conversation and judges it in memory.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

#[allow(clippy::manual_is_multiple_of)] // shared with a crate for older compilers
#[path = "../../../../benches/common/mod.rs"]
mod common;
mod data;
mod measure;
#[path = "../../tests/support/postgres.rs"]
mod postgres;
mod raw;

use common::Effort;
use common::random::Random;
use cupel_archive::Archive;

fn main() {
    let effort = Effort::from_arguments();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let sizes = effort.pick([100, 200], [10_000, 100_000], [100_000, 1_000_000]);
        println!("| database | messages | what | archive, us | raw, us | ratio | whole, us |");
        println!("| --- | ---: | --- | ---: | ---: | ---: | ---: |");
        let folder = tempfile::tempdir().unwrap();
        let file = |size: usize| format!("sqlite://{}/{size}.db", folder.path().display());
        let small = run("SQLite", &file(sizes[0]), sizes[0], effort).await;
        let large = run("SQLite", &file(sizes[1]), sizes[1], effort).await;
        println!("\ngrowth of a search in SQLite: {:.2}\n", large / small);
        let Some(server) = postgres::Server::start() else { return };
        let mut searches = Vec::new();
        for size in sizes {
            let address = server.address(&server.database().await);
            searches.push(run("PostgreSQL", &address, size, effort).await);
        }
        println!("\ngrowth of a search in PostgreSQL: {:.2}", searches[1] / searches[0]);
    });
}

/// Fills an archive, measures it, and returns how long a search takes.
async fn run(database: &str, address: &str, messages: usize, effort: Effort) -> f64 {
    let archive = Archive::builder(address).open().await.unwrap();
    let raw = raw::Raw::open(address).await;
    raw.before_loading().await;
    let conversations = data::fill(&archive, messages).await;
    raw.after_loading().await;
    let mut random = Random(7);
    measure::run(database, messages, &archive, &raw, conversations, effort, &mut random).await
}
