//! Times the archive and the raw statements in turns.

use std::hint::black_box;
use std::time::Instant;

use cupel::relevance::{Candidate, Judge as _, Lexical, Question};
use cupel_archive::{Archive, Conversation, Message};

use crate::common::random::Random;
use crate::common::{Effort, median};
use crate::data;
use crate::raw::Raw;

async fn timed<T>(doing: impl Future<Output = T>) -> f64 {
    let started = Instant::now();
    black_box(doing.await);
    started.elapsed().as_secs_f64() * 1e6
}

/// Measures one archive, prints its rows, and returns the microseconds of a search.
pub(crate) async fn run(
    database: &str,
    messages: usize,
    archive: &Archive,
    raw: &Raw,
    conversations: usize,
    effort: Effort,
    random: &mut Random,
) -> f64 {
    let tenant = archive.namespace("bench").unwrap();
    let any = |random: &mut Random| data::name(random.below(conversations));
    let rounds = effort.pick(2, 100, 300);

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (name, text) = (any(random), data::text(random));
        let conversation = tenant.conversation(name.as_str()).unwrap();
        ours.push(timed(conversation.append([Message::user(text.as_str())])).await);
        let (name, text) = (any(random), data::text(random));
        theirs.push(timed(raw.append(&name, &text)).await);
    }
    row(database, messages, "append", median(ours), median(theirs), None);

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let name = any(random);
        let conversation = tenant.conversation(name.as_str()).unwrap();
        ours.push(timed(conversation.recent(20)).await);
        theirs.push(timed(raw.recent(&any(random), 20)).await);
    }
    row(database, messages, "recent(20)", median(ours), median(theirs), None);

    let (mut ours, mut theirs, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let judge = Lexical::new();
    for _ in 0..rounds {
        let question = data::question(random);
        let name = any(random);
        let conversation = tenant.conversation(name.as_str()).unwrap();
        ours.push(timed(conversation.search(question.as_str())).await);
        theirs.push(timed(raw.search(&any(random), &question)).await);
        let other = tenant.conversation(any(random)).unwrap();
        whole.push(timed(read_and_judge(&other, &judge, &question)).await);
    }
    let ours = median(ours);
    row(database, messages, "search", ours, median(theirs), Some(median(whole)));
    ours
}

async fn read_and_judge(conversation: &Conversation, judge: &Lexical, question: &str) {
    let all = conversation.recent(u32::MAX).await.unwrap();
    let candidates: Vec<Candidate<'_>> = all
        .iter()
        .enumerate()
        .map(|(at, stored)| Candidate::new(&stored.message.content, stored.message.tokens).at(at))
        .collect();
    black_box(judge.judge(&Question::new(question), &candidates));
}

fn row(database: &str, messages: usize, what: &str, ours: f64, raw: f64, whole: Option<f64>) {
    let whole = whole.map(|whole| format!("{whole:.0}")).unwrap_or_default();
    let ratio = ours / raw;
    println!("| {database} | {messages} | {what} | {ours:.0} | {raw:.0} | {ratio:.2} | {whole} |");
}
