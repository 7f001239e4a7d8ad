//! rig's embedding models and re-rankers as judges of relevance.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cupel::layer::AsyncJudge;
use cupel::relevance::{Candidate, Question};
use cupel_rig::judge::{EmbeddingJudge, RerankJudge};
use cupel_rig::source::ScoreScale;
use futures::stream;
use rig_core::DynModel;
use rig_core::driver::{Exchange, Local, Model, Opened, Opening, Step, Transport};
use rig_core::embeddings::{Embedding, EmbeddingResponse};
use rig_core::error::ProviderError;
use rig_core::operation::{Embedding as EmbeddingOp, Rerank, RerankRequest};
use rig_core::rerank::{RerankResponse, RerankResult};
use rig_core::wire::Capabilities;

/// Requests to the provider, and most requests in flight at once.
#[derive(Default)]
struct Seen {
    batches: Mutex<Vec<Vec<String>>>,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

#[derive(Clone)]
struct Provider {
    seen: Arc<Seen>,
    answer: fn(&str) -> Result<Vec<f64>, &'static str>,
}

/// A direction for each thing, whatever it is called.
fn meaning(text: &str) -> Result<Vec<f64>, &'static str> {
    let has = |words: &[&str]| f64::from(u8::from(words.iter().any(|word| text.contains(word))));
    Ok(vec![has(&["car", "automobile"]), has(&["tea", "drink"]), has(&["rain"]) - has(&["dry"])])
}

/// An answer that takes a while.
fn later<Op>(seen: &Arc<Seen>, answer: Result<Op::End, ProviderError>) -> Opening<Step<Op>>
where
    Op: rig_core::wire::Operation + 'static,
    Op::End: Send + 'static,
    Step<Op>: Send,
{
    let seen = Arc::clone(seen);
    Opening::new(async move {
        let now = seen.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        seen.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(10)).await;
        seen.under_way.fetch_sub(1, Ordering::SeqCst);
        Ok(Opened::new(stream::iter([answer.map(Step::End)])))
    })
}

impl Transport<Local<EmbeddingOp>> for Provider {
    fn send(&self, texts: Vec<String>, _: Exchange) -> Opening<Step<EmbeddingOp>> {
        self.seen.batches.lock().unwrap().push(texts.clone());
        let embed = |document: String| {
            let vec = (self.answer)(&document)?;
            Ok::<_, &'static str>(Embedding { document, vec })
        };
        let embedded: Result<Vec<Embedding>, _> = texts.into_iter().map(embed).collect();
        let embedded = embedded.map_err(|problem| ProviderError::Provider(problem.to_owned()));
        later(&self.seen, embedded.map(EmbeddingResponse::new))
    }
}

impl Transport<Local<Rerank>> for Provider {
    fn send(&self, request: RerankRequest, _: Exchange) -> Opening<Step<Rerank>> {
        self.seen.batches.lock().unwrap().push(request.documents.clone());
        let score = |(index, text): (usize, &String)| {
            let relevance_score = (self.answer)(text).ok()?.first().copied()?;
            Some(RerankResult { index, document: None, relevance_score })
        };
        // The best first, as re-rankers answer.
        let mut results: Vec<RerankResult> =
            request.documents.iter().enumerate().filter_map(score).collect();
        results.sort_by(|a, b| b.relevance_score.total_cmp(&a.relevance_score));
        later(&self.seen, Ok(RerankResponse::new(results)))
    }
}

fn embeddings(answer: fn(&str) -> Result<Vec<f64>, &'static str>) -> (EmbeddingJudge, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let wire = Local::new("local").with_id("embed-1");
    let wire = wire.with_capabilities(Capabilities::embedding(3, 0));
    let model = Model::new(wire, Provider { seen: Arc::clone(&seen), answer });
    (EmbeddingJudge::new(model), seen)
}

fn reranker(answer: fn(&str) -> Result<Vec<f64>, &'static str>) -> (DynModel<Rerank>, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let wire = Local::new("local").with_id("rerank-1");
    let wire = wire.with_capabilities(Capabilities::rerank(2));
    (Model::new(wire, Provider { seen: Arc::clone(&seen), answer }).into(), seen)
}

async fn ask(judge: &dyn AsyncJudge, question: &str, texts: &[&str]) -> Result<Vec<f64>, String> {
    let candidates: Vec<_> = texts.iter().map(|text| Candidate::new(text, 5)).collect();
    let answers = judge.judge(&Question::new(question), &candidates).await;
    answers.map_err(|error| error.to_string())
}

fn batches(seen: &Seen) -> Vec<Vec<String>> {
    std::mem::take(&mut seen.batches.lock().unwrap())
}

#[tokio::test(start_paused = true)]
async fn cosines_become_hints() {
    let (judge, _) = embeddings(meaning);
    assert_eq!(judge.name(), "embed-1");
    assert!(!judge.is_deterministic());
    let texts = ["an automobile", "tea and a car", "tea", "   ", "where is the car"];
    let hints = ask(&judge, "where is the car", &texts).await.unwrap();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    assert!((hints[1] - half).abs() < 1e-6);
    assert_eq!([hints[0], hints[2], hints[3], hints[4]], [1.0, 0.0, 0.0, 0.0]);
    // What points elsewhere is 0, unless another scale says so.
    assert_eq!(ask(&judge, "rain", &["dry"]).await.unwrap(), [0.0]);
    let judge = judge.scale(ScoreScale::custom(|cosine| (cosine + 1.0) / 2.0));
    assert_eq!(ask(&judge, "rain", &["dry", "tea"]).await.unwrap(), [0.0, 0.5]);
}

#[tokio::test(start_paused = true)]
async fn each_text_is_embedded_once_in_batches_of_the_model_s_size() {
    let (judge, seen) = embeddings(meaning);
    let texts = ["car 1", "car 2", "car 1", "car 3", "car 4", "car 5", "car 6"];
    ask(&judge, "a car?", &texts).await.unwrap();
    let mut first = batches(&seen);
    first.sort();
    let sent: Vec<&[&str]> =
        vec![&["a car?", "car 1", "car 2"], &["car 3", "car 4", "car 5"], &["car 6"]];
    assert_eq!(first, sent);
    // The next turn has one new text, and its question.
    let hints = ask(&judge, "another car?", &["car 1", "car 7", "car 3"]).await.unwrap();
    assert_eq!(batches(&seen), [["another car?", "car 7"]]);
    assert_eq!(hints, [1.0; 3]);
    assert_eq!(ask(&judge.clone(), "another car?", &["car 7"]).await.unwrap(), [1.0]);
    assert!(batches(&seen).is_empty());
    // Nothing is remembered where there is no room, and the answers are the same.
    let forgetful = judge.remember(0);
    assert_eq!(ask(&forgetful, "a car?", &["car 1", "car 2"]).await.unwrap(), [1.0; 2]);
    assert_eq!(batches(&seen).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_few_requests_are_under_way_at_once() {
    let texts: Vec<String> = (0..60).map(|number| format!("car {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (concurrency, most) in [(4, 4), (1, 1), (0, 1)] {
        let (judge, seen) = embeddings(meaning);
        ask(&judge.concurrency(concurrency), "a car?", &texts).await.unwrap();
        assert_eq!(seen.most.load(Ordering::SeqCst), most);
        assert_eq!(batches(&seen).len(), 21);
    }
}

#[tokio::test(start_paused = true)]
async fn long_texts_are_cut_and_the_answers_stay_in_order() {
    let (judge, seen) = embeddings(meaning);
    let long = format!("{} car", "ä".repeat(10_000));
    let hints = ask(&judge, "car", &[&long, "automobile"]).await.unwrap();
    assert_eq!(hints, [0.0, 1.0]);
    assert!(batches(&seen).concat().iter().all(|text| text.len() <= 8_000));
}

#[tokio::test(start_paused = true)]
async fn errors_say_what_is_wrong() {
    let (judge, _) = embeddings(|text| match text {
        "broken" => Err("the quota is used up"),
        "wide" => Ok(vec![1.0; 4]),
        "odd" => Ok(vec![f64::NAN, 0.0, 0.0]),
        text => meaning(text),
    });
    let failed = |text| {
        let judge = judge.clone();
        async move { ask(&judge, "car", &["automobile", text]).await.unwrap_err() }
    };
    assert!(failed("broken").await.contains("the quota is used up"));
    let wide = failed("wide").await;
    assert_eq!(wide, "the model gave a text 4 numbers, expected 3 as for the question");
    assert!(failed("odd").await.contains("no number"));
    assert_eq!(ask(&judge, "car", &["automobile"]).await, Ok(vec![1.0]), "the next call goes on");
}

#[tokio::test(start_paused = true)]
async fn what_was_embedded_before_a_call_gave_up_is_there_for_the_next() {
    let (judge, seen) = embeddings(meaning);
    let judge = judge.concurrency(1);
    let texts = ["car 1", "car 2", "car 3", "car 4"];
    let late = tokio::time::timeout(Duration::from_millis(15), ask(&judge, "car?", &texts)).await;
    assert!(late.is_err());
    assert_eq!(batches(&seen).len(), 2);
    ask(&judge, "car?", &texts).await.unwrap();
    assert_eq!(batches(&seen), [["car 3", "car 4"]]);
}

#[tokio::test(start_paused = true)]
async fn a_re_ranker_s_scores_become_hints_whatever_their_order() {
    let (model, seen) =
        reranker(|text| Ok(vec![if text.contains("automobile") { 0.9 } else { 0.2 }]));
    let judge = RerankJudge::new(model, ScoreScale::CosineSimilarity);
    assert_eq!(judge.name(), "rerank-1");
    let texts = ["tea", "automobile", "rain", " ", "a car?"];
    let hints = ask(&judge, "a car?", &texts).await.unwrap();
    let rounded: Vec<f64> = hints.iter().map(|hint| (hint * 100.0).round() / 100.0).collect();
    assert_eq!(rounded, [0.2, 0.9, 0.2, 0.0, 0.0]);
    assert_eq!(batches(&seen).concat().len(), 3, "in batches of two");
    // The same question in a tool loop asks about what is new; another one asks again.
    ask(&judge, "a car?", &["tea", "snow"]).await.unwrap();
    assert_eq!(batches(&seen), [["snow"]]);
    ask(&judge, "tea?", &["tea"]).await.unwrap();
    assert_eq!(batches(&seen), [["tea"]]);
}

#[tokio::test(start_paused = true)]
async fn a_re_ranker_that_leaves_texts_out_or_gives_no_number_is_an_error() {
    let (model, _) = reranker(|text| if text == "odd" { Ok(vec![]) } else { Ok(vec![f64::NAN]) });
    let judge = RerankJudge::new(model, ScoreScale::Unbounded);
    let left_out = ask(&judge, "a car?", &["odd"]).await.unwrap_err();
    assert_eq!(left_out, "the model answered for 0 texts of 1");
    assert!(ask(&judge, "a car?", &["tea"]).await.unwrap_err().contains("no number"));
}

#[test]
fn judges_go_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>() {}
    shared::<EmbeddingJudge>();
    shared::<RerankJudge>();
}
