//! The log: to the error output, as text for a terminal and as JSON for everybody else.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Begins to log. Only what is ours: nobody else's lines have been looked through for content.
pub(super) fn begin() -> Result<(), String> {
    let level = match std::env::var("CUPEL_LOG") {
        Ok(level) => level.parse().map_err(|_| {
            format!("CUPEL_LOG is {level:?}, expected off, error, warn, info, debug or trace")
        })?,
        Err(_) => LevelFilter::INFO,
    };
    let ours = Targets::new().with_target("cupel", level).with_target("cupel_gateway", level);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(ours);
    if std::io::stderr().is_terminal() {
        drop(registry.with(layer).try_init());
    } else {
        drop(registry.with(layer.json()).try_init());
    }
    Ok(())
}
