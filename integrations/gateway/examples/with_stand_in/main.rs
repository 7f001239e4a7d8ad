//! A gateway in front of the strict stand-in that the tests use, for clients of other languages.
//!
//! `clients/run` starts it: it prints the gateway's base address and serves until its input ends.
//! The models `test-900` and `test-2000` have windows of as many tokens; what would not fit is refused by the stand-in.

use std::error::Error;
use std::io::{Read, Write};

use cupel::tokens::Encoding;
use cupel_dev_servers::local_server::answer::Reply;
use cupel_dev_servers::local_server::{Asked, LocalServer};
use cupel_gateway::{Config, CountMethod, Gateway, ModelRule, Upstream};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = LocalServer::start(|asked| std::future::ready(answer(&asked))).await;
    let mut config = Config::new(Upstream::new(server.url())?);
    let count = CountMethod::Exactly(Encoding::O200k);
    config.models = vec![
        ModelRule::new("test-900").window(900).count(count),
        // For Anthropic's clients: by estimate.
        ModelRule::new("test-2000").window(2_000),
    ];
    let gateway = Gateway::new(config)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}/v1", listener.local_addr()?)?;
    let input_ends = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    gateway.serve(listener, async { drop(input_ends.await) }).await?;
    let refused = server.arrived().into_iter().filter_map(|one| one.refused);
    // One that the clients want refused.
    let refused: Vec<String> = refused.filter(|why| why != "model: claude-none").collect();
    if refused.is_empty() { Ok(()) } else { Err(refused.join("\n").into()) }
}

/// Calls the tool as long as it is offered and its result is not there.
fn answer(asked: &Asked) -> Reply {
    let list = ["messages", "input"].iter().find_map(|field| asked.json.get(*field)?.as_array());
    let last = list.and_then(|list| list.last()).cloned().unwrap_or(Value::Null);
    let is_result = last.get("role").is_some_and(|role| role == "tool")
        || last.get("type").is_some_and(|kind| kind == "function_call_output")
        || last.to_string().contains("\"tool_result\"");
    let has_tools =
        asked.json.get("tools").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    if has_tools && !is_result {
        return Reply::Calls(vec![("look_up".to_owned(), json!({"order": 3}))]);
    }
    Reply::Text("It left on day three.".to_owned())
}
