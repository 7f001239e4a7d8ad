//! The judge by embeddings: what it asks its model, what it remembers, and what it does about wrong answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cupel::gather::{
    AsyncJudge, BoxError, EmbedAs, Embedder, EmbeddingsJudge, JudgeWork, TextHash, VectorStore,
};
use cupel::relevance::{Candidate, Question};

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Answers,
    After(Duration),
    Never,
    Fails,
    Panics,
    TooFew,
    OtherLength,
    NoNumber,
    Nothing,
}

/// Texts of one request to a model.
type Asked = (EmbedAs, Vec<String>);

/// Knows that an automobile is a car, and keeps what it is asked.
#[derive(Clone)]
struct Model {
    does: Arc<Mutex<Does>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Model {
    fn new(does: Does) -> Self {
        Self { does: Arc::new(Mutex::new(does)), asked: Arc::default() }
    }

    /// Numbers of questions and of passages in all requests so far, request by request.
    fn requests(&self) -> Vec<(EmbedAs, usize)> {
        self.asked.lock().unwrap().iter().map(|(what, texts)| (*what, texts.len())).collect()
    }
}

#[async_trait]
impl Embedder for Model {
    fn model(&self) -> &str {
        "topics"
    }

    async fn embed(&self, what: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        let owned = texts.iter().map(|text| (*text).to_owned()).collect();
        self.asked.lock().unwrap().push((what, owned));
        let topic = |text: &&str| {
            let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
            let car = f32::from(u8::from(has(&["car", "automobile"])));
            vec![car, 1.0 - car, 0.0]
        };
        let mut vectors: Vec<Vec<f32>> = texts.iter().map(topic).collect();
        let does = *self.does.lock().unwrap();
        // A question is always answered, so that only passages go wrong.
        if what == EmbedAs::Passage {
            match does {
                Does::Answers => {}
                Does::After(time) => tokio::time::sleep(time).await,
                Does::Never => std::future::pending().await,
                Does::Fails => return Err("no model is loaded".into()),
                Does::Panics => panic!("no"),
                Does::TooFew => drop(vectors.pop()),
                Does::OtherLength => vectors[0].push(1.0),
                Does::NoNumber => vectors[0][1] = f32::NAN,
                Does::Nothing => vectors[0].clear(),
            }
        }
        Ok(vectors)
    }
}

/// A model and a text.
type StoredKey = (String, TextHash);

/// Keeps vectors, and says how often it was asked.
#[derive(Default)]
struct Store {
    vectors: Mutex<HashMap<StoredKey, Arc<[f32]>>>,
    loads: Mutex<usize>,
    fails: bool,
}

#[async_trait]
impl VectorStore for Store {
    async fn load(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<Option<Arc<[f32]>>>, BoxError> {
        *self.loads.lock().unwrap() += 1;
        if self.fails {
            return Err("the disk is full".into());
        }
        let known = self.vectors.lock().unwrap();
        Ok(texts.iter().map(|hash| known.get(&(model.to_owned(), *hash)).cloned()).collect())
    }

    async fn save(&self, model: &str, vectors: &[(TextHash, Arc<[f32]>)]) -> Result<(), BoxError> {
        if self.fails {
            return Err("the disk is full".into());
        }
        let saved =
            vectors.iter().map(|(hash, vector)| ((model.to_owned(), *hash), Arc::clone(vector)));
        self.vectors.lock().unwrap().extend(saved);
        Ok(())
    }
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("message {number} about nothing")).collect()
}

async fn ask(
    judge: &EmbeddingsJudge,
    question: &str,
    texts: &[String],
) -> Result<Vec<f64>, String> {
    let candidates: Vec<_> = texts.iter().map(|text| Candidate::new(text, 5)).collect();
    let answers = judge.judge(&Question::new(question), &candidates).await;
    answers.map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn it_finds_other_words_for_the_same() {
    let judge = EmbeddingsJudge::new(Model::new(Does::Answers));
    let texts = ["We have an automobile for hire.", "Nice weather.", "", "A car?"];
    let answers = ask(&judge, "A car?", &texts.map(str::to_owned)).await.unwrap();
    assert_eq!(answers, [1.0, 0.0, 0.0, 0.0], "the question itself and blank texts are 0");
}

#[tokio::test(start_paused = true)]
async fn a_second_turn_of_1000_known_messages_is_one_request_with_the_question() {
    let model = Model::new(Does::Answers);
    let judge = EmbeddingsJudge::new(model.clone());
    let mut known = texts(1_000);
    ask(&judge, "first question", &known).await.unwrap();
    let requests = model.requests();
    assert_eq!(requests.iter().filter(|(what, _)| *what == EmbedAs::Question).count(), 1);
    assert_eq!(requests.iter().filter(|(what, _)| *what == EmbedAs::Passage).count(), 32);
    assert!(requests.iter().all(|(_, texts)| *texts <= EmbeddingsJudge::DEFAULT_BATCH));

    ask(&judge, "second question", &known).await.unwrap();
    assert_eq!(model.requests()[33..], [(EmbedAs::Question, 1)]);
    // A step of a loop of tools asks the same question.
    ask(&judge, "second question", &known).await.unwrap();
    assert_eq!(model.requests().len(), 34);
    // Of a grown conversation only what is new.
    known.push("one more".to_owned());
    let work = JudgeWork::default();
    let candidates: Vec<_> = known.iter().map(|text| Candidate::new(text, 5)).collect();
    judge.judge_counted(&Question::new("third"), &candidates, &work).await.unwrap();
    assert_eq!((work.requests(), work.cached()), (2, 1_000));
    assert_eq!(judge.remembered().0, 1_001);
}

#[tokio::test(start_paused = true)]
async fn what_came_too_late_for_one_call_is_there_for_the_next() {
    let model = Model::new(Does::After(Duration::from_secs(1)));
    let judge = EmbeddingsJudge::new(model.clone());
    let known = texts(100);
    let late = tokio::time::timeout(Duration::from_millis(300), ask(&judge, "q", &known)).await;
    assert!(late.is_err());
    // The next call does not ask again for what is under way.
    let late = tokio::time::timeout(Duration::from_millis(300), ask(&judge, "q", &known)).await;
    assert!(late.is_err());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let asked = model.requests();
    assert_eq!(asked.iter().filter(|(what, _)| *what == EmbedAs::Passage).count(), 4);
    ask(&judge, "q", &known).await.unwrap();
    assert_eq!(model.requests().len(), asked.len());
}

#[tokio::test(start_paused = true)]
async fn wrong_answers_are_errors_and_the_next_call_asks_again() {
    let cases = [
        (Does::Fails, "no model is loaded"),
        (Does::Panics, "panicked"),
        (Does::TooFew, "gave 2 vectors, expected 3"),
        (Does::OtherLength, "a vector of 4 numbers, expected 3"),
        (Does::NoNumber, "no number"),
        (Does::Nothing, "without numbers"),
    ];
    for (does, shown) in cases {
        let model = Model::new(does);
        let judge = EmbeddingsJudge::new(model.clone());
        let error = ask(&judge, "Where is the car?", &texts(3)).await.unwrap_err();
        assert!(error.contains(shown), "{error}");
        assert!(!error.contains("message 0"), "{error}");
        assert_eq!(judge.remembered().0, 0, "nothing of it is kept");
        *model.does.lock().unwrap() = Does::Answers;
        assert_eq!(ask(&judge, "Where is the car?", &texts(3)).await.unwrap(), [0.0; 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn dimensions_that_are_set_are_checked() {
    let judge = EmbeddingsJudge::new(Model::new(Does::Answers)).dimensions(384);
    let error = ask(&judge, "q", &texts(1)).await.unwrap_err();
    assert!(error.contains("a vector of 3 numbers, expected 384"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_is_given_up_in_the_background() {
    let model = Model::new(Does::Never);
    let judge = EmbeddingsJudge::new(model.clone()).request_timeout(Duration::from_secs(2));
    let error = ask(&judge, "q", &texts(3)).await.unwrap_err();
    assert!(error.contains("no answer within 2s"), "{error}");
    *model.does.lock().unwrap() = Does::Answers;
    ask(&judge, "q", &texts(3)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn texts_that_wait_for_a_slow_model_are_bounded() {
    let judge = EmbeddingsJudge::new(Model::new(Does::Never));
    let few = texts(10);
    let waits = tokio::time::timeout(Duration::from_millis(1), ask(&judge, "q", &few));
    assert!(waits.await.is_err());
    let megabyte = |number: usize| {
        let line = |at: usize| format!("line {at} of text {number}, which is about nothing\n");
        (0..4_000).map(line).collect::<String>()
    };
    let long: Vec<String> = (0..450).map(megabyte).collect();
    let error = ask(&judge, "q", &long).await.unwrap_err();
    assert!(error.contains("the limit is 67108864"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_store_keeps_vectors_beyond_the_process() {
    let store = Arc::new(Store::default());
    let first = Model::new(Does::Answers);
    let judge = EmbeddingsJudge::new(first.clone()).store(Arc::clone(&store));
    let known = ["We have an automobile.".to_owned(), "Nice weather.".to_owned()];
    let answers = ask(&judge, "A car?", &known).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(store.vectors.lock().unwrap().len(), 2);

    let second = Model::new(Does::Answers);
    let judge = EmbeddingsJudge::new(second.clone()).store(Arc::clone(&store));
    assert_eq!(ask(&judge, "A car?", &known).await.unwrap(), answers);
    assert_eq!(second.requests(), [(EmbedAs::Question, 1)]);
    // What is in memory is not loaded again.
    let loads = *store.loads.lock().unwrap();
    ask(&judge, "An automobile?", &known).await.unwrap();
    assert_eq!(*store.loads.lock().unwrap(), loads);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_costs_the_model_s_work_and_no_more() {
    let store = Store { fails: true, ..Store::default() };
    let model = Model::new(Does::Answers);
    let judge = EmbeddingsJudge::new(model.clone()).store(store);
    assert_eq!(ask(&judge, "A car?", &["An automobile.".to_owned()]).await.unwrap(), [1.0]);
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn vectors_in_memory_stay_within_their_bytes() {
    let model = Model::new(Does::Answers);
    let judge = EmbeddingsJudge::new(model.clone()).remember(10_000);
    ask(&judge, "q", &texts(1_000)).await.unwrap();
    assert!(judge.remembered().1 <= 10_000, "{:?}", judge.remembered());
    // Answers do not depend on what is remembered.
    let judge = EmbeddingsJudge::new(model).remember(0);
    let answers = ask(&judge, "A car?", &["An automobile.".to_owned()]).await;
    assert_eq!(answers.unwrap(), [1.0]);
}

#[tokio::test(start_paused = true)]
async fn a_long_text_counts_by_its_closest_piece() {
    let judge = EmbeddingsJudge::new(Model::new(Does::Answers));
    let long = format!("{}Our automobile is red.\n{}", "Rain.\n".repeat(500), "Sun.\n".repeat(500));
    assert_eq!(ask(&judge, "A car?", &[long]).await.unwrap(), [1.0]);
}

#[test]
fn it_goes_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>() {}
    shared::<EmbeddingsJudge>();
}
