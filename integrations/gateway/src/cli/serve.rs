//! Runs the gateway until it is told to stop.

use cupel_gateway::{Config, Gateway, Upstream};
use tokio::net::TcpListener;

use super::args::Args;
use super::{log, say};

pub(super) fn run(args: Args) -> Result<(), String> {
    let check = args.check;
    let config = configure(args)?;
    let listen = config.listen;
    let gateway = Gateway::new(config).map_err(|error| listed(&error))?;
    if check {
        say("nothing is wrong with it\n");
        return Ok(());
    }
    log::begin()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        say(&format!("listening on http://{address}/v1\n"));
        gateway.serve(listener, stopped()).await.map_err(|error| error.to_string())
    })
}

fn configure(args: Args) -> Result<Config, String> {
    let mut config = match (args.config, args.upstream) {
        (Some(file), _) => Config::from_file(file).map_err(|error| listed(&error))?,
        (None, upstream) => Config::new(Upstream::new(upstream.unwrap_or_default())?),
    };
    config.listen = args.listen.unwrap_or(config.listen);
    config.at_most = args.at_most.or(config.at_most);
    config.fail_closed |= args.fail_closed;
    Ok(config)
}

/// Everything that is wrong, each on its line.
fn listed(error: &cupel_gateway::Unusable) -> String {
    let lines: Vec<String> = error.0.iter().map(|line| format!("\n  {line}")).collect();
    format!("the configuration cannot be used:{}", lines.concat())
}

/// Until somebody says stop: an interrupt, or the signal that service managers send.
async fn stopped() {
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
