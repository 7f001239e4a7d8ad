//! Times the archive and the raw statements in turns, at each size in turns.

use std::fmt::Debug;
use std::hint::black_box;
use std::time::Instant;

use cupel::relevance::{Candidate, Judge as _, Lexical, Question};
use cupel_archive::{Archive, ArchiveMessage, ConversationHandle, Namespace};

use crate::data;
use crate::raw::Raw;
use cupel_dev::random::Random;
use cupel_dev::{Effort, median};

/// A filled database, as the archive sees it and as raw statements do.
pub(crate) struct Filled {
    pub(crate) messages: usize,
    pub(crate) conversations: usize,
    pub(crate) long: usize,
    pub(crate) archive: Archive,
    /// The same database, for reading whole conversations: that fills the caches of a connection, and
    /// whoever comes next on it would have to empty them.
    pub(crate) apart: Archive,
    pub(crate) raw: Raw,
}

/// Microseconds of one operation at one size.
#[derive(Default)]
struct Times {
    archive: Vec<f64>,
    raw: Vec<f64>,
    whole: Vec<f64>,
}

impl Times {
    /// Times both, the one first and the other in turns: who comes second finds warmer caches.
    async fn take(&mut self, archive: impl Future<Output = f64>, raw: impl Future<Output = f64>) {
        let (ours, theirs) = if self.raw.len().is_multiple_of(2) {
            let ours = archive.await;
            (ours, raw.await)
        } else {
            let theirs = raw.await;
            (archive.await, theirs)
        };
        self.archive.push(ours);
        self.raw.push(theirs);
    }
}

impl Filled {
    fn tenant(&self) -> Namespace {
        self.archive.namespace("bench").unwrap()
    }

    fn apart(&self, name: String) -> ConversationHandle {
        self.apart.namespace("bench").unwrap().conversation(name).unwrap()
    }

    fn any_name(&self, random: &mut Random) -> String {
        data::name(random.below(self.conversations))
    }

    fn any(&self, random: &mut Random) -> ConversationHandle {
        self.tenant().conversation(self.any_name(random)).unwrap()
    }

    async fn append(&self, times: &mut Times, random: &mut Random) {
        let (conversation, message) = (self.any(random), ArchiveMessage::user(data::text(random)));
        let (name, text) = (self.any_name(random), data::text(random));
        let ours = timed_ok(conversation.append([message]));
        times.take(ours, timed(self.raw.append(&name, &text))).await;
    }

    async fn recent(&self, times: &mut Times, random: &mut Random) {
        let (conversation, name) = (self.any(random), self.any_name(random));
        times.take(timed_ok(conversation.recent(20)), timed(self.raw.recent(&name, 20))).await;
    }

    async fn search(&self, times: &mut Times, random: &mut Random) {
        let question = data::question(random);
        let (conversation, name) = (self.any(random), self.any_name(random));
        let ours = timed_ok(conversation.search(question.as_str()));
        times.take(ours, timed(self.raw.search_short(&name, &question))).await;
        let whole = self.apart(self.any_name(random));
        times.whole.push(timed_ok(read_and_judge(&whole, &question)).await);
    }

    async fn search_long(&self, times: &mut Times, random: &mut Random) {
        let question = data::question(random);
        let mut any_name = || data::long_name(random.below(self.long));
        let (ours, name, whole) = (any_name(), any_name(), any_name());
        let (ours, whole) = (self.tenant().conversation(ours).unwrap(), self.apart(whole));
        let ours = timed_ok(ours.search(question.as_str()));
        times.take(ours, timed(self.raw.search_long(&name, &question))).await;
        times.whole.push(timed_ok(read_and_judge(&whole, &question)).await);
    }
}

const WHAT: [&str; 4] = ["append", "recent(20)", "search in 100", "search in 5,000"];

/// Measures one kind of database at its sizes, prints the rows, and how many times as long a search
/// takes in the last one as in the first one.
pub(crate) async fn run(database: &str, sizes: &[Filled], effort: Effort) {
    let rounds = effort.pick(2, 100, 300);
    // The first rounds warm the caches of the database, and are not counted.
    let warm = effort.pick(0, 10, 30);
    let mut random = Random(7);
    let mut all: Vec<[Times; 4]> = sizes.iter().map(|_| Default::default()).collect();
    for round in 0..warm + rounds {
        for (filled, [append, recent, search, long]) in sizes.iter().zip(&mut all) {
            filled.append(append, &mut random).await;
            filled.recent(recent, &mut random).await;
            filled.search(search, &mut random).await;
            filled.search_long(long, &mut random).await;
        }
        if round + 1 == warm {
            all.iter_mut().flatten().for_each(|times| *times = Times::default());
        }
    }
    let mut medians: Vec<Vec<f64>> = Vec::new();
    for (filled, times) in sizes.iter().zip(all) {
        let rows = WHAT.into_iter().zip(times).map(|(what, times)| {
            let whole = (!times.whole.is_empty()).then(|| median(times.whole));
            let (ours, raw) = (median(times.archive), median(times.raw));
            row(database, filled.messages, what, ours, raw, whole);
            ours
        });
        medians.push(rows.collect());
    }
    println!();
    for (at, what) in WHAT.into_iter().enumerate().filter(|(_, what)| what.contains("search")) {
        let growth = medians[medians.len() - 1][at] / medians[0][at];
        println!("growth of a {what} in {database}: {growth:.2}");
    }
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
    conversation: &ConversationHandle,
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
