//! Times the archive and the raw statements in turns, at each size in turns.

use std::fmt::Debug;
use std::hint::black_box;
use std::time::Instant;

use cupel::relevance::{Candidate, Judge as _, Lexical, Question};
use cupel_archive::{Archive, Conversation, Message, Namespace};

use crate::common::random::Random;
use crate::common::{Effort, median};
use crate::data;
use crate::raw::Raw;

/// A filled database, as the archive sees it and as raw statements do.
pub(crate) struct Filled {
    pub(crate) messages: usize,
    pub(crate) conversations: usize,
    pub(crate) archive: Archive,
    pub(crate) raw: Raw,
}

/// Microseconds of one operation at one size.
#[derive(Default)]
struct Times {
    archive: Vec<f64>,
    raw: Vec<f64>,
    whole: Vec<f64>,
}

impl Filled {
    fn tenant(&self) -> Namespace {
        self.archive.namespace("bench").unwrap()
    }

    fn any_name(&self, random: &mut Random) -> String {
        data::name(random.below(self.conversations))
    }

    fn any(&self, random: &mut Random) -> Conversation {
        self.tenant().conversation(self.any_name(random)).unwrap()
    }

    async fn append(&self, times: &mut Times, random: &mut Random) {
        let (conversation, text) = (self.any(random), data::text(random));
        times.archive.push(timed_ok(conversation.append([Message::user(text.as_str())])).await);
        let (name, text) = (self.any_name(random), data::text(random));
        times.raw.push(timed(self.raw.append(&name, &text)).await);
    }

    async fn recent(&self, times: &mut Times, random: &mut Random) {
        times.archive.push(timed_ok(self.any(random).recent(20)).await);
        times.raw.push(timed(self.raw.recent(&self.any_name(random), 20)).await);
    }

    async fn search(&self, times: &mut Times, random: &mut Random) {
        let question = data::question(random);
        times.archive.push(timed_ok(self.any(random).search(question.as_str())).await);
        times.raw.push(timed(self.raw.search(&self.any_name(random), &question)).await);
        times.whole.push(timed_ok(read_and_judge(&self.any(random), &question)).await);
    }
}

/// Measures one kind of database at its sizes, prints the rows, and returns how many times as long a
/// search takes in the last one as in the first one.
pub(crate) async fn run(database: &str, sizes: &[Filled], effort: Effort) -> f64 {
    let rounds = effort.pick(2, 100, 300);
    // The first rounds warm the caches of the database, and are not counted.
    let warm = effort.pick(0, 10, 30);
    let mut random = Random(7);
    let mut all: Vec<[Times; 3]> = sizes.iter().map(|_| Default::default()).collect();
    for round in 0..warm + rounds {
        for (filled, [append, recent, search]) in sizes.iter().zip(&mut all) {
            filled.append(append, &mut random).await;
            filled.recent(recent, &mut random).await;
            filled.search(search, &mut random).await;
        }
        if round + 1 == warm {
            all.iter_mut().flatten().for_each(|times| *times = Times::default());
        }
    }
    let mut searches = Vec::new();
    for (filled, times) in sizes.iter().zip(all) {
        for (what, times) in ["append", "recent(20)", "search"].into_iter().zip(times) {
            let whole = (!times.whole.is_empty()).then(|| median(times.whole));
            let (ours, raw) = (median(times.archive), median(times.raw));
            row(database, filled.messages, what, ours, raw, whole);
            if what == "search" {
                searches.push(ours);
            }
        }
    }
    searches[searches.len() - 1] / searches[0]
}

async fn timed<T>(doing: impl Future<Output = T>) -> f64 {
    let started = Instant::now();
    black_box(doing.await);
    started.elapsed().as_secs_f64() * 1e6
}

/// The same for what may fail: a failure that nobody sees would look fast.
async fn timed_ok<T, E: Debug>(doing: impl Future<Output = Result<T, E>>) -> f64 {
    timed(async { doing.await.unwrap() }).await
}

async fn read_and_judge(
    conversation: &Conversation,
    question: &str,
) -> Result<(), cupel_archive::ArchiveError> {
    let all = conversation.recent(u32::MAX).await?;
    let candidates: Vec<Candidate<'_>> = all
        .iter()
        .enumerate()
        .map(|(at, stored)| Candidate::new(&stored.message.content, stored.message.tokens).at(at))
        .collect();
    black_box(Lexical::new().judge(&Question::new(question), &candidates));
    Ok(())
}

fn row(database: &str, messages: usize, what: &str, ours: f64, raw: f64, whole: Option<f64>) {
    let whole = whole.map(|whole| format!("{whole:.0}")).unwrap_or_default();
    let ratio = ours / raw;
    println!("| {database} | {messages} | {what} | {ours:.0} | {raw:.0} | {ratio:.2} | {whole} |");
}
