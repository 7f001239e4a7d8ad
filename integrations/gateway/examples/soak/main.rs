//! 50 conversations through a gateway with an archive, while upstreams and clients fail in every way.
//!
//! `cargo run --release -p tower-cupel-gateway --features archive --example soak -- 600` runs for ten
//! minutes; 30 seconds unless said. Gateway, upstream and clients are one process. It fails when a call has
//! another outcome than its fault explains, when a question of health is not answered, when memory or open
//! descriptors pass their limits, or when the gateway does not stop.

mod client;
mod upstream;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cupel_gateway::{Config, Gateway, Memory, Secret, Upstream};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use client::Client;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

const CONVERSATIONS: usize = 50;
/// Mebibytes of the whole process.
const MOST_MEMORY: f64 = 512.0;
/// Mebibytes that may be added after a third of the time, when caches are full.
const MOST_GROWTH: f64 = 96.0;
/// Open descriptors: for each conversation a connection to the gateway and one to the upstream, both ends
/// of each, as much again for those that are being closed, and the archive's.
const MOST_DESCRIPTORS: usize = CONVERSATIONS * 8 + 100;

/// Numbers of calls, by fault and outcome, and everything that should not have happened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    calls: BTreeMap<(&'static str, String), usize>,
    wrong: Vec<String>,
}

impl Tally {
    pub(crate) fn note(&mut self, fault: &'static str, outcome: Result<String, String>) {
        let outcome = outcome.unwrap_or_else(|problem| {
            self.wrong.push(format!("{fault}: {problem}"));
            "WRONG".to_owned()
        });
        *self.calls.entry((fault, outcome)).or_default() += 1;
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let seconds = std::env::args().nth(1).map_or(Ok(30), |seconds| seconds.parse())?;
    let folder = tempfile::tempdir()?;
    let (address, gateway, stop) =
        start(&format!("sqlite://{}/archive.db", folder.path().display())).await?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut clients = JoinSet::new();
    for number in 0..CONVERSATIONS {
        clients.spawn(Client::new(number, address, Arc::clone(&tally)).run(end));
    }
    let watched = watch(address, end, seconds).await;
    while let Some(done) = clients.join_next().await {
        done?;
    }
    drop(stop);
    let stopped = timeout(Duration::from_secs(40), gateway).await;

    let Tally { calls, mut wrong } =
        std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
    let mut out = std::io::stdout();
    for ((fault, outcome), number) in &calls {
        writeln!(out, "{fault:>8} {outcome:<12} {number:>8}")?;
    }
    writeln!(out, "{watched}")?;
    wrong.extend(watched.problems());
    if !matches!(stopped, Ok(Ok(Ok(())))) {
        wrong.push(format!("the gateway did not stop: {stopped:?}"));
    }
    for problem in wrong.iter().take(20) {
        writeln!(out, "{problem}")?;
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

type Serving = tokio::task::JoinHandle<std::io::Result<()>>;

/// A gateway in front of an upstream that fails as it is told to, and of one that is not there.
async fn start(
    archive: &str,
) -> Result<(std::net::SocketAddr, Serving, oneshot::Sender<()>), Failure> {
    let upstream = upstream::start().await?;
    // Nobody listens at a port that was just given back.
    let gone = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let gone = Upstream::new(format!("http://{gone}/v1"))?.name("gone").models(["gone-*"]);
    let mut config = Config::new(Upstream::new(format!("http://{upstream}/v1"))?);
    config.upstreams.push(gone);
    config.unknown_window = Some(2_000);
    config.memory = Some(Memory::new(Secret::new(archive)));
    config.tenant_secret = Some(Secret::new("soak"));
    // Reached early, so that memory is flat from then on.
    config.page.bytes = 4 << 20;
    config.limits.body_time = Duration::from_secs(2);
    let gateway = Gateway::new(config)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(gateway.serve(listener, async { drop(stopped.await) }));
    Ok((address, serving, stop))
}

/// Memory and descriptors of the process over time.
struct Watched {
    early: f64,
    highest: f64,
    descriptors: usize,
    unhealthy: usize,
}

impl Watched {
    fn problems(&self) -> Vec<String> {
        let Self { early, highest, descriptors, unhealthy } = *self;
        let checks = [
            (highest > MOST_MEMORY, format!("{highest:.0} MiB, at most {MOST_MEMORY:.0}")),
            (
                highest - early > MOST_GROWTH,
                format!("{early:.0} MiB grew to {highest:.0}, at most by {MOST_GROWTH:.0}"),
            ),
            (
                descriptors > MOST_DESCRIPTORS,
                format!("{descriptors} open descriptors, at most {MOST_DESCRIPTORS}"),
            ),
            (unhealthy > 0, format!("{unhealthy} questions of health were not answered")),
        ];
        checks.into_iter().filter_map(|(wrong, why)| wrong.then_some(why)).collect()
    }
}

impl std::fmt::Display for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { early, highest, descriptors, .. } = self;
        write!(
            f,
            "memory {early:.0} MiB after a third, {highest:.0} at most (limit {MOST_MEMORY:.0}); \
             {descriptors} descriptors at most (limit {MOST_DESCRIPTORS})"
        )
    }
}

async fn watch(address: std::net::SocketAddr, end: Instant, seconds: u64) -> Watched {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build();
    let third = end - Duration::from_secs(seconds) * 2 / 3;
    let mut watched = Watched { early: 0.0, highest: 0.0, descriptors: 0, unhealthy: 0 };
    while Instant::now() < end {
        sleep(Duration::from_millis(250)).await;
        let resident = resident().unwrap_or_default();
        watched.highest = watched.highest.max(resident);
        if Instant::now() < third {
            watched.early = watched.highest;
        }
        watched.descriptors = watched.descriptors.max(descriptors());
        let health = format!("http://{address}/health/liveness");
        let healthy = match &client {
            Ok(client) => client.get(health).send().await.is_ok_and(|it| it.status() == 200),
            Err(_) => false,
        };
        watched.unhealthy += usize::from(!healthy);
    }
    watched
}

/// Mebibytes of this process that are in memory, where the system says so.
fn resident() -> Option<f64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4_096.0 / f64::from(1 << 20))
}

/// Open descriptors of this process, where the system says so.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
