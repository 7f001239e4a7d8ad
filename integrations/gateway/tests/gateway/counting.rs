//! Tokens of requests as the rules for models say, in all APIs.

use cupel::tokens::Encoding;
use cupel_dev_servers::local_server::LocalServer;
use cupel_gateway::{Config, CountMethod, ModelRule, ToolCount, Upstream};
use serde_json::{Value, json};

use crate::support::{Running, http, ok_server};

/// Tokens that the gateway counted, or why it did not.
async fn counted(
    rule: ModelRule,
    server: &LocalServer,
    path: &str,
    body: &Value,
) -> Result<i64, String> {
    let mut config = Config::new(Upstream::new(server.url()).unwrap());
    config.models = vec![rule];
    let gateway = Running::start(config).await;
    let call = http().post(gateway.url(path)).header("content-type", "application/json");
    let answer = call.body(body.to_string()).send().await.unwrap();
    let header =
        |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    match header("x-cupel-tokens") {
        Some(tokens) => Ok(tokens.parse().unwrap()),
        None => Err(header("x-cupel-passed").unwrap_or_default()),
    }
}

fn rule() -> ModelRule {
    ModelRule::new("*").window(8_192)
}

const PATHS: [&str; 3] = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];

/// The same words in the form of an API.
fn body(path: &str, model: &str, text: &str) -> Value {
    let messages = json!([{"role": "user", "content": text}]);
    match path {
        "/v1/responses" => json!({"model": model, "input": text}),
        _ => json!({"model": model, "max_tokens": 64, "messages": messages}),
    }
}

/// A tokenizer that knows words of one letter, and nothing else.
fn letters() -> String {
    let vocab: serde_json::Map<String, Value> =
        ('a'..='z').enumerate().map(|(id, letter)| (letter.to_string(), json!(id))).collect();
    let mut vocab = vocab;
    vocab.insert("?".to_owned(), json!(26));
    json!({"version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null,
        "decoder": null, "truncation": null, "padding": null,
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "?"}})
    .to_string()
}

#[tokio::test]
async fn a_tokenizer_and_its_template_count_all_apis_alike() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), letters()).unwrap();
    let template = "{% for m in messages %}x {{ m.content }} y {% endfor %}{% if add_generation_prompt %}z z z{% endif %}";
    std::fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
    let server = ok_server().await;
    let text = "a b c d e f g h";
    let mut all = Vec::new();
    for path in PATHS {
        let rule = rule().tokenizer(folder.path());
        all.push(counted(rule, &server, path, &body(path, "m", text)).await.unwrap());
    }
    // Eight words, the marks of the message, the start of the answer; a part of a message may cost one more.
    assert!(all.iter().all(|tokens| (13..=14).contains(tokens)), "{all:?}");
}

#[tokio::test]
async fn an_encoding_acts_in_every_api() {
    let server = ok_server().await;
    let text = "word ".repeat(1_000);
    for path in PATHS {
        for encoding in [Encoding::O200k, Encoding::Cl100k] {
            let rule = rule().count(CountMethod::Exactly(encoding));
            let tokens =
                counted(rule, &server, path, &body(path, "claude-x", &text)).await.unwrap();
            assert!((1_000..1_020).contains(&tokens), "{path}: {tokens}");
        }
        // Not Claude's factor: an estimate for open models.
        let rule = rule().count(CountMethod::Estimate);
        let tokens = counted(rule, &server, path, &body(path, "local", &text)).await.unwrap();
        assert!((1_000..1_150).contains(&tokens), "{path}: {tokens}");
    }
}

#[tokio::test]
async fn digits_count_as_the_family_of_the_model_or_the_rule_says() {
    let server = ok_server().await;
    let digits = "7".repeat(300);
    let (llama, qwen) = ("llama3.1:8b", "Qwen/Qwen2.5-7B-Instruct");
    let path = PATHS[0];
    for (rule, model, at_least, at_most) in [
        (rule(), llama, 100, 200),
        (rule(), qwen, 300, 380),
        (rule(), "mistral-small", 300, 420),
        (rule().single_digits(true), llama, 300, 380),
        (rule().single_digits(false), qwen, 100, 200),
    ] {
        let tokens = counted(rule, &server, path, &body(path, model, &digits)).await.unwrap();
        assert!((at_least..at_most).contains(&tokens), "{model}: {tokens}");
    }
}

#[tokio::test]
async fn tools_and_messages_cost_what_the_rule_says() {
    let server = ok_server().await;
    let parameters: Value =
        (0..40).map(|index| (format!("field{index}"), json!({"type": "string"}))).collect();
    let function = json!({"name": "f", "parameters": {"type": "object", "properties": parameters}});
    let mut request = body(PATHS[0], "m", "Hello");
    request["tools"] = json!([{"type": "function", "function": function}]);
    let base = || rule().count(CountMethod::Exactly(Encoding::Cl100k));
    let with = async |rule| counted(rule, &server, PATHS[0], &request).await.unwrap();
    let openai = with(base()).await;
    assert_eq!(with(base().tools(ToolCount::OpenAi)).await, openai);
    let json = with(base().tools(ToolCount::Json)).await;
    assert!(json > openai + 100, "{json} {openai}");
    let more = with(base().tools(ToolCount::Json).tokens_per_message(16)).await;
    assert_eq!(more, json + 10);
}

#[tokio::test]
async fn an_answer_without_a_limit_that_counts_leaves_a_quarter() {
    let server = ok_server().await;
    let text = "word ".repeat(300);
    for limit in [json!(-1), json!(null), json!(100_000), json!(8_192)] {
        let mut request = body(PATHS[0], "gpt-4", &text);
        request["max_tokens"] = limit.clone();
        let counted = counted(rule(), &server, PATHS[0], &request).await;
        assert!(counted.is_ok(), "{limit}: {counted:?}");
    }
}
