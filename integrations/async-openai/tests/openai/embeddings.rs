//! Servers of embeddings over real sockets: what they are sent, and what their mistakes cost.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_openai::config::OpenAIConfig;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use cupel::gather::{EmbedAs, Embedder, EmbeddingsJudge, SourceOutcome};
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, Selection};
use cupel::relevance::Question;
use cupel::{ContextBudget, ContextItem, Policy};
use cupel_async_openai::{EmbeddingsApi, EmbeddingsClient};
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Answers,
    Stalls,
    Refuses,
    Html,
    TooFew,
    OtherDimensions,
    NoNumber,
}

/// Requests that the server got: bodies, and values of `authorization`.
type Arrived = Arc<Mutex<Vec<(Value, String)>>>;

async fn answer(
    State((does, arrived)): State<(Does, Arrived)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<String, StatusCode> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let key = headers.get("authorization").map_or("", |value| value.to_str().unwrap());
    let is_first = {
        let mut arrived = arrived.lock().unwrap();
        arrived.push((body.clone(), key.to_owned()));
        arrived.len() == 1
    };
    let texts: Vec<&str> =
        body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let close = |text: &&str| text.contains("automobile") || text.contains("car");
    let vector = |text: &&str| if close(text) { json!([1.0, 0.0]) } else { json!([0.0, 1.0]) };
    let entry =
        |(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)});
    let mut data: Vec<Value> = texts.iter().enumerate().map(entry).collect();
    data.reverse();
    match does {
        Does::Answers => {}
        Does::Stalls => std::future::pending().await,
        Does::Refuses => return Err(StatusCode::TOO_MANY_REQUESTS),
        Does::Html => return Ok("<html>secret</html>".to_owned()),
        Does::TooFew => drop(data.pop()),
        Does::OtherDimensions if is_first => {}
        Does::OtherDimensions => data[0]["embedding"] = json!([1.0, 2.0, 3.0]),
        Does::NoNumber => data[0]["embedding"] = json!([1.0, null]),
    }
    Ok(json!({"object": "list", "data": data, "model": "m"}).to_string())
}

async fn server(does: Does) -> (String, Arrived) {
    let arrived = Arrived::default();
    let app = axum::Router::new()
        .route("/v1/embeddings", post(answer))
        .with_state((does, Arc::clone(&arrived)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, arrived)
}

fn client(url: &str, api: EmbeddingsApi) -> EmbeddingsClient {
    let config = OpenAIConfig::new().with_api_base(url).with_api_key("sk-embeddings");
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    EmbeddingsClient::new(&config, api).http_client(http)
}

/// Sends small talk with one answer in other words than the question's.
async fn select(judge: Option<EmbeddingsJudge>) -> (Vec<String>, Selection) {
    let mut layer = CupelLayer::<ContextRequest<()>, _>::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(40).build().unwrap());
    if let Some(judge) = judge {
        layer = layer.waiting_judge(judge.waiting().deadline(Duration::from_millis(400)));
    }
    let mut request = ContextRequest::new(());
    for number in 0..20 {
        request = request.item(ContextItem::new(format!("small talk {number}"), 10).unwrap());
    }
    request = request.item(ContextItem::new("We have an automobile for hire.", 10).unwrap());
    let request = request.question("Where can I rent a car?");
    let selector = layer.build().unwrap().selector();
    let (request, selection) = selector.select(request).await.unwrap().into_parts();
    (request.items().map(|item| item.content().to_owned()).collect(), selection)
}

#[tokio::test]
async fn a_request_has_the_model_the_texts_with_their_prefix_and_the_key() {
    let (url, arrived) = server(Does::Answers).await;
    let api = EmbeddingsApi::new("e5").prefixes("query: ", "passage: ").dimensions(2);
    let client = client(&url, api);
    let vectors = client.embed(EmbedAs::Question, &["a car", "a tree"]).await.unwrap();
    assert_eq!(vectors, [[1.0, 0.0], [0.0, 1.0]], "in the order of the texts");
    client.embed(EmbedAs::Passage, &["an automobile"]).await.unwrap();
    let arrived = arrived.lock().unwrap();
    let input = json!(["query: a car", "query: a tree"]);
    assert_eq!(arrived[0].0, json!({"model": "e5", "input": input, "dimensions": 2}));
    assert_eq!(arrived[1].0["input"], json!(["passage: an automobile"]));
    assert_eq!(arrived[0].1, "Bearer sk-embeddings");
    assert_ne!(client.model(), "e5", "other prefixes and dimensions are other vectors");
}

#[tokio::test]
async fn a_server_finds_what_words_miss() {
    let (without, _) = select(None).await;
    assert!(!without.iter().any(|text| text.contains("automobile")), "{without:?}");
    let (url, arrived) = server(Does::Answers).await;
    let judge = EmbeddingsJudge::new(client(&url, EmbeddingsApi::new("m")));
    let (sent, selection) = select(Some(judge)).await;
    assert!(sent.iter().any(|text| text.contains("automobile")), "{sent:?}");
    let report = selection.gather.judge.unwrap();
    assert_eq!((report.outcome, report.requests), (SourceOutcome::Completed, 2));
    assert_eq!(arrived.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn whatever_a_server_does_wrong_no_call_fails_or_waits_longer_than_the_deadline() {
    let (without, _) = select(None).await;
    let cases = [
        (Does::Stalls, ""),
        (Does::Refuses, "answered 429"),
        (Does::Html, "not one of /v1/embeddings"),
        (Does::TooFew, "vectors, expected"),
        (Does::OtherDimensions, "numbers, expected"),
        (Does::NoNumber, "no number"),
    ];
    for (does, shown) in cases {
        let (url, _) = server(does).await;
        let judge = EmbeddingsJudge::new(client(&url, EmbeddingsApi::new("m")));
        let begun = Instant::now();
        let (sent, selection) = select(Some(judge)).await;
        // Generous, because machines are busy: a call that waited for the server would never end.
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert_eq!(sent, without);
        let report = selection.gather.judge.unwrap();
        assert_eq!(report.judged, 0);
        let outcome = report.outcome.to_string();
        assert!(report.outcome.is_failure() && outcome.contains(shown), "{outcome}");
        assert!(!outcome.contains("secret") && !outcome.contains("automobile"), "{outcome}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_costs_its_part_and_no_more() {
    let (without, _) = select(None).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let judge = EmbeddingsJudge::new(client(&url, EmbeddingsApi::new("m")));
    let (sent, selection) = select(Some(judge)).await;
    assert_eq!(sent, without);
    let outcome = selection.gather.judge.unwrap().outcome;
    assert!(outcome.is_failure(), "{outcome}");
    assert!(!outcome.to_string().contains(&url), "{outcome}");
}

#[cfg(feature = "config")]
#[tokio::test]
async fn a_policy_file_names_the_server() {
    use cupel::PolicySpec;
    use cupel::policy::spec::ScorerRegistry;
    use cupel::scorer::SystemTimeProvider;

    let (url, arrived) = server(Does::Answers).await;
    let registry = cupel_async_openai::register(ScorerRegistry::new(SystemTimeProvider));
    let text = json!({"scorer": "reflexive", "slicer": "best_first", "placer": "age",
        "relevance": {"type": "blend", "words": "lexical", "weight": 0.5,
            "meaning": {"type": "embeddings", "url": url, "model": "m", "deadline_seconds": 5}}});
    let policy =
        PolicySpec::from_json_str(&text.to_string()).unwrap().to_policy(&registry).unwrap();
    let layer = CupelLayer::<ContextRequest<()>, _>::builder()
        .adapter(ContextRequestAdapter)
        .policy(policy)
        .budget(ContextBudget::builder(10).build().unwrap());
    let request = ContextRequest::new(())
        .item(ContextItem::new("Nice weather.", 10).unwrap())
        .item(ContextItem::new("We have an automobile.", 10).unwrap())
        .question(Question::new("Where can I rent a car?"));
    let selector = layer.build().unwrap().selector();
    let (request, selection) = selector.select(request).await.unwrap().into_parts();
    assert_eq!(request.items().next().unwrap().content(), "We have an automobile.");
    assert_eq!(&*selection.gather.judge.unwrap().name, "m");
    assert_eq!(arrived.lock().unwrap().len(), 2);

    let keyed =
        text.to_string().replace(r#""model":"m""#, r#""model":"m","key":{"env":"NOT_SET_AT_ALL"}"#);
    let error = PolicySpec::from_json_str(&keyed).unwrap().to_policy(&registry).unwrap_err();
    assert_eq!(
        error.to_string(),
        "relevance.meaning: key: the variable NOT_SET_AT_ALL is not set, expected a key"
    );
}
