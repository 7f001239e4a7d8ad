//! Runs the gateway until it is told to stop.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use cupel_gateway::{Config, Gateway, Secret, Upstream};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::args::Args;
use super::{demo, log, say, telemetry, token};

pub(super) fn run(args: Args) -> Result<(), String> {
    let check = args.check;
    if args.demo {
        let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        return on_runtime(demo::run(args.once, args.listen.unwrap_or(any_port)));
    }
    let has_page = !args.no_page && !check;
    let mut config = configure(args)?;
    let token = if has_page { Some(token::new()?) } else { None };
    config.page.token = token.as_deref().map(Secret::new);
    let token_file = config.page.token_file.clone();
    let listen = config.listen;
    if check {
        Gateway::new(config).map_err(|error| listed(&error))?;
        say("nothing is wrong with it\n");
        return Ok(());
    }
    log::begin()?;
    on_runtime(async {
        let telemetry = telemetry::begin()?;
        let gateway = Gateway::new(config).map_err(|error| listed(&error))?;
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        say(&format!("listening on http://{address}/v1\n"));
        if let Some(token) = token {
            token::show(&token, token_file, address)?;
        }
        let (first, second) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        tokio::spawn(signalled(Arc::clone(&first), Arc::clone(&second)));
        let served = tokio::select! {
            served = gateway.serve(listener, async move { first.notified().await }) => served,
            () = second.notified() => return Err("stopped at once, with calls under way".to_owned()),
        };
        telemetry.end().await;
        served.map_err(|error| error.to_string())
    })
}

fn on_runtime(run: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| format!("no runtime: {error}"))?.block_on(run)
}

fn configure(args: Args) -> Result<Config, String> {
    let mut config = match (args.config, args.upstream) {
        (Some(file), _) => Config::from_file(file).map_err(|error| listed(&error))?,
        (None, upstream) => Config::new(Upstream::new(upstream.unwrap_or_default())?),
    };
    config.listen = args.listen.unwrap_or(config.listen);
    config.at_most = args.at_most.or(config.at_most);
    config.fail_closed |= args.fail_closed;
    config.page.token_file = args.token_file.or(config.page.token_file);
    Ok(config)
}

/// Everything that is wrong, each on its line.
pub(super) fn listed(error: &cupel_gateway::Unusable) -> String {
    let lines: Vec<String> = error.0.iter().map(|line| format!("\n  {line}")).collect();
    format!("the configuration cannot be used:{}", lines.concat())
}

/// Tells of the first signal, and of the second: who asks again does not want to wait.
async fn signalled(first: Arc<Notify>, second: Arc<Notify>) {
    stopped().await;
    first.notify_one();
    stopped().await;
    second.notify_one();
}

/// Until somebody says stop: an interrupt, or the signal that service managers send.
pub(super) async fn stopped() {
    let interrupt = async { drop(tokio::signal::ctrl_c().await) };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = async {
            match signal(SignalKind::terminate()) {
                Ok(mut terminate) => drop(terminate.recv().await),
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
    #[cfg(not(unix))]
    interrupt.await;
}
