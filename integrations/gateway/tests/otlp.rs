//! The binary's telemetry, as a collector receives it.

#![cfg(all(feature = "otlp", unix))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

#[path = "gateway/support.rs"]
#[allow(dead_code)]
mod support;

use std::io::{BufRead, BufReader, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};

use cupel_dev_servers::collector::Collector;
use serde_json::json;
use support::{http, ok_server};

/// A binary under way, and the address it listens on.
struct Running {
    process: Child,
    address: String,
}

fn command(upstream: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cupel-gateway"));
    command.args(["--listen", "127.0.0.1:0", "--no-page", "--at-most", "400"]);
    command.args(["--upstream", upstream]);
    // What the machine's own environment says is not for this test.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command.envs(variables.iter().copied());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Running {
    fn start(upstream: &str, variables: &[(&str, &str)]) -> Self {
        let mut process = command(upstream, variables).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect(&line).to_owned();
        Self { process, address }
    }

    async fn ask(&self, text: &str) {
        let said =
            |n: usize| json!({"role": "user", "content": format!("{n} {}", text.repeat(20))});
        let messages: Vec<_> = (0..20).map(said).collect();
        let body = json!({"model": "gpt-4o", "max_completion_tokens": 50, "messages": messages});
        let sent = http()
            .post(format!("{}/chat/completions", self.address))
            .header("content-type", "application/json")
            .header("authorization", "Bearer sk-secret")
            .body(body.to_string());
        let answer = sent.send().await.unwrap();
        assert!(answer.headers().contains_key("x-cupel-tokens"), "{answer:?}");
        assert_eq!(answer.status(), 200);
        answer.text().await.unwrap();
    }

    /// Tells it to stop, as a service manager does, and waits until it has: what it said.
    fn stop(mut self) -> (ExitStatus, String) {
        let told = Command::new("kill").arg("-TERM").arg(self.process.id().to_string()).status();
        assert!(told.unwrap().success());
        let mut said = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.process.wait().unwrap(), said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_and_metrics_arrive_without_any_content() {
    let (collector, server) = (Collector::start(), ok_server().await);
    let url = collector.url();
    let gateway = Running::start(server.url(), &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    gateway.ask("confidential ").await;
    let (status, said) = gateway.stop();
    assert!(status.success(), "{status} {said}");
    assert!(!said.contains("telemetry"), "{said}");

    let traces = collector.traces();
    let resources: Vec<_> = traces.iter().flat_map(|sent| &sent.resource_spans).collect();
    let service = format!("{:?}", resources[0].resource);
    assert!(service.contains("cupel-gateway"), "{service}");
    let spans = resources.iter().flat_map(|r| &r.scope_spans).flat_map(|scope| &scope.spans);
    let names: Vec<&str> = spans.map(|span| span.name.as_str()).collect();
    assert!(names.contains(&"cupel.selection") && names.contains(&"cupel.pipeline"), "{names:?}");
    let spans = || resources.iter().flat_map(|r| &r.scope_spans).flat_map(|scope| &scope.spans);
    let named = |name: &str| spans().find(|span| span.name == name).expect(name);
    let (call, selection) = (named("chat gpt-4o"), named("cupel.selection"));
    assert_eq!(selection.parent_span_id, call.span_id);
    let attributes = format!("{:?}", call.attributes);
    for name in [
        "gen_ai.operation.name",
        "gen_ai.request.model",
        "gen_ai.conversation.id",
        "gen_ai.conversation.compacted",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "cupel.tokens.sent",
        "http.response.status_code",
    ] {
        assert!(attributes.contains(name), "{name}: {attributes}");
    }
    assert!(call.end_time_unix_nano >= selection.end_time_unix_nano);
    let metrics = collector.metrics();
    let scopes = metrics.iter().flat_map(|m| &m.resource_metrics).flat_map(|r| &r.scope_metrics);
    let names: Vec<&str> =
        scopes.flat_map(|scope| &scope.metrics).map(|metric| metric.name.as_str()).collect();
    assert!(names.contains(&"cupel.selection.tokens"), "{names:?}");
    for body in collector.bodies() {
        let text = String::from_utf8_lossy(&body);
        assert!(!text.contains("confidential") && !text.contains("sk-secret"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_unless_it_is_asked_for() {
    let (collector, server) = (Collector::start(), ok_server().await);
    let url = collector.url();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str());
    for variables in
        [&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")][..], &[endpoint, ("OTEL_SDK_DISABLED", "true")]]
    {
        let gateway = Running::start(server.url(), variables);
        gateway.ask("hello ").await;
        assert!(gateway.stop().0.success());
        assert!(collector.bodies().is_empty(), "{variables:?}");
    }
    // One of the two alone.
    let gateway = Running::start(server.url(), &[endpoint, ("OTEL_METRICS_EXPORTER", "none")]);
    gateway.ask("hello ").await;
    assert!(gateway.stop().0.success());
    assert!(!collector.traces().is_empty() && collector.metrics().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_costs_a_line_in_the_log_and_nothing_else() {
    let server = ok_server().await;
    // Nobody listens on a port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let away = format!("http://{free}");
    let gateway = Running::start(server.url(), &[("OTEL_EXPORTER_OTLP_ENDPOINT", &away)]);
    gateway.ask("hello ").await;
    let (status, said) = gateway.stop();
    assert!(status.success() && said.contains("telemetry was not sent"), "{status} {said}");
}

#[test]
fn what_cannot_be_used_is_said_before_anything_is_served() {
    for (name, value, expected) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "expected an address"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "expected \"http/protobuf\""),
        ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json", "expected \"http/protobuf\""),
    ] {
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"), (name, value)];
        let done = command("http://127.0.0.1:1/v1", &variables).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success(), "{name}");
        assert!(said.contains(name) && said.contains(value) && said.contains(expected), "{said}");
    }
}
