//! Calls at a fixed rate, and the rate at which the machine saturates: the gateway beside a bare proxy and
//! nginx, in turn.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::client::{Client, Failure, request, small_request};

/// Most P99 of the gateway, in those of the bare proxy.
const P99: f64 = 2.0;

/// Least rate of the gateway at saturation, as a share of the bare proxy's.
const SATURATION: f64 = 0.5;

/// Rounds. The median of them counts.
const ROUNDS: usize = 5;

/// Clients that send one request after another at saturation.
const CLIENTS: usize = 64;

/// Time of an answer that is as good as none.
const LOST: Duration = Duration::from_secs(60);

/// Servers that are compared.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// Address in front of the slow upstream.
    pub(crate) slow: SocketAddr,
    /// Address in front of the upstream that answers at once.
    pub(crate) fast: SocketAddr,
}

/// Percentiles of one round.
#[derive(Debug, Clone, Copy, Default)]
struct Percentiles([Duration; 3]);

/// Results of one contender, round by round.
#[derive(Debug)]
struct Results {
    name: &'static str,
    latencies: Vec<Percentiles>,
    rates: Vec<f64>,
    lost: usize,
}

#[derive(Debug)]
pub(crate) struct Rates {
    results: Vec<Results>,
    rate: u64,
    seconds: u64,
    delay: Duration,
}

/// Compares all contenders. The first one is the upstream without a proxy, and the second one the bare proxy.
pub(crate) async fn measure(
    contenders: &[Contender],
    (rate, seconds): (u64, u64),
    delay: Duration,
) -> Result<Rates, Failure> {
    let (body, small) = (request(1, false), small_request());
    let new = |one: &Contender| Results {
        name: one.name,
        latencies: Vec::new(),
        rates: Vec::new(),
        lost: 0,
    };
    let mut results: Vec<Results> = contenders.iter().map(new).collect();
    for contender in contenders {
        // Connections are opened, and code is loaded.
        open_loop(contender.slow, &body, rate / 4, 1).await?;
    }
    for _ in 0..ROUNDS {
        for (contender, results) in contenders.iter().zip(&mut results) {
            let (latencies, lost) = open_loop(contender.slow, &body, rate, seconds).await?;
            results.latencies.push(latencies);
            results.lost += lost;
            let (rate, lost) = saturate(contender.fast, &small, seconds).await;
            results.rates.push(rate);
            results.lost += lost;
        }
    }
    Ok(Rates { results, rate, seconds, delay })
}

/// Sends requests at a fixed rate, however long answers take. A time counts from when the request was due.
async fn open_loop(
    to: SocketAddr,
    body: &Bytes,
    rate: u64,
    seconds: u64,
) -> Result<(Percentiles, usize), Failure> {
    let client = Client::new();
    let pause = Duration::from_secs(1) / u32::try_from(rate.max(1))?;
    let begin = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..u32::try_from(rate.saturating_mul(seconds))? {
        let due = begin + pause * number;
        sleep_until(due).await;
        let (client, body) = (client.clone(), body.clone());
        calls.spawn(async move {
            let answered = client.call(to, &body).await;
            answered.map(|_| due.elapsed())
        });
    }
    let (mut times, mut lost) = (Vec::new(), 0);
    while let Some(done) = calls.join_next().await {
        match done {
            Ok(Ok(time)) => times.push(time),
            _ => {
                lost += 1;
                times.push(LOST);
            }
        }
    }
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let index = (times.len() as f64 * share) as usize;
        times.get(index.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    Ok((Percentiles([at(0.5), at(0.99), at(0.999)]), lost))
}

/// Sends small requests as fast as they are answered. Returns the answers a second, and the number of lost calls.
async fn saturate(to: SocketAddr, body: &Bytes, seconds: u64) -> (f64, usize) {
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (client, body) = (Client::new(), body.clone());
        clients.spawn(async move {
            let (mut answered, mut lost) = (0_u32, 0_usize);
            while Instant::now() < end {
                match client.call(to, &body).await {
                    Ok(_) => answered += 1,
                    Err(_) => lost += 1,
                }
            }
            (answered, lost)
        });
    }
    let (mut answered, mut lost) = (0.0, 0);
    while let Some(done) = clients.join_next().await {
        let (some, none) = done.unwrap_or_default();
        answered += f64::from(some);
        lost += none;
    }
    (answered / begin.elapsed().as_secs_f64(), lost)
}

impl Results {
    /// Returns the medians of the percentiles.
    fn latency(&self) -> [Duration; 3] {
        [0, 1, 2].map(|at| {
            let times = self.latencies.iter().filter_map(|one| one.0.get(at).copied());
            median(times.collect())
        })
    }

    fn rate(&self) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_unstable_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or_default()
    }

    /// Returns the median of the ratios to another contender in the same round.
    fn ratios(&self, other: &Self) -> (f64, f64) {
        let middle = |mut all: Vec<f64>| {
            all.sort_unstable_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or_default()
        };
        let pairs = self.latencies.iter().zip(&other.latencies);
        let latencies = pairs.map(|(a, b)| {
            let [[_, a, _], [_, b, _]] = [a.0, b.0];
            a.as_secs_f64() / b.as_secs_f64()
        });
        let rates = self.rates.iter().zip(&other.rates).map(|(a, b)| a / b);
        (middle(latencies.collect()), middle(rates.collect()))
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

impl Rates {
    fn of(&self, name: &str) -> Option<&Results> {
        self.results.iter().find(|results| results.name == name)
    }

    fn ratios(&self) -> Option<(f64, f64)> {
        Some(self.of("gateway")?.ratios(self.of("bare proxy")?))
    }

    pub(crate) fn is_good(&self) -> bool {
        let is_whole = self.results.iter().all(|results| results.lost == 0);
        is_whole && self.ratios().is_some_and(|(p99, rate)| p99 <= P99 && rate >= SATURATION)
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, seconds, delay, .. } = self;
        writeln!(
            f,
            "{rate} requests a second of 100 messages, for {seconds} s, upstream answers after {delay:?}; \
             then {CLIENTS} clients with small requests, as fast as they can; median of {ROUNDS} rounds"
        )?;
        writeln!(
            f,
            "{:<12} {:>9} {:>9} {:>9}   {:>9} {:>9} {:>9}   {:>10} {:>5}",
            "",
            "P50 ms",
            "P99 ms",
            "P99.9 ms",
            "+P50 ms",
            "+P99 ms",
            "+P99.9",
            "requests/s",
            "lost"
        )?;
        let direct = self.results.first().map(Results::latency).unwrap_or_default();
        for results in &self.results {
            let latency = results.latency();
            write!(f, "{:<12}", results.name)?;
            for time in latency {
                write!(f, " {:>9.2}", time.as_secs_f64() * 1e3)?;
            }
            write!(f, "  ")?;
            for (time, direct) in latency.into_iter().zip(direct) {
                write!(f, " {:>9.2}", (time.as_secs_f64() - direct.as_secs_f64()) * 1e3)?;
            }
            writeln!(f, "   {:>10.0} {:>5}", results.rate(), results.lost)?;
        }
        let (p99, rate) = self.ratios().unwrap_or_default();
        write!(
            f,
            "gateway over bare proxy: P99 {p99:.2} (at most {P99}), rate at saturation {rate:.2} (at least {SATURATION})"
        )
    }
}
