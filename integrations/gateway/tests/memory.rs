//! The archive as memory: what a tenant said in another conversation, after a restart.

#![cfg(all(feature = "archive", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "gateway/raw.rs"]
#[allow(dead_code)]
mod raw;
#[path = "gateway/support.rs"]
#[allow(dead_code)]
mod support;

use std::time::Duration;

use cupel_dev_servers::hanging;
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;
use cupel_dev_servers::postgres;
use cupel_gateway::{Config, Memory, Secret};
use serde_json::{Value, json};
use support::{Running, config, http, ok_server};

fn remembering(server: &LocalServer, archive: &str) -> Config {
    let mut config = config(server.url());
    let mut memory = Memory::new(Secret::new(archive));
    memory.deadline = Duration::from_secs(10);
    config.memory = Some(memory);
    config.tenant_secret = Some(Secret::new("tenants"));
    config
}

/// Sends a request through the gateway, and returns what the upstream got.
async fn ask(
    server: &LocalServer,
    gateway: &Running,
    key: &str,
    conversation: &str,
    text: &str,
) -> String {
    let body = json!({"model": "test-900", "messages": [{"role": "user", "content": text}]});
    let sent = http()
        .post(gateway.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {key}"))
        .header("x-cupel-conversation", conversation)
        .body(body.to_string());
    assert_eq!(sent.send().await.unwrap().status(), 200);
    String::from_utf8(server.take_arrived().remove(0).body.to_vec()).unwrap()
}

async fn what_was_said_comes_back_for_the_same_tenant_only(archive: &str) {
    let server = ok_server().await;
    let gateway = Running::start(remembering(&server, archive)).await;
    let fact = "The gate code of the warehouse in Lyon is 4711.";
    ask(&server, &gateway, "sk-1", "a", fact).await;
    gateway.stop().await.unwrap();

    let gateway = Running::start(remembering(&server, archive)).await;
    let question = "What is the gate code of the warehouse?";
    assert!(ask(&server, &gateway, "sk-1", "b", question).await.contains("4711"));
    assert!(!ask(&server, &gateway, "sk-2", "b", question).await.contains("4711"));
    gateway.stop().await.unwrap();
}

#[tokio::test]
async fn what_was_said_in_another_conversation_comes_back_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let archive = format!("sqlite://{}/archive.db", folder.path().display());
    what_was_said_comes_back_for_the_same_tenant_only(&archive).await;
}

#[tokio::test]
async fn what_was_said_in_another_conversation_comes_back_from_a_server() {
    let Some(server) = postgres::Server::start() else { return };
    let archive = server.address(&server.database());
    what_was_said_comes_back_for_the_same_tenant_only(&archive).await;
}

/// Two gateways behind a balancer: what one was told, the other one knows.
#[tokio::test]
async fn gateways_share_the_memory_of_a_server() {
    let Some(database) = postgres::Server::start() else { return };
    let archive = database.address(&database.database());
    let server = ok_server().await;
    let first = Running::start(remembering(&server, &archive)).await;
    let second = Running::start(remembering(&server, &archive)).await;
    ask(&server, &first, "sk-1", "a", "The gate code of the warehouse in Lyon is 4711.").await;
    // Written behind the answer's back; the gateway waits for it when it stops.
    first.stop().await.unwrap();
    let question = "What is the gate code of the warehouse?";
    assert!(ask(&server, &second, "sk-1", "b", question).await.contains("4711"));
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_gateway_stops_in_time_while_its_archive_hangs() {
    let Some(database) = postgres::Server::start() else { return };
    let database = hanging::HangingServer::in_front_of(&database).await;
    let server = ok_server().await;
    let mut config = remembering(&server, &database.address);
    config.memory.as_mut().unwrap().deadline = Duration::from_millis(50);
    config.limits.shutdown_time = Duration::from_millis(200);
    let gateway = Running::start(config).await;
    ask(&server, &gateway, "sk-1", "a", "Hello.").await; // it is open
    database.hang();
    ask(&server, &gateway, "sk-1", "a", "The gate code of the warehouse in Lyon is 4711.").await;
    // The archive itself gives up after minutes.
    tokio::time::timeout(Duration::from_secs(20), gateway.stop()).await.unwrap().unwrap();
}

/// Recalls texts that only the model has said, in every API, whole and streamed.
#[tokio::test]
async fn an_answer_is_remembered_without_a_request_that_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let archive = format!("sqlite://{}/archive.db", folder.path().display());
    let server = LocalServer::start(|asked| async move {
        let said = "The gate code of the warehouse in Lyon is 4711.";
        if asked.path != "/responses" || asked.json["stream"] != true {
            return Reply::Text(said.to_owned());
        }
        let event = json!({"type": "response.completed", "response": {"status": "completed",
            "output": [{"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": said}]}]}});
        let event = format!("event: response.completed\ndata: {event}\n\n");
        Reply::Events(Box::pin(futures::stream::iter([event.into()])))
    })
    .await;
    let calls: Vec<(String, &str, Value)> = [false, true]
        .into_iter()
        .flat_map(|stream| {
            let messages = json!([{"role": "user", "content": "Tell me something."}]);
            [
                ("chat/completions", json!({"stream": stream, "messages": messages})),
                ("responses", json!({"stream": stream, "input": messages})),
                ("messages", json!({"stream": stream, "max_tokens": 50, "messages": messages})),
            ]
            .map(|(path, body)| (format!("sk-{path}-{stream}"), path, body))
        })
        .collect();
    let gateway = Running::start(remembering(&server, &archive)).await;
    for (key, path, body) in &calls {
        let mut body = body.clone();
        body["model"] = json!("test-2600");
        let sent = http()
            .post(gateway.url(&format!("/v1/{path}")))
            .header("content-type", "application/json")
            .header("anthropic-version", "2023-06-01")
            .header("authorization", format!("Bearer {key}"))
            .header("x-cupel-conversation", "a")
            .body(body.to_string());
        let answer = sent.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        assert!(answer.text().await.unwrap().contains("4711") || key.ends_with("true"), "{path}");
    }
    gateway.stop().await.unwrap();
    server.take_arrived();
    let gateway = Running::start(remembering(&server, &archive)).await;
    for (key, ..) in &calls {
        let question = "What is the gate code of the warehouse?";
        let sent = ask(&server, &gateway, key, "b", question).await;
        assert!(sent.contains("4711"), "{key}: {sent}");
    }
    gateway.stop().await.unwrap();
}

/// Everybody who shows no key would be one tenant.
#[tokio::test]
async fn who_shows_no_key_is_remembered_only_if_the_configuration_says_so() {
    for anonymous in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let archive = format!("sqlite://{}/archive.db", folder.path().display());
        let server = ok_server().await;
        let start = async || {
            let mut config = remembering(&server, &archive);
            config.anonymous_memory = anonymous;
            Running::start(config).await
        };
        let ask = async |gateway: &Running, conversation: &str, text: &str| {
            let body =
                json!({"model": "test-900", "messages": [{"role": "user", "content": text}]});
            let sent = http()
                .post(gateway.url("/v1/chat/completions"))
                .header("content-type", "application/json")
                .header("x-cupel-conversation", conversation)
                .body(body.to_string());
            assert_eq!(sent.send().await.unwrap().status(), 200);
            String::from_utf8(server.take_arrived().remove(0).body.to_vec()).unwrap()
        };
        let gateway = start().await;
        ask(&gateway, "a", "The gate code of the warehouse in Lyon is 4711.").await;
        gateway.stop().await.unwrap();
        let gateway = start().await;
        let sent = ask(&gateway, "b", "What is the gate code of the warehouse?").await;
        assert_eq!(sent.contains("4711"), anonymous, "{sent}");
        gateway.stop().await.unwrap();
    }
}

/// State of the archive in the answer of readiness.
async fn archive_status(gateway: &Running) -> Value {
    let answer = http().get(gateway.url("/health/readiness")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let status: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    status["archive"].clone()
}

#[tokio::test]
async fn a_gateway_starts_without_its_archive_and_opens_it_when_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let later = folder.path().join("later");
    let archive = format!("sqlite://{}/archive.db", later.display());
    let server = ok_server().await;
    let mut config = remembering(&server, &archive);
    let gateway = Running::start(config.clone()).await;
    ask(&server, &gateway, "sk-1", "a", "Nobody keeps this.").await;
    assert_eq!(archive_status(&gateway).await["status"], "not open");
    std::fs::create_dir(&later).unwrap();
    while archive_status(&gateway).await["status"] != "open" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ask(&server, &gateway, "sk-1", "a", "The gate code of the warehouse in Lyon is 4711.").await;
    gateway.stop().await.unwrap();
    let gateway = Running::start(config.clone()).await;
    let question = "What is the gate code of the warehouse?";
    assert!(ask(&server, &gateway, "sk-1", "b", question).await.contains("4711"));
    gateway.stop().await.unwrap();

    let mut memory = Memory::new(Secret::new(format!("sqlite://{}/no/a.db", later.display())));
    memory.required = true;
    config.memory = Some(memory);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = cupel_gateway::Gateway::new(config).unwrap();
    let error = gateway.serve(listener, std::future::pending()).await.unwrap_err().to_string();
    assert!(error.starts_with("the archive cannot be opened: "), "{error}");
}

/// A database that takes connections and answers nothing any more.
#[tokio::test]
async fn a_database_that_hangs_is_counted_and_holds_up_no_end() {
    let Some(database) = postgres::Server::start() else { return };
    let address = database.tcp_address(&database.database(), postgres::PASSWORD);
    let (rest, port) = address.rsplit_once(':').unwrap();
    let (port, name) = port.split_once('/').unwrap();
    let (freeze, frozen) = tokio::sync::watch::channel(false);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let between = format!("{rest}:{}/{name}", listener.local_addr().unwrap().port());
    let behind = format!("127.0.0.1:{port}");
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let (mut frozen, behind) = (frozen.clone(), behind.clone());
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(behind).await.unwrap();
                tokio::select! {
                    biased;
                    () = async { drop(frozen.wait_for(|frozen| *frozen).await) } => std::future::pending().await,
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                }
            });
        }
    });
    let server = ok_server().await;
    let mut config = remembering(&server, &between);
    config.limits.shutdown_time = Duration::from_secs(1);
    if let Some(memory) = &mut config.memory {
        memory.deadline = Duration::from_millis(100);
    }
    let gateway = Running::start(config).await;
    assert_eq!(archive_status(&gateway).await, json!({"status": "open", "failed_recalls": 0}));
    freeze.send(true).unwrap();
    for conversation in ["a", "b"] {
        ask(&server, &gateway, "sk-1", conversation, "Where is the key?").await;
    }
    assert_eq!(archive_status(&gateway).await["failed_recalls"], 2);
    tokio::time::timeout(support::PATIENCE, gateway.stop()).await.unwrap().unwrap();
}

/// `--check` reports an archive that cannot be opened.
#[test]
fn an_archive_that_cannot_be_opened_is_found_by_a_check() {
    let folder = tempfile::tempdir().unwrap();
    for (sub, required, is_fine, says) in [
        ("", false, true, "the configuration is valid"),
        ("none/", false, true, "warning: the archive cannot be opened: "),
        ("none/", true, false, "the archive cannot be opened: "),
    ] {
        let file = folder.path().join("gateway.toml");
        let archive = folder.path().join(format!("{sub}archive.db"));
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        let text = format!(
            "tenant_secret = {{ file = {:?} }}\n[[upstreams]]\nurl = \"http://127.0.0.1:1/v1\"\n\
             [archive]\nurl = \"sqlite://{}\"\nrequired = {required}\n",
            folder.path().join("secret"),
            archive.display(),
        );
        std::fs::write(&file, text).unwrap();
        let checked = std::process::Command::new(env!("CARGO_BIN_EXE_cupel-gateway"))
            .args(["--check", "--config"])
            .arg(&file)
            .output()
            .unwrap();
        let said = String::from_utf8([checked.stdout, checked.stderr].concat()).unwrap();
        assert_eq!(checked.status.success(), is_fine, "{said}");
        assert!(said.contains(says), "{said}");
        assert!(!archive.exists());
    }
}

#[test]
fn an_archive_needs_a_secret_that_outlives_the_process() {
    let mut config = Config::new(cupel_gateway::Upstream::new("http://127.0.0.1:1").unwrap());
    config.memory = Some(Memory::new(Secret::new("sqlite::memory:")));
    assert!(config.problems()[0].starts_with("tenant_secret: missing"));
}

/// A server of embeddings that knows that an automobile is a car. Shows the texts that it is sent.
async fn embeddings() -> (raw::RawUpstream, tokio::sync::mpsc::UnboundedReceiver<Vec<String>>) {
    use tokio::io::AsyncWriteExt as _;
    let (arrived, arrivals) = tokio::sync::mpsc::unbounded_channel();
    let server = raw::RawUpstream::start(move |mut stream| {
        let arrived = arrived.clone();
        async move {
            let (_, body) = raw::read_request(&mut stream).await;
            let asked: Value = serde_json::from_slice(&body).unwrap();
            let texts = asked["input"].as_array().unwrap().iter();
            let texts: Vec<String> = texts.map(|text| text.as_str().unwrap().to_owned()).collect();
            let is_car = |text: &str| text.contains("automobile") || text.contains("car ");
            let vector =
                |text: &String| if is_car(text) { json!([1.0, 0.0]) } else { json!([0.0, 1.0]) };
            let data = texts.iter().map(|text| json!({"embedding": vector(text)}));
            let answer = json!({"data": data.collect::<Vec<_>>()}).to_string();
            let _ = arrived.send(texts);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            let _ = stream.write_all((head + &answer).as_bytes()).await;
        }
    })
    .await;
    (server, arrivals)
}

#[tokio::test]
async fn what_was_said_in_other_words_comes_back_with_an_embedding_model() {
    let folder = tempfile::tempdir().unwrap();
    let archive = format!("sqlite://{}/archive.db", folder.path().display());
    let (model, mut arrivals) = embeddings().await;
    let server = ok_server().await;
    let question = "Is there a car somewhere?";
    // Archived without a model: it is embedded after the restart.
    let gateway = Running::start(remembering(&server, &archive)).await;
    ask(&server, &gateway, "sk-1", "a", "We keep an automobile in the barn.").await;
    assert!(!ask(&server, &gateway, "sk-1", "b", question).await.contains("barn"));
    gateway.stop().await.unwrap();
    let with_model = || {
        let mut config = remembering(&server, &archive);
        let mut meaning = cupel_gateway::Meaning::new(model.url.as_str(), "minilm");
        meaning.deadline = Duration::from_secs(5);
        config.meaning = Some(meaning);
        config
    };
    let gateway = Running::start(with_model()).await;
    while !arrivals.recv().await.unwrap().iter().any(|text| text.contains("automobile")) {}
    // The vector is kept a moment after it has arrived.
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    let mut conversation = 0;
    loop {
        conversation += 1;
        let sent = ask(&server, &gateway, "sk-1", &format!("c{conversation}"), question).await;
        if sent.contains("barn") {
            break;
        }
        assert!(tokio::time::Instant::now() < until, "{sent}");
    }
    assert!(!ask(&server, &gateway, "sk-2", "c", question).await.contains("barn"));
    gateway.stop().await.unwrap();
}
