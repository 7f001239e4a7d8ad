//! Who may look: whoever has the token, which is never in an address.

use http::header::{COOKIE, HeaderMap, HeaderValue};
use ring::hmac;

use crate::secret::{Secret, hex};

/// The cookie's name.
const NAME: &str = "cupel_page";

/// Half a day.
const SECONDS: u32 = 43_200;

/// The door to the page.
#[derive(Debug)]
pub(crate) struct Door {
    token: Secret,
    /// What the cookie holds: the token's mark, so that the token itself is nowhere in a browser.
    mark: Secret,
}

impl Door {
    pub(crate) fn new(token: Secret) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, token.expose().as_bytes());
        let mark = Secret::new(hex(hmac::sign(&key, b"the page's cookie").as_ref()));
        Self { token, mark }
    }

    /// Whether a request has the cookie.
    pub(super) fn is_open_to(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).map(str::trim);
        let marks = pairs.find_map(|pair| pair.strip_prefix(NAME)?.strip_prefix('='));
        marks.is_some_and(|mark| self.mark.is(mark.as_bytes()))
    }

    /// The cookie for whoever shows the token.
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
        let door = Door::new(Secret::new("token-1"));
        assert!(door.cookie_for(b"token-2").is_none());
        assert!(door.cookie_for(b"").is_none());
        let cookie = door.cookie_for(b"token-1").unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(!cookie.contains("token-1"));
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let pair = cookie.split(';').next().unwrap();
        let open = |value: &str| {
            door.is_open_to(&HeaderMap::from_iter([(COOKIE, value.parse().unwrap())]))
        };
        assert!(open(pair) && open(&format!("a=b; {pair}; c=d")));
        assert!(!open("cupel_page=") && !open("cupel_page=token-1") && !open(&pair[..20]));
    }
}
