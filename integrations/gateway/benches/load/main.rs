//! Load: the time that the gateway adds to a call, and the calls that it can carry.
//!
//! `cargo bench -p tower-cupel-gateway --bench load` runs upstream, gateway and clients in one process
//! on the loopback address: the latency of a warm gateway beside a bare reverse proxy of the same
//! stack, one request after another; then 1,000 streams at once and 200 requests a second for a
//! minute; then questions of health beside two requests with results of 15 MB.
//! `-- --seconds 10 --streams 200 --rate 50 --requests 100` makes it shorter, and `-- --only large` measures
//! the last part alone.
//!
//! `-- --only rate` sends 500 requests a second to an upstream that answers after 60 ms, whatever the answers
//! take, and then small ones as fast as two cores can: to the upstream itself, the bare proxy, the gateway, the
//! gateway in shadow mode and nginx (if it is installed) in turn, five times. `--rate` and `--seconds` change it.
//!
//! It fails when the gateway adds more than a millisecond at the median, when a call is
//! lost, when memory grows, when a question of health waits longer than 50 ms, when the gateway's P99 at a fixed
//! rate is more than twice the bare proxy's, or when it saturates at less than half of the bare proxy's rate.

mod client;
mod large;
mod latency;
mod load;
mod nginx;
mod proxy;
mod rate;
mod upstream;

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use cupel_gateway::{Config, Gateway, GatewayMode, Upstream};
use tokio::net::TcpListener;

/// Number and duration of the measurements.
#[derive(Debug, Clone, Copy)]
struct Settings {
    requests: usize,
    seconds: u64,
    streams: usize,
    rate: u64,
    only: Option<Part>,
}

/// Part that is measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Large,
    Rate,
}

/// Fixed rate of requests, and the duration of a round.
const RATE: u64 = 500;
const RATE_SECONDS: u64 = 5;

/// Time until the upstream answers calls at a fixed rate.
const DELAY: Duration = Duration::from_millis(60);

#[tokio::main]
async fn main() -> Result<ExitCode, client::Failure> {
    let settings = settings()?;
    let upstream = upstream::start(Duration::ZERO).await?;
    let mut out = std::io::stdout();
    if settings.only == Some(Part::Rate) {
        let rates = rates(upstream, settings).await?;
        writeln!(out, "{rates}")?;
        return Ok(if rates.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if settings.only == Some(Part::Large) {
        let large = large::measure(upstream).await?;
        writeln!(out, "{large}")?;
        return Ok(if large.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let bare = proxy::start(upstream).await?;
    let gateway = start(upstream, GatewayMode::Fit).await?;

    let latency = latency::measure(bare, gateway, settings.requests).await?;
    writeln!(out, "{latency}")?;
    let rates = rates(upstream, Settings { rate: RATE, seconds: RATE_SECONDS, ..settings }).await?;
    writeln!(out, "{rates}")?;
    let load = load::run(gateway, settings).await?;
    writeln!(out, "{load}")?;
    let large = large::measure(upstream).await?;
    writeln!(out, "{large}")?;
    let good = latency.is_good() && rates.is_good() && load.is_good() && large.is_good();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Compares the gateway with a bare proxy and nginx at a fixed rate, and at saturation.
async fn rates(fast: SocketAddr, settings: Settings) -> Result<rate::Rates, client::Failure> {
    let slow = upstream::start(DELAY).await?;
    let mut contenders = vec![
        rate::Contender { name: "upstream", slow, fast },
        rate::Contender {
            name: "bare proxy",
            slow: proxy::start(slow).await?,
            fast: proxy::start(fast).await?,
        },
        rate::Contender {
            name: "gateway",
            slow: start(slow, GatewayMode::Fit).await?,
            fast: start(fast, GatewayMode::Fit).await?,
        },
        rate::Contender {
            name: "shadow",
            slow: start(slow, GatewayMode::Shadow).await?,
            fast: start(fast, GatewayMode::Shadow).await?,
        },
    ];
    let nginx = nginx::Nginx::start(slow, fast)?;
    if let Some(nginx) = &nginx {
        let (slow, fast) = (nginx.slow, nginx.fast);
        contenders.push(rate::Contender { name: "nginx", slow, fast });
    }
    rate::measure(&contenders, (settings.rate, settings.seconds), DELAY).await
}

async fn start(upstream: SocketAddr, mode: GatewayMode) -> Result<SocketAddr, client::Failure> {
    let mut config = Config::new(Upstream::new(format!("http://{upstream}/v1"))?);
    // So that there is something to leave out of 100 messages of 60 tokens.
    config.at_most = Some(5_000);
    config.rollout.mode = mode;
    // Reached early, so that memory is flat from then on.
    config.page.bytes = 8 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(Gateway::new(config)?.serve(listener, std::future::pending()));
    Ok(address)
}

fn settings() -> Result<Settings, client::Failure> {
    let mut settings =
        Settings { requests: 1_000, seconds: 60, streams: 1_000, rate: 200, only: None };
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
            "--only" if value == "large" => settings.only = Some(Part::Large),
            "--only" if value == "rate" => {
                settings.only = Some(Part::Rate);
                (settings.rate, settings.seconds) = (RATE, RATE_SECONDS);
            }
            other => {
                return Err(format!(
                    "unknown {other}, expected --requests, --seconds, --streams, --rate, --only large or --only rate"
                )
                .into());
            }
        }
    }
    Ok(settings)
}
