//! Many streams at once, and requests beside them at a steady rate.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::BodyExt as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::Settings;
use crate::client::{Client, Failure, request};

/// Memory of the second half may be above that of the first by so much.
const GROWTH: f64 = 1.1;

#[derive(Debug)]
pub(crate) struct Load {
    settings: Settings,
    streams: usize,
    events: usize,
    answered: usize,
    /// Number of failed calls, by reason.
    lost: BTreeMap<String, usize>,
    /// Mebibytes of the whole process, over time.
    memory: Vec<f64>,
}

impl Load {
    fn growth(&self) -> f64 {
        let highest = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
        // The first samples are taken while everything is being connected.
        let (first, second) = self.memory.split_at(self.memory.len() / 2);
        if first.is_empty() { 1.0 } else { highest(second) / highest(first) }
    }

    pub(crate) fn is_good(&self) -> bool {
        self.lost.is_empty() && self.streams == self.settings.streams && self.growth() <= GROWTH
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { seconds, rate, streams, .. } = self.settings;
        writeln!(
            f,
            "{} of {streams} streams lasted {seconds} s with {} events; beside them {} requests at {rate} a second; lost: {}",
            self.streams,
            self.events,
            self.answered,
            self.lost.values().sum::<usize>()
        )?;
        for (why, calls) in &self.lost {
            writeln!(f, "  {calls} of them: {why}")?;
        }
        let memory: Vec<String> = self.memory.iter().map(|sample| format!("{sample:.0}")).collect();
        write!(
            f,
            "memory of the whole process, MiB: {}; growth {:.2} (at most {GROWTH})",
            memory.join(" "),
            self.growth()
        )
    }
}

pub(crate) async fn run(gateway: SocketAddr, settings: Settings) -> Result<Load, Failure> {
    let client = Client::new();
    let events = Arc::new(AtomicUsize::new(0));
    let mut open = JoinSet::new();
    let mut begun = Vec::new();
    for seed in 0..settings.streams {
        // A few at a time, as clients come.
        let answer = client.send(gateway, &request(seed, true)).await?;
        begun.push(answer);
    }
    let end = Instant::now() + Duration::from_secs(settings.seconds);
    for answer in begun {
        let events = Arc::clone(&events);
        open.spawn(async move {
            let mut body = answer.into_body();
            loop {
                tokio::select! {
                    () = sleep_until(end) => return true,
                    frame = body.frame() => match frame {
                        Some(Ok(_)) => drop(events.fetch_add(1, Ordering::Relaxed)),
                        _ => return false,
                    },
                }
            }
        });
    }
    let memory = tokio::spawn(watch_memory(end));
    let (answered, lost) = ask_steadily(&client, gateway, settings, end).await;
    let mut streams = 0;
    while let Some(lasted) = open.join_next().await {
        streams += usize::from(lasted.unwrap_or(false));
    }
    let memory = memory.await?;
    Ok(Load { settings, streams, events: events.load(Ordering::Relaxed), answered, lost, memory })
}

/// Sends requests steadily. Returns the numbers of those with and without an answer.
async fn ask_steadily(
    client: &Client,
    gateway: SocketAddr,
    settings: Settings,
    end: Instant,
) -> (usize, BTreeMap<String, usize>) {
    let mut ticks =
        interval(Duration::from_secs(1) / u32::try_from(settings.rate.max(1)).unwrap_or(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let bodies: Vec<_> = (0..16).map(|seed| request(seed, false)).collect();
    let mut calls = JoinSet::new();
    let (mut answered, mut lost) = (0, BTreeMap::new());
    let mut count = |done: Result<Result<usize, String>, tokio::task::JoinError>| match done {
        Ok(Ok(_)) => answered += 1,
        Ok(Err(why)) => *lost.entry(why).or_default() += 1,
        Err(why) => *lost.entry(why.to_string()).or_default() += 1,
    };
    for body in bodies.iter().cycle() {
        ticks.tick().await;
        if Instant::now() >= end {
            break;
        }
        let (client, body) = (client.clone(), body.clone());
        calls.spawn(async move { client.call(gateway, &body).await.map_err(why) });
        while let Some(done) = calls.try_join_next() {
            count(done);
        }
    }
    while let Some(done) = calls.join_next().await {
        count(done);
    }
    (answered, lost)
}

/// An error with all that led to it.
#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn why(error: Failure) -> String {
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        source = cause.source();
    }
    why
}

async fn watch_memory(end: Instant) -> Vec<f64> {
    let mut samples = Vec::new();
    let mut ticks = interval(Duration::from_secs(2));
    ticks.tick().await;
    while Instant::now() < end {
        ticks.tick().await;
        samples.extend(resident());
    }
    samples
}

/// Mebibytes of this process that are in memory, where the system says so.
fn resident() -> Option<f64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4_096.0 / f64::from(1 << 20))
}
