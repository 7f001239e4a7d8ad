//! Login of the page: a token, which is never in an address, and a cookie.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{COOKIE, HeaderMap, HeaderValue};
use ring::hmac;
use tokio::time::Instant;

use crate::credentials::{Secret, hex};

/// Name of the cookie.
const NAME: &str = "cupel_page";

/// Lifetime of the cookie: half a day.
const SECONDS: u32 = 43_200;

/// Wrong tokens that one address may send in a minute.
const TRIES: u32 = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// Most addresses whose wrong tokens are counted.
const ADDRESSES: usize = 1_024;

/// Login of the page.
#[derive(Debug)]
pub(crate) struct PageLogin {
    /// Time of the first wrong token of an address, and their number.
    wrong: Mutex<HashMap<Option<IpAddr>, (Instant, u32)>>,
    token: Secret,
    /// Value of the cookie: a hash, so that no browser stores the token itself.
    mark: Secret,
}

impl PageLogin {
    pub(crate) fn new(token: Secret) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, token.expose().as_bytes());
        let mark = Secret::new(hex(hmac::sign(&key, b"the page's cookie").as_ref()));
        Self { wrong: Mutex::default(), token, mark }
    }

    /// Returns whether a request has the cookie.
    pub(super) fn is_open_to(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).map(str::trim);
        let marks = pairs.find_map(|pair| pair.strip_prefix(NAME)?.strip_prefix('='));
        marks.is_some_and(|mark| self.mark.is(mark.as_bytes()))
    }

    /// Returns whether an address may try a token.
    pub(super) fn may_try(&self, client: Option<IpAddr>) -> bool {
        let wrong = self.wrong();
        let tries = wrong.get(&client).filter(|(since, _)| since.elapsed() < MINUTE);
        tries.is_none_or(|(_, tries)| *tries < TRIES)
    }

    /// Counts a wrong token of an address.
    pub(super) fn was_wrong(&self, client: Option<IpAddr>) {
        let mut wrong = self.wrong();
        if wrong.len() >= ADDRESSES {
            wrong.retain(|_, (since, _)| since.elapsed() < MINUTE);
        }
        if wrong.len() >= ADDRESSES {
            wrong.clear();
        }
        let (since, tries) = wrong.entry(client).or_insert((Instant::now(), 0));
        if since.elapsed() >= MINUTE {
            (*since, *tries) = (Instant::now(), 0);
        }
        *tries = tries.saturating_add(1);
    }

    fn wrong(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, (Instant, u32)>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cookie for the right token.
    pub(super) fn cookie_for(&self, token: &[u8]) -> Option<HeaderValue> {
        if !self.token.is(token.trim_ascii()) {
            return None;
        }
        let mark = self.mark.expose();
        let cookie =
            format!("{NAME}={mark}; HttpOnly; SameSite=Strict; Path=/cupel/; Max-Age={SECONDS}");
        HeaderValue::from_str(&cookie).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_opens_the_door_and_is_not_in_the_cookie() {
        let login = PageLogin::new(Secret::new("token-1"));
        assert!(login.cookie_for(b"token-2").is_none());
        assert!(login.cookie_for(b"").is_none());
        let cookie = login.cookie_for(b"token-1").unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(!cookie.contains("token-1"));
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let pair = cookie.split(';').next().unwrap();
        let open = |value: &str| {
            login.is_open_to(&HeaderMap::from_iter([(COOKIE, value.parse().unwrap())]))
        };
        assert!(open(pair) && open(&format!("a=b; {pair}; c=d")));
        assert!(!open("cupel_page=") && !open("cupel_page=token-1") && !open(&pair[..20]));
    }

    #[tokio::test(start_paused = true)]
    async fn who_shows_wrong_tokens_has_to_wait_and_others_do_not() {
        let login = PageLogin::new(Secret::new("token-1"));
        let (one, other) = ("10.0.0.1".parse().ok(), "10.0.0.2".parse().ok());
        for _ in 0..TRIES {
            assert!(login.may_try(one));
            login.was_wrong(one);
        }
        assert!(!login.may_try(one) && login.may_try(other));
        tokio::time::advance(MINUTE).await;
        assert!(login.may_try(one));
        for index in 0..3 * u32::try_from(ADDRESSES).unwrap() {
            login.was_wrong(Some(IpAddr::from(index.to_be_bytes())));
        }
        assert!(login.wrong().len() <= ADDRESSES);
    }
}
