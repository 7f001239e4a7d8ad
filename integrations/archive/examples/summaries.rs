//! A long conversation with summaries in the place of what left the window, and a process that is killed in
//! between: `cargo run -p tower-cupel-archive --example summaries`. No key is needed.
//!
//! The model that summarises is a script. Each line shows one call: the tokens that are sent, the messages
//! that are sent as they are, and the messages that a summary stands for.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cupel::conversation::plan::CellContent;
use cupel::gather::{CompactorPrice, SUMMARY_PROMPT, SummaryScope};
use cupel::layer::{Compaction, CupelLayer, Selection, ServiceCompactor};
use cupel::{ContextBudget, Policy};
use cupel_archive::Archive;
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use serde_json::json;
use tower::{BoxError, service_fn};

/// Exchanges of the conversation, and the call after which the first process is killed.
const CALLS: usize = 36;
const KILLED_AFTER: usize = 24;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments.as_slice() {
        ["calls", database, from, to] => {
            runtime.block_on(calls(Some(Path::new(database)), from.parse()?..=to.parse()?))
        }
        _ => {
            println!("Without summaries:");
            runtime.block_on(calls(None, 20..=CALLS))?;
            let folder = tempfile::tempdir()?;
            let database = folder.path().join("archive.db");
            println!("\nWith summaries, in a process that is killed after call {KILLED_AFTER}:");
            process(&database, 1, CALLS, Some(KILLED_AFTER))?;
            println!("\nA second process goes on:");
            process(&database, KILLED_AFTER + 1, CALLS, None)
        }
    }
}

/// Makes calls in a process of its own, and kills it behind one of them.
fn process(
    database: &Path,
    from: usize,
    to: usize,
    killed_after: Option<usize>,
) -> Result<(), Box<dyn Error>> {
    let mut process = Command::new(std::env::current_exe()?)
        .args(["calls".as_ref(), database.as_os_str()])
        .args([from.to_string(), to.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = process.stdout.take().ok_or("no output")?;
    for (call, line) in (from..).zip(BufReader::new(lines).lines()) {
        let line = line?;
        if call >= 20 {
            println!("{line}");
        }
        if Some(call) == killed_after {
            process.kill()?;
            break;
        }
    }
    process.wait()?;
    Ok(())
}

/// Makes the calls of a conversation that grows by one exchange each.
async fn calls(
    database: Option<&Path>,
    calls: std::ops::RangeInclusive<usize>,
) -> Result<(), Box<dyn Error>> {
    let mut builder = CupelLayer::<JsonBody, _>::builder()
        .adapter(OpenAiAdapter::new())
        .policy(Policy::chat())
        .on_selection(|_: &Selection| {})
        .budget(ContextBudget::builder(3_000).output_reserve(500).build()?);
    if let Some(database) = database {
        let archive = Archive::open(&format!("sqlite://{}", database.display())).await?;
        let model = service_fn(|prompt: String| async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok::<_, BoxError>(by_rule(&prompt))
        });
        let write = |cell: &CellContent, limit| Ok(cell.prompt(SUMMARY_PROMPT, limit));
        let compactor = ServiceCompactor::new("by rule", model, write, Ok)
            .price(CompactorPrice { input: 0.1, output: 0.4 });
        let compaction = Compaction::new(compactor, archive.summaries(), |_: &JsonBody| {
            Some(SummaryScope::new("acme", "support"))
        });
        builder = builder
            .compaction(compaction.share(0.06).limit(60).lookup_deadline(Duration::from_secs(1)));
    }
    let selector = builder.build()?.selector();
    for call in calls {
        let body = JsonBody::parse(Endpoint::Chat, conversation(call).to_string());
        let body = body.ok_or("not a chat")?;
        let (_, selection) = selector.select(body).await?.into_parts();
        let plan = selection.plan.as_ref().ok_or("no plan")?;
        let kept = plan.parts().filter(|(_, part)| part.is_sent()).count();
        let summarised = selection.summaries.as_ref().map(|report| {
            let places = report.placed.iter().map(|it| format!("{}-{}", it.first, it.last));
            let places = places.collect::<Vec<_>>().join(", ");
            format!(", summaries of {places:12} for {:.0} tokens", report.ledger.spent)
        });
        println!(
            "call {call}: {} tokens, {kept} messages of {}{}",
            selection.sent.tokens,
            2 * call - 1,
            summarised.unwrap_or_default(),
        );
        // The user reads the answer.
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    Ok(())
}

/// So many questions about tickets, and the answers to all but the last.
fn conversation(exchanges: usize) -> serde_json::Value {
    let mut messages = Vec::new();
    for ticket in 1..=exchanges {
        let story =
            "The customer has called twice and would like to hear from us today. ".repeat(5);
        messages.push(
            json!({"role": "user", "content": format!("What about ticket T-{ticket}? {story}")}),
        );
        let work =
            "I have read the log, compared it with the order and asked the carrier. ".repeat(5);
        messages.push(
            json!({"role": "assistant", "content": format!("{work} T-{ticket} is paid back.")}),
        );
    }
    let _ = messages.pop();
    json!({"model": "gpt-4o", "messages": messages})
}

/// Stands for a model: it lists the tickets.
fn by_rule(prompt: &str) -> String {
    let words = prompt.split(|c: char| !c.is_alphanumeric() && c != '-');
    let mut tickets: Vec<&str> = words.filter(|word| word.starts_with("T-")).collect();
    tickets.dedup();
    format!("The tickets {} were paid back.", tickets.join(", "))
}
