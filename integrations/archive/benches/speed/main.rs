//! The archive against raw `sqlx` statements that do the same, and as it grows.
//!
//! `cargo bench -p tower-cupel-archive` fills a file and a PostgreSQL server of its own with 100,000
//! and 1,000,000 messages, 100 in each conversation, and ten conversations of 5,000 beside them. It
//! measures an append, the latest 20, and a search inside one conversation, in turns with the raw
//! statements on the same tables and at both sizes, so that whatever else the machine does meets all
//! of them; times are medians of 300. `-- --quick` fills 10,000 and 100,000; `-- sqlite` and
//! `-- postgres` measure one database.
//!
//! After that it fills a tenant with 100,000 messages and their vectors, of 384 random numbers, and
//! measures searches by words and by both, and appends beside the embedding: in SQLite, in PostgreSQL, and
//! in PostgreSQL with `pgvector` where that is installed. `-- vectors` measures these alone.
//!
//! The raw append is a transaction with the same inserts, the raw read the same select. The raw search
//! is what one would write by hand, and does the same: a conversation of 100 is read whole and judged;
//! of one of 5,000 the index says which messages have which word, and those with the rarest, 300 at
//! most, are read with their neighbours and judged. *WholeTranscript* reads the whole conversation through the
//! archive and judges it, at both lengths.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod data;
mod measure;
mod raw;
mod raw_search;
mod vectors;

use std::time::Instant;

use cupel_archive::Archive;
use cupel_dev::Effort;
use cupel_dev_servers::postgres;
use measure::Filled;

fn main() {
    let effort = Effort::from_arguments();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let sizes = effort.pick([100, 200], [10_000, 100_000], [100_000, 1_000_000]);
        // Either database alone, or both.
        let named = |name: &str| std::env::args().any(|argument| argument == name);
        let with_words = !named("vectors");
        if !named("postgres") {
            let folder = tempfile::tempdir().unwrap();
            let address = |size| format!("sqlite://{}/{size}.db", folder.path().display());
            if with_words {
                run("SQLite", &sizes.map(address), sizes, effort).await;
            }
            let file = format!("sqlite://{}/vectors.db", folder.path().display());
            vectors::run("SQLite", &file, effort).await;
        }
        if named("sqlite") {
            return;
        }
        let Some(server) = postgres::Server::start() else { return };
        if with_words {
            let addresses =
                [server.database(), server.database()].map(|database| server.address(&database));
            run("PostgreSQL", &addresses, sizes, effort).await;
        }
        vectors::run("PostgreSQL", &server.address(&server.database()), effort).await;
        if server.has_extension("vector") {
            let database = server.database();
            server.sql(&database, "CREATE EXTENSION vector");
            vectors::run("pgvector", &server.address(&database), effort).await;
        }
    });
}

/// Fills an archive of each size, and measures them in turns.
async fn run(database: &str, addresses: &[String; 2], sizes: [usize; 2], effort: Effort) {
    let started = Instant::now();
    let mut filled = Vec::new();
    for (address, messages) in addresses.iter().zip(sizes) {
        let archive = Archive::builder(address).open().await.unwrap();
        let raw = raw::Raw::open(address).await;
        raw.before_loading().await;
        let long = effort.pick(1, 10, 10);
        let conversations = data::fill(&archive, messages, long).await;
        raw.after_loading().await;
        let apart = Archive::open(address).await.unwrap();
        filled.push(Filled { messages, conversations, long, archive, apart, raw });
    }
    println!("\n{database}, filled in {:.0} s:\n", started.elapsed().as_secs_f64());
    println!("| database | messages | what | archive, us | raw, us | ratio | whole, us |");
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: |");
    measure::run(database, &filled, effort).await;
    for filled in filled {
        filled.apart.close().await;
        filled.archive.close().await;
    }
}
