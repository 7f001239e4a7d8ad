//! Load: the time that the gateway adds to a call, and the calls that it can carry.
//!
//! `cargo bench -p tower-cupel-gateway --bench load` runs upstream, gateway and clients in one process
//! on the loopback address: the latency of a warm gateway beside a bare reverse proxy of the same
//! stack, one request after another; then 1,000 streams at once and 200 requests a second for a
//! minute; then questions of health beside two requests with results of 15 MB.
//! `-- --seconds 10 --streams 200 --rate 50 --requests 100` makes it shorter, and `-- --only large` measures
//! the last part alone. It fails when the gateway adds more than a millisecond at the median, when a call is
//! lost, when memory grows, or when a question of health waits longer than 50 ms.

mod client;
mod large;
mod latency;
mod load;
mod proxy;
mod upstream;

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use cupel_gateway::{Config, Gateway, Upstream};
use tokio::net::TcpListener;

/// Number and duration of the measurements.
#[derive(Debug, Clone, Copy)]
struct Settings {
    requests: usize,
    seconds: u64,
    streams: usize,
    rate: u64,
    only_large: bool,
}

#[tokio::main]
async fn main() -> Result<ExitCode, client::Failure> {
    let settings = settings()?;
    let upstream = upstream::start().await?;
    let mut out = std::io::stdout();
    if settings.only_large {
        let large = large::measure(upstream).await?;
        writeln!(out, "{large}")?;
        return Ok(if large.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let bare = proxy::start(upstream).await?;
    let gateway = start(upstream).await?;

    let latency = latency::measure(bare, gateway, settings.requests).await?;
    writeln!(out, "{latency}")?;
    let load = load::run(gateway, settings).await?;
    writeln!(out, "{load}")?;
    let large = large::measure(upstream).await?;
    writeln!(out, "{large}")?;
    let good = latency.is_good() && load.is_good() && large.is_good();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn start(upstream: SocketAddr) -> Result<SocketAddr, client::Failure> {
    let mut config = Config::new(Upstream::new(format!("http://{upstream}/v1"))?);
    // So that there is something to leave out of 100 messages of 60 tokens.
    config.at_most = Some(5_000);
    // Reached early, so that memory is flat from then on.
    config.page.bytes = 8 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(Gateway::new(config)?.serve(listener, std::future::pending()));
    Ok(address)
}

fn settings() -> Result<Settings, client::Failure> {
    let mut settings =
        Settings { requests: 1_000, seconds: 60, streams: 1_000, rate: 200, only_large: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        // What cargo tells every benchmark.
        if argument == "--bench" {
            continue;
        }
        let value = arguments.next().ok_or(format!("{argument} needs a number"))?;
        match argument.as_str() {
            "--requests" => settings.requests = value.parse()?,
            "--seconds" => settings.seconds = value.parse()?,
            "--streams" => settings.streams = value.parse()?,
            "--rate" => settings.rate = value.parse()?,
            "--only" if value == "large" => settings.only_large = true,
            other => {
                return Err(format!(
                    "unknown {other}, expected --requests, --seconds, --streams, --rate or --only large"
                )
                .into());
            }
        }
    }
    Ok(settings)
}
