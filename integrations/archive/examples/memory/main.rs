//! An assistant that is asked in a new process about what was said in an earlier one.
//!
//! ```sh
//! cargo run -p tower-cupel-archive --example memory
//! ```
//!
//! The first process has a long conversation, archives every turn, and ends. The second one knows
//! nothing but the address of the archive: it is asked about the conversation's beginning, and a
//! layer brings what belongs to the question into a window of 160 tokens. It is found by words, and by
//! vectors of parts of words: one question has two words written as one. The model is a small
//! program that repeats what it was sent, and is labelled as one. No key, no network.
//!
//! The archive is a file in the temporary folder. `CUPEL_ARCHIVE=postgres://user@host/database`
//! takes a PostgreSQL server instead.

#![allow(clippy::print_stdout)]

mod ask;
mod ngrams;
mod said;
mod tell;

use std::process::Command;

use cupel::gather::BoxError;
use cupel_archive::{Archive, ArchiveEmbedder};
use ngrams::LetterGroups;

/// Variable with the address of the archive. Both processes read it, because arguments are visible
/// to everybody on the machine and an address may have a password.
const ADDRESS: &str = "CUPEL_ARCHIVE";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let set = std::env::var(ADDRESS).ok();
    match (std::env::args().nth(1).as_deref(), set) {
        (Some("tell"), Some(address)) => tell::tell(&open(&address).await?).await,
        (Some("ask"), Some(address)) => ask::ask(&open(&address).await?).await,
        (None, Some(address)) => both_processes(&address).await,
        (None, None) => {
            let file = std::env::temp_dir().join(format!("cupel-memory-{}.db", std::process::id()));
            both_processes(&format!("sqlite://{}", file.display())).await?;
            Ok(std::fs::remove_file(file)?)
        }
        (Some(other), _) => Err(format!("got {other:?}, expected no arguments").into()),
    }
}

/// Opens the archive with the example's embedder: another one would be another model's.
async fn open(address: &str) -> Result<Archive, BoxError> {
    let embedder = ArchiveEmbedder::new(LetterGroups);
    Ok(Archive::builder(address).embedder(embedder).open().await?)
}

async fn both_processes(address: &str) -> Result<(), BoxError> {
    for part in ["tell", "ask"] {
        let mut process = Command::new(std::env::current_exe()?);
        let status = process.arg(part).env(ADDRESS, address).status()?;
        if !status.success() {
            return Err(format!("the process that should {part} ended with {status}").into());
        }
    }
    let archive = Archive::open(address).await?;
    let erased = archive.namespace(said::TENANT)?.forget_all().await?;
    println!("\n{} messages forgotten again.", erased.messages);
    archive.close().await;
    Ok(())
}
