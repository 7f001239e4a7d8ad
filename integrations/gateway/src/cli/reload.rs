//! Reloads the configuration: on SIGHUP, and with `--watch` when its file changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cupel_gateway::GatewayHandle;
use tokio::sync::Notify;

use super::args::GatewayArgs;
use super::configuration::configure;
use super::output::listed;

/// Pause between two looks at the file. Looking works on every file system; notices of changes do not arrive
/// from network folders, nor from files that a container mounts.
const LOOK: Duration = Duration::from_secs(1);

/// Begins to wait for reasons to reload.
pub(super) fn begin(gateway: GatewayHandle, args: GatewayArgs) {
    let wanted = Arc::new(Notify::new());
    on_hangup(Arc::clone(&wanted));
    if let (Some(file), true) = (&args.config, args.watch) {
        tokio::spawn(watch(file.clone(), Arc::clone(&wanted)));
    }
    let args = Arc::new(args);
    tokio::spawn(async move {
        loop {
            wanted.notified().await;
            let (gateway, args) = (gateway.clone(), Arc::clone(&args));
            // It reads files.
            drop(tokio::task::spawn_blocking(move || reload(&gateway, &args)).await);
        }
    });
}

/// Reads the configuration again. A bad one is refused as a whole.
fn reload(gateway: &GatewayHandle, args: &GatewayArgs) {
    if args.config.is_none() {
        tracing::warn!("nothing to reload: the gateway was started without --config");
        return;
    }
    let renewed =
        configure(args).and_then(|config| gateway.reload(config).map_err(|error| listed(&error)));
    match renewed {
        Ok(kept) if kept.is_empty() => tracing::info!("configuration reloaded"),
        Ok(kept) => tracing::warn!(
            needs_restart = kept.join(", "),
            "configuration reloaded, except keys that need a restart"
        ),
        Err(mistakes) => {
            tracing::error!(mistakes, "configuration not reloaded: the previous one stays in use");
        }
    }
}

#[cfg(unix)]
fn on_hangup(wanted: Arc<Notify>) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut signals) = signal(SignalKind::hangup()) else { return };
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            wanted.notify_one();
        }
    });
}

#[cfg(not(unix))]
fn on_hangup(_wanted: Arc<Notify>) {}

/// Looks at a file for ever. A change counts once the file has stayed the same for one pause: a file that is
/// being written may be valid by chance.
async fn watch(file: PathBuf, wanted: Arc<Notify>) {
    let mut loaded = read(&file).await;
    let mut last = loaded.clone();
    loop {
        tokio::time::sleep(LOOK).await;
        let now = read(&file).await;
        if now == last && now.is_some() && now != loaded {
            loaded.clone_from(&now);
            wanted.notify_one();
        }
        last = now;
    }
}

/// Reads a file; `None` if it cannot be read, as while it is being replaced.
async fn read(file: &Path) -> Option<Vec<u8>> {
    tokio::fs::read(file).await.ok()
}
