//! A model behind `/v1/embeddings` as a judge that can be asked here.

use std::sync::Arc;
use std::time::Duration;

use async_openai::config::OpenAIConfig;
use cupel::gather::{AsyncJudge, EmbeddingsJudge};
use cupel::layer::WaitingJudge;
use cupel::relevance::{Candidate, Hint, Judge, Question, Verdict};
use cupel_async_openai::{EmbeddingsApi, EmbeddingsClient};
use tokio::runtime::Runtime;

/// Steps to which a layer rounds the answers.
const STEPS: f64 = WaitingJudge::DEFAULT_STEPS as f64;

#[derive(Clone)]
pub struct EmbeddingsServer {
    judge: EmbeddingsJudge,
    runtime: Arc<Runtime>,
    pub weight: f64,
}

impl EmbeddingsServer {
    /// The server of `CUPEL_EMBEDDINGS_URL`; `CUPEL_EMBEDDINGS_MODEL`, `CUPEL_EMBEDDINGS_PREFIXES` (both,
    /// with a `|` between), `CUPEL_EMBEDDINGS_RANGE` (floor and ceiling, with a comma between),
    /// `CUPEL_EMBEDDINGS_KEY` and `CUPEL_BLEND_WEIGHT` are its settings.
    pub fn from_env() -> Option<Self> {
        let read = |name: &str| std::env::var(name).ok();
        let url = read("CUPEL_EMBEDDINGS_URL")?;
        let model = read("CUPEL_EMBEDDINGS_MODEL").unwrap_or_else(|| "all-minilm-l6-v2".to_owned());
        let mut api = EmbeddingsApi::new(model);
        if let Some(prefixes) = read("CUPEL_EMBEDDINGS_PREFIXES") {
            let (question, passage) = prefixes.split_once('|').expect("two prefixes");
            api = api.prefixes(question, passage);
        }
        let key = read("CUPEL_EMBEDDINGS_KEY").unwrap_or_default();
        let config = OpenAIConfig::new().with_api_base(url).with_api_key(key);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let model = EmbeddingsClient::new(&config, api).http_client(client);
        let hour = Duration::from_secs(3_600);
        let mut judge = EmbeddingsJudge::new(model).remember(1 << 30).request_timeout(hour);
        if let Some(range) = read("CUPEL_EMBEDDINGS_RANGE") {
            let (floor, ceiling) = range.split_once(',').expect("a floor and a ceiling");
            judge = judge.range(floor.parse().unwrap(), ceiling.parse().unwrap());
        }
        let weight = read("CUPEL_BLEND_WEIGHT").map(|weight| weight.parse().unwrap());
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = Arc::new(runtime.worker_threads(2).enable_all().build().unwrap());
        Some(Self { judge, runtime, weight: weight.unwrap_or(EmbeddingsJudge::WEIGHT) })
    }

    /// The judge of a layer, which waits as long as it takes.
    pub fn waiting(&self) -> WaitingJudge {
        let hour = Duration::from_secs(3_600);
        self.judge.clone().waiting().weight(self.weight).deadline(hour)
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

impl Judge for EmbeddingsServer {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let answers = self.block_on(self.judge.judge(question, candidates)).unwrap();
        let hints = answers.into_iter().map(|it| Hint::new((it * STEPS).round() / STEPS)).collect();
        let (judge, question_of) = (self.clone(), question.clone());
        let further = move |candidate: &Candidate<'_>| {
            let answer = judge.block_on(judge.judge.judge(&question_of, &[*candidate]));
            Hint::new((answer.unwrap()[0] * STEPS).round() / STEPS)
        };
        Some(Verdict::new(hints, further).with_neighbours(question, candidates))
    }

    fn name(&self) -> &str {
        "embeddings"
    }
}
