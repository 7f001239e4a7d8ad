//! One request after another, through the bare proxy and through the gateway in turn.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::client::{Client, Failure, request};

/// Most time that the gateway may add to a call at the median.
const MOST: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Latency {
    bare: Duration,
    gateway: Duration,
    requests: usize,
}

impl Latency {
    fn added(&self) -> Duration {
        self.gateway.saturating_sub(self.bare)
    }

    pub(crate) fn is_good(&self) -> bool {
        self.added() <= MOST
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests of 100 messages of about 60 tokens, median: bare proxy {:?}, gateway {:?}, added {:?} (at most {MOST:?})",
            self.requests,
            self.bare,
            self.gateway,
            self.added()
        )
    }
}

pub(crate) async fn measure(
    bare: SocketAddr,
    gateway: SocketAddr,
    requests: usize,
) -> Result<Latency, Failure> {
    let client = Client::new();
    let body = request(1, false);
    for to in [bare, gateway] {
        for _ in 0..20 {
            client.call(to, &body).await?;
        }
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..requests {
        for (to, times) in [bare, gateway].into_iter().zip(&mut times) {
            let started = Instant::now();
            client.call(to, &body).await?;
            times.push(started.elapsed());
        }
    }
    let [bare, gateway] = times.map(median);
    Ok(Latency { bare, gateway, requests })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
