//! Gateways for the tests.

use std::net::SocketAddr;
use std::time::Duration;

use cupel::tokens::Encoding;
use cupel_gateway::{Config, CountMethod, Gateway, ModelRule, Upstream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;

/// Longer than anything takes that is going to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A gateway that runs until it is dropped or stopped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start(config: Config) -> Self {
        let gateway = Gateway::new(config).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            gateway.serve(listener, stopped).await.unwrap();
        });
        Self { address, stop: Some(stop), task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Tells it to stop; the task ends when it has.
    pub(crate) fn stop(mut self) -> JoinHandle<()> {
        drop(self.stop.take());
        std::mem::replace(&mut self.task, tokio::spawn(async {}))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// In front of this address; knows the models `test-…`, whose window is in the name.
pub(crate) fn config(url: &str) -> Config {
    let mut config = Config::new(Upstream::new(url).unwrap());
    let count = CountMethod::Exactly(Encoding::O200k);
    config.models = [300, 900, 2_600]
        .map(|window| ModelRule::new(format!("test-{window}")).window(window).count(count))
        .into();
    config
}

pub(crate) async fn in_front_of(server: &LocalServer) -> Running {
    Running::start(config(server.url())).await
}

pub(crate) fn http() -> reqwest::Client {
    // A proxy of the machine's has no business with 127.0.0.1.
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A server that says "ok" to everything it takes.
pub(crate) async fn ok_server() -> LocalServer {
    LocalServer::start(|_| async { Reply::Text("ok".to_owned()) }).await
}

/// A conversation with tools of about 1,400 tokens, whose last message asks something.
pub(crate) fn conversation() -> Vec<Value> {
    let mut messages = vec![json!({"role": "system", "content": "You help with orders."})];
    for turn in 0..12 {
        let id = format!("call_{turn}");
        messages.extend([
            json!({"role": "user", "content": format!("Where is order {turn}?")}),
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id,
                "type": "function",
                "function": {"name": "look_up", "arguments": format!("{{\"order\":{turn}}}")}}]}),
            json!({"role": "tool", "tool_call_id": id,
                "content": format!("order {turn} left the warehouse on day {turn}; {}",
                    "it passed another station on its way. ".repeat(8))}),
            json!({"role": "assistant", "content": format!("Order {turn} is on its way.")}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "And when did order 3 leave?"}));
    messages
}

pub(crate) fn chat(model: &str) -> Value {
    json!({"model": model, "max_completion_tokens": 50, "messages": conversation()})
}
