//! Searches by words and by vectors, in one tenant with many vectors.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use cupel::gather::{BoxError, EmbedAs, Embedder};
use cupel_archive::{Append, Archive, ArchiveEmbedder, ArchiveMessage, Search};
use cupel_dev::random::Random;
use cupel_dev::{Effort, median};

use crate::data;

/// Numbers of a vector, as many as MiniLM's.
const DIMENSIONS: usize = 384;

/// Stands for a model, and takes next to no time: random numbers by the text.
struct RandomVectors;

#[async_trait]
impl Embedder for RandomVectors {
    fn model(&self) -> &str {
        "random"
    }

    async fn embed(&self, _: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        let vector = |text: &&str| {
            let seed = text.bytes().fold(7_u64, |hash, byte| {
                hash.wrapping_mul(1_099_511_628_211).wrapping_add(u64::from(byte))
            });
            let mut random = Random(seed);
            (0..DIMENSIONS).map(|_| random.unit() as f32 - 0.5).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// Fills a tenant, embeds its messages, and measures searches with vectors and without.
pub(crate) async fn run(database: &str, address: &str, effort: Effort) {
    let long = effort.pick(0, 1, 4);
    let conversations = effort.pick(2, 150, 800);
    let vectors = conversations * data::IN_EACH + long * data::IN_LONG;
    let hour = Duration::from_secs(3_600);
    let embedder = ArchiveEmbedder::new(RandomVectors).batch(256).deadline(hour).range(-0.5, 0.5);
    let archive = Archive::builder(address).embedder(embedder).timeout(hour).open().await.unwrap();
    data::fill(&archive, conversations * data::IN_EACH, long).await;
    let started = Instant::now();
    assert_eq!(archive.embed_within(hour).await.unwrap(), 0);
    println!(
        "\n{database}: {vectors} messages filled, their vectors kept {:.0} s later\n",
        started.elapsed().as_secs_f64()
    );
    println!("| database | vectors | what | words, us | words and vectors, us |");
    println!("| --- | ---: | --- | ---: | ---: |");
    let tenant = archive.namespace("bench").unwrap();
    let mut random = Random(11);
    let append = tenant.conversation("append").unwrap();
    let rounds = effort.pick(2, 20, 30);
    for what in ["search in 100", "search in 5,000", "search in all", "append"] {
        let mut times: [Vec<f64>; 2] = Default::default();
        for round in 0..rounds {
            let name = match what {
                "search in 100" => Some(data::name(random.below(conversations))),
                "search in 5,000" if long == 0 => continue,
                "search in 5,000" => Some(data::long_name(random.below(long))),
                _ => None,
            };
            let question = data::question(&mut random);
            for (with_vectors, times) in [false, true].into_iter().zip(&mut times) {
                let search = Search::new(format!("{question}{}", "?".repeat(round % 2)));
                let search = if with_vectors { search } else { search.words_only() };
                let started = Instant::now();
                match (&name, what) {
                    (_, "append") => {
                        // Beside the task that embeds the message before.
                        let message = ArchiveMessage::user(data::text(&mut random));
                        append.append(Append::new([message])).await.unwrap();
                    }
                    (Some(name), _) => {
                        let conversation = tenant.conversation(name.as_str()).unwrap();
                        conversation.search(search).await.unwrap();
                    }
                    (None, _) => drop(tenant.search(search).await.unwrap()),
                }
                times.push(started.elapsed().as_secs_f64() * 1e6);
            }
        }
        if let [Some(_), Some(_)] = [times[0].first(), times[1].first()] {
            let [words, both] = times.map(median);
            let words = if what == "append" { String::new() } else { format!("{words:.0}") };
            println!("| {database} | {vectors} | {what} | {words} | {both:.0} |");
        }
    }
    assert_eq!(archive.embedding_status().await.unwrap().words_alone, 0);
    archive.close().await;
}
