//! Runs the gateway until a signal stops it.

use std::future::Future;
use std::time::Duration;

use cupel_gateway::{Config, Secret};
use tokio::sync::watch;

use super::args::GatewayArgs;
use super::configuration::configure;
use super::output::{gateway, listen, new_token, say, show_token};
use super::{log, reload, telemetry};

/// Time to send the last telemetry.
const TELEMETRY: Duration = Duration::from_secs(5);

/// Time for threads that are still blocked at the end.
const LAST: Duration = Duration::from_secs(1);

pub(super) fn run(args: GatewayArgs) -> Result<(), String> {
    if args.check {
        return on_runtime(check(configure(&args)?));
    }
    let has_page = !args.no_page;
    let mut config = configure(&args)?;
    let token = has_page.then(new_token).transpose()?;
    config.page.token = token.as_deref().map(Secret::new);
    let log = log::begin()?;
    let served = on_runtime(serve(config, token, args));
    log.end();
    served
}

async fn check(config: Config) -> Result<(), String> {
    let is_required = config.memory.as_ref().is_some_and(|memory| memory.required);
    match gateway(config)?.check_archive().await {
        Err(why) if is_required => return Err(why),
        Err(why) => say(&format!("warning: {why}; the gateway would start without memory\n")),
        Ok(()) => {}
    }
    say("the configuration is valid\n");
    Ok(())
}

async fn serve(config: Config, token: Option<String>, args: GatewayArgs) -> Result<(), String> {
    let telemetry = telemetry::begin()?;
    let token_file = config.page.token_file.clone();
    let is_required = config.memory.as_ref().is_some_and(|memory| memory.required);
    let address = config.listen;
    let gateway = gateway(config)?;
    let (listener, address) = listen(address).await?;
    if is_required {
        gateway.open_archive().await?;
    }
    ignore_signals();
    reload::begin(gateway.handle(), args);
    // The first signal stops the gateway; the second ends it at once.
    let (count, mut signals) = watch::channel(0);
    let mut first = signals.clone();
    tokio::spawn(async move {
        loop {
            stopped().await;
            count.send_modify(|count| *count += 1);
        }
    });
    say(&format!("listening on http://{address}/v1\n"));
    if let Some(token) = token {
        show_token(&token, token_file, address)?;
    }
    tell_manager("READY=1");
    let stop = async move {
        drop(first.wait_for(|count| *count >= 1).await);
        tell_manager("STOPPING=1");
    };
    let served = tokio::select! {
        served = gateway.serve(listener, stop) => served,
        _ = signals.wait_for(|count| *count >= 2) => {
            return Err("stopped at once, with calls in flight".to_owned());
        }
    };
    if tokio::time::timeout(TELEMETRY, telemetry.end()).await.is_err() {
        tracing::warn!("the last telemetry was not sent in time");
    }
    served.map_err(|error| error.to_string())
}

pub(super) fn on_runtime(run: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let done = runtime.block_on(run);
    runtime.shutdown_timeout(LAST);
    done
}

/// Tells systemd the state, if it started the gateway (`Type=notify`).
fn tell_manager(state: &str) {
    #[cfg(unix)]
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Custom(state)]) {
        tracing::warn!(%error, "the service manager cannot be told the state of the gateway");
    }
    #[cfg(not(unix))]
    let _ = state;
}

/// Logs and ignores signals that would otherwise end the process.
fn ignore_signals() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for (kind, name) in
            [(SignalKind::user_defined1(), "SIGUSR1"), (SignalKind::user_defined2(), "SIGUSR2")]
        {
            let Ok(mut signals) = signal(kind) else { continue };
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    tracing::warn!(
                        signal = name,
                        "signal ignored: SIGHUP reloads the configuration, SIGTERM stops the gateway"
                    );
                }
            });
        }
    }
}

/// Waits for an interrupt, or for the signal with which service managers stop a process.
pub(super) async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    drop(tokio::signal::ctrl_c().await);
}
