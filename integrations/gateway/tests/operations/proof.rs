//! Repeats after a cut, shadow mode in the metrics, and receipts that another process verifies.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::metrics::{exchange, metrics_address, upstream};
use crate::process::{PATIENCE, Process};

fn read(id: &str, path: &str) -> Value {
    let arguments = json!({"path": path}).to_string();
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
        "function": {"name": "read_file", "arguments": arguments}}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A conversation whose newest turn reads a file that was read at its beginning.
fn conversation(model: &str) -> String {
    let mut messages = vec![
        json!({"role": "user", "content": "Fix the parser."}),
        read("a", "parser.rs"),
        result("a", "fn parse() {}"),
    ];
    for turn in 0..40 {
        messages.push(json!({"role": "assistant", "content": format!("Step {turn} is done.")}));
        let text = format!("Something else to do, number {turn}. ").repeat(6);
        messages.push(json!({"role": "user", "content": text}));
    }
    messages.push(read("b", "parser.rs"));
    messages.push(result("b", "fn parse() {}"));
    json!({"model": model, "messages": messages}).to_string()
}

fn start(more: &str, variables: &[(&str, &str)]) -> Process {
    let url = upstream();
    let config = format!(
        "{more}\n[[upstreams]]\nurl = \"{url}\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [[models]]\nname = \"gpt-4o\"\nwindow = 1000\n"
    );
    Process::start(&config, variables)
}

fn post(gateway: &Process, body: &str, headers: &str) -> String {
    let headers = format!("Content-Type: application/json\r\n{headers}");
    let answer = exchange(&gateway.address, "POST /v1/chat/completions", &headers, body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// Waits until the metrics have a line.
fn wait_for(address: &str, line: &str) {
    let started = Instant::now();
    loop {
        let text = exchange(address, "GET /metrics", "", "");
        if text.contains(line) {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "{line} is not in:\n{text}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_turn_that_repeats_what_was_cut_is_counted_beside_those_after_no_cut() {
    let gateway = start("", &[]);
    let metrics = metrics_address(&gateway);
    post(&gateway, &conversation("gpt-4o"), "");
    wait_for(&metrics, "cupel_turns_with_repeats_total{side=\"fitted\",cut=\"yes\"} 1\n");
    // The look before this one is followed by a pause, in which others are passed over.
    let uncut = "cupel_turns_with_repeats_total{side=\"fitted\",cut=\"no\"} ";
    let started = Instant::now();
    while !exchange(&metrics, "GET /metrics", "", "").contains(uncut) {
        assert!(started.elapsed() < PATIENCE);
        post(&gateway, &conversation("gpt-4o-mini"), "");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn shadow_mode_counts_what_would_have_been_sent() {
    let gateway = start("mode = \"shadow\"", &[]);
    let metrics = metrics_address(&gateway);
    let answer = post(&gateway, &conversation("gpt-4o"), "x-cupel-receipt: yes\r\n");
    assert!(answer.contains("x-cupel-receipt: none: this gateway writes none"), "{answer}");
    wait_for(&metrics, "cupel_planned_calls_total 1\n");
    wait_for(&metrics, "cupel_turns_with_repeats_total{side=\"unchanged\",cut=\"yes\"} 1\n");
    let text = exchange(&metrics, "GET /metrics", "", "");
    let number = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap().parse().unwrap()
    };
    assert!((1..1_000).contains(&number("cupel_planned_tokens_sent_total")), "{text}");
    assert!(number("cupel_planned_tokens_left_out_total") > 0, "{text}");
    assert!(text.contains("outcome=\"shadow\""), "{text}");
}

/// Verifies a receipt in a process of its own. Returns whether it succeeded, and all that it said.
fn verify(receipt: &Path, request: &Path, secret: Option<&str>) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cupel-gateway"));
    command.arg("audit").arg("--verify").arg(receipt).arg(request);
    if let Some(secret) = secret {
        command.args(["--secret-env", "RECEIPT_SECRET"]).env("RECEIPT_SECRET", secret);
    }
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn a_receipt_on_request_is_verified_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let [receipts, request, changed] =
        ["receipts", "request.json", "changed.json"].map(|name| folder.path().join(name));
    std::fs::create_dir(&receipts).unwrap();
    let body = conversation("gpt-4o");
    std::fs::write(&request, &body).unwrap();
    std::fs::write(&changed, body.replacen("number 7.", "number 8.", 1)).unwrap();
    for secret in [None, Some("receipt-5ecret")] {
        let key = if secret.is_some() { "secret = { env = \"RECEIPT_SECRET\" }" } else { "" };
        let config = format!("[receipts]\nfolder = {:?}\n{key}", receipts.to_str().unwrap());
        let gateway = start(&config, &[("RECEIPT_SECRET", "receipt-5ecret")]);
        let unasked = post(&gateway, &body, "");
        assert!(!unasked.contains("x-cupel-receipt"), "{unasked}");
        let answer = post(&gateway, &body, "x-cupel-receipt: yes\r\n");
        let (_, name) = answer.split_once("x-cupel-receipt: ").expect(&answer);
        let receipt = receipts.join(name.lines().next().unwrap());
        let started = Instant::now();
        while !receipt.exists() {
            assert!(started.elapsed() < PATIENCE, "{}", gateway.log());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let text = std::fs::read_to_string(&receipt).unwrap();
        assert!(!text.contains("Something else") && !text.contains("5ecret"), "{text}");
        for form in ["kept", "dropped"] {
            assert!(text.contains(&format!("\"form\":\"{form}\"")), "{form}: {text}");
        }
        let (is_good, said) = verify(&receipt, &request, secret);
        assert!(is_good && said.contains("reproduced"), "{said}");
        let (is_good, said) = verify(&receipt, &changed, secret);
        assert!(!is_good && said.contains("message 18 of the request has other bytes"), "{said}");
        std::fs::write(&receipt, text.replacen("\"kept\"", "\"sent\"", 1)).unwrap();
        assert!(!verify(&receipt, &request, secret).0);
        std::fs::write(&receipt, text.replacen("\"kept\":", "\"kept\": ", 1)).unwrap();
        let (is_good, said) = verify(&receipt, &request, secret);
        assert!(!is_good && said.contains("not as it was written"), "{said}");
        if secret.is_some() {
            let (is_good, said) = verify(&receipt, &request, None);
            assert!(!is_good && said.contains("the secret is needed"), "{said}");
        }
    }
    // One for each asked call, and nothing else.
    assert_eq!(std::fs::read_dir(&receipts).unwrap().count(), 2);
}

#[test]
fn a_folder_that_takes_no_receipts_is_found_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    let missing = folder.path().join("missing");
    let config = format!(
        "[receipts]\nfolder = {:?}\ncalls = \"some\"\n[[upstreams]]\nurl = \"http://127.0.0.1:1/v1\"\n",
        missing.to_str().unwrap()
    );
    let check = |config: &str| {
        std::fs::write(&file, config).unwrap();
        let output = Process::command(&file, &[]).arg("--check").output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (is_good, said) = check(&config);
    assert!(!is_good && said.contains("receipts.calls: got \"some\", expected one of"), "{said}");
    let (is_good, said) = check(&config.replace("\"some\"", "\"all\""));
    assert!(
        !is_good && said.contains("receipts.folder") && said.contains("no such folder"),
        "{said}"
    );
    std::fs::create_dir(&missing).unwrap();
    assert!(check(&config.replace("\"some\"", "\"all\"")).0);
    assert_eq!(std::fs::read_dir(&missing).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn an_audit_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("request.json");
    std::fs::write(&file, conversation("gpt-4o")).unwrap();
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let audit = |more: &[&str], out: Option<std::fs::File>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cupel-gateway"));
        command.arg("audit").arg(&file).args(more);
        if let Some(out) = out {
            command.stdout(out);
        }
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    for (more, out, expected) in [
        (&["--no-page"][..], Some(full()), "cannot write to the standard output: No space left"),
        (&["--page", "/dev/full"], None, "cannot write /dev/full: No space left"),
        (&["--no-page", "--json", "/dev/full"], None, "cannot write /dev/full: No space left"),
    ] {
        let (is_good, said) = audit(more, out);
        assert!(!is_good && said.contains(expected), "{said}");
    }
    assert!(audit(&["--no-page"], None).0);
    let mut completions = Command::new(env!("CARGO_BIN_EXE_cupel-gateway"));
    let output = completions.args(["--completions", "fish"]).stdout(full()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("cupel-gateway: cannot write to the standard output"), "{said}");
}
