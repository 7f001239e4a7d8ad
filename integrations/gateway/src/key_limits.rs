//! Limits of requests and tokens per minute, for each key of the gateway, in this process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::config::ClientKey;

/// Remaining allowance of each key, by its name. It outlives a reload.
#[derive(Debug, Default)]
pub(crate) struct KeyLimits(Mutex<HashMap<String, KeyAllowance>>);

#[derive(Debug)]
struct KeyAllowance {
    requests: Allowance,
    tokens: Allowance,
}

/// Allowance that refills evenly, up to one minute's worth.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    per_minute: f64,
    /// Negative after a request that took more than was left.
    left: f64,
    at: Instant,
}

/// Limit that refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded {
    /// `requests` or `tokens`.
    pub(crate) limit: &'static str,
    pub(crate) per_minute: u64,
    pub(crate) retry_seconds: u64,
}

impl KeyLimits {
    /// Takes a request from the allowance of its key. A request is let in while any token is left: its own
    /// tokens are known only later, and are then subtracted.
    ///
    /// # Errors
    ///
    /// Returns the limit that leaves no room now.
    pub(crate) fn admit(&self, key: &ClientKey) -> Result<(), Exceeded> {
        if key.requests_per_minute.is_none() && key.tokens_per_minute.is_none() {
            return Ok(());
        }
        let now = Instant::now();
        let mut all = self.all();
        let own = all.entry(key.name.clone()).or_insert_with(|| KeyAllowance {
            requests: Allowance::full(key.requests_per_minute.unwrap_or(0), now),
            tokens: Allowance::full(key.tokens_per_minute.unwrap_or(0), now),
        });
        own.requests.refill(key.requests_per_minute.unwrap_or(0), now);
        own.tokens.refill(key.tokens_per_minute.unwrap_or(0), now);
        let exceeded = |limit, per_minute, missing: f64| Exceeded {
            limit,
            per_minute,
            retry_seconds: seconds(missing, per_minute),
        };
        if let Some(per_minute) = key.requests_per_minute.filter(|_| own.requests.left < 1.0) {
            return Err(exceeded("requests", per_minute, 1.0 - own.requests.left));
        }
        if let Some(per_minute) = key.tokens_per_minute.filter(|_| own.tokens.left < 1.0) {
            return Err(exceeded("tokens", per_minute, 1.0 - own.tokens.left));
        }
        own.requests.left -= 1.0;
        Ok(())
    }

    /// Subtracts tokens from the allowance of a key, or gives them back if there are less than 0.
    #[expect(clippy::cast_precision_loss, reason = "a limit needs no more")]
    pub(crate) fn spend(&self, key: &str, tokens: i64) {
        if let Some(own) = self.all().get_mut(key) {
            own.tokens.left -= tokens as f64;
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, KeyAllowance>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allowance {
    #[expect(clippy::cast_precision_loss, reason = "a limit needs no more")]
    fn full(per_minute: u64, at: Instant) -> Self {
        Self { per_minute: per_minute as f64, left: per_minute as f64, at }
    }

    #[expect(clippy::cast_precision_loss, reason = "a limit needs no more")]
    fn refill(&mut self, per_minute: u64, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        // A raised limit applies at once.
        let raised = (per_minute as f64 - self.per_minute).max(0.0);
        self.per_minute = per_minute as f64;
        let left = self.left + raised + passed * self.per_minute / 60.0;
        (self.left, self.at) = (left.min(self.per_minute), now);
    }
}

/// Returns the seconds until `missing` is refilled.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn seconds(missing: f64, per_minute: u64) -> u64 {
    (missing * 60.0 / per_minute.max(1) as f64).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::credentials::Secret;

    #[tokio::test(start_paused = true)]
    async fn an_allowance_refills_evenly() {
        let limits = KeyLimits::default();
        let mut key = ClientKey::new("team", Secret::new("k"));
        key.requests_per_minute = Some(2);
        let exceeded = Err(Exceeded { limit: "requests", per_minute: 2, retry_seconds: 30 });
        assert_eq!([limits.admit(&key), limits.admit(&key)], [Ok(()), Ok(())]);
        assert_eq!(limits.admit(&key), exceeded);
        tokio::time::advance(Duration::from_secs(29)).await;
        assert_eq!(limits.admit(&key).unwrap_err().retry_seconds, 1);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(limits.admit(&key), Ok(()));
        tokio::time::advance(Duration::from_secs(86_400)).await;
        assert_eq!([limits.admit(&key), limits.admit(&key)], [Ok(()), Ok(())]);
        assert!(limits.admit(&key).is_err());
        key.requests_per_minute = Some(3);
        assert_eq!(limits.admit(&key), Ok(()));
        let other = ClientKey::new("other", Secret::new("o"));
        assert_eq!(limits.admit(&other), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_that_were_too_many_are_waited_for() {
        let limits = KeyLimits::default();
        let mut key = ClientKey::new("team", Secret::new("k"));
        key.tokens_per_minute = Some(600);
        assert_eq!(limits.admit(&key), Ok(()));
        limits.spend("team", 1_199);
        assert_eq!(limits.admit(&key).unwrap_err().retry_seconds, 60);
        // The upstream counted fewer.
        limits.spend("team", -600);
        assert_eq!(limits.admit(&key), Ok(()));
        limits.spend("unknown", 1);
    }
}
