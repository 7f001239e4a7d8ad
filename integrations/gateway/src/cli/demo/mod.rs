//! The demonstration: a gateway, a scripted stand-in for a model, and a client with a long
//! conversation. No key, no network.

#![allow(
    clippy::indexing_slicing,
    reason = "only JSON values are indexed, and a field they do not have is null"
)]

mod client;
mod stand_in;

use cupel_gateway::{Config, Gateway, Secret, Upstream, UpstreamKey};
use tokio::net::TcpListener;

use super::{say, serve, token};

/// So small that the conversation outgrows it within a minute.
const WINDOW: i64 = 1_600;

/// Runs it; `once` ends when the conversation does.
pub(super) async fn run(once: bool, listen: std::net::SocketAddr) -> Result<(), String> {
    let model = stand_in::start().await?;
    let upstream = Upstream::new(format!("http://{model}/v1"))?.name("stand-in");
    let mut config = Config::new(upstream.key(UpstreamKey::None));
    config.at_most = Some(WINDOW);
    let token = token::new()?;
    config.page.token = Some(Secret::new(&*token));
    let gateway = Gateway::new(config).map_err(|error| serve::listed(&error))?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| format!("cannot listen on {listen}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    say(&format!(
        "gateway at http://{address}/v1, window {WINDOW} tokens\n\
         behind it a scripted stand-in for a model: it follows rules and knows nothing but what it \
         is sent\n"
    ));
    token::show(&token, None, address)?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(gateway.serve(listener, async { drop(stopped.await) }));
    client::converse(address).await?;
    if !once {
        say(&format!("the page is at http://{address}/cupel/ until you interrupt this\n"));
        serve::stopped().await;
    }
    drop(stop);
    let served = serving.await.map_err(|error| error.to_string())?;
    served.map_err(|error| error.to_string())
}
