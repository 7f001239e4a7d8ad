//! Runs the gateway until it is told to stop.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

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
    let is_required = config.memory.as_ref().is_some_and(|memory| memory.required);
    if check {
        let gateway = Gateway::new(config).map_err(|error| listed(&error))?;
        return on_runtime(async {
            match gateway.check_archive().await {
                Err(why) if is_required => return Err(why),
                Err(why) => say(&format!("warning: {why}; the gateway starts without memory\n")),
                Ok(()) => {}
            }
            say("nothing is wrong with it\n");
            Ok(())
        });
    }
    let log = log::begin()?;
    let served = on_runtime(async {
        let telemetry = telemetry::begin()?;
        let gateway = Gateway::new(config).map_err(|error| listed(&error))?;
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        if is_required {
            gateway.open_archive().await?;
        }
        ignore_signals();
        let (first, second) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        tokio::spawn(signalled(Arc::clone(&first), Arc::clone(&second)));
        say(&format!("listening on http://{address}/v1\n"));
        if let Some(token) = token {
            token::show(&token, token_file, address)?;
        }
        let served = tokio::select! {
            served = gateway.serve(listener, async move { first.notified().await }) => served,
            () = second.notified() => return Err("stopped at once, with calls under way".to_owned()),
        };
        if tokio::time::timeout(TELEMETRY, telemetry.end()).await.is_err() {
            tracing::warn!("the last telemetry was not sent in time");
        }
        served.map_err(|error| error.to_string())
    });
    log.end();
    served
}

/// Time for the last telemetry.
const TELEMETRY: Duration = Duration::from_secs(5);

/// Time for threads that are blocked when everything else has ended.
const LAST: Duration = Duration::from_secs(1);

fn on_runtime(run: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let done = runtime.block_on(run);
    // What blocks a thread yet is not waited for.
    runtime.shutdown_timeout(LAST);
    done
}

/// Takes signals that would end the process, and does nothing but say so.
fn ignore_signals() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for (kind, name) in [
            (SignalKind::hangup(), "SIGHUP"),
            (SignalKind::user_defined1(), "SIGUSR1"),
            (SignalKind::user_defined2(), "SIGUSR2"),
        ] {
            let Ok(mut signals) = signal(kind) else { continue };
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    let why = "ignored: a changed configuration needs a restart";
                    tracing::warn!(signal = name, why);
                }
            });
        }
    }
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
