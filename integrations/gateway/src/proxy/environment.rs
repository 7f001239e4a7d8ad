//! HTTP and SOCKS proxies that the environment names, as curl reads them.

use std::net::IpAddr;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// Proxies for upstreams. Loopback addresses never have one.
#[derive(Debug, Default)]
pub(super) struct Proxies(Option<Matcher>);

/// Proxy of one address.
#[derive(Debug, Clone)]
pub(super) struct Proxy {
    pub(super) uri: Uri,
    pub(super) kind: ProxyKind,
    /// Value of `Proxy-Authorization`.
    pub(super) basic: Option<HeaderValue>,
    /// User and password for SOCKS.
    pub(super) user: Option<(String, String)>,
}

/// Protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyKind {
    Http,
    Socks5,
}

/// Port of a proxy that is named without one, as in curl.
const PORT: u16 = 1080;

impl Proxies {
    /// No address has a proxy.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Reads the variables. The lower-case name comes first, and an empty variable counts as unset.
    ///
    /// # Errors
    ///
    /// Returns the names of variables that cannot be used, without their values: there may be a password.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<String>> {
        let first = |names: &[&str]| {
            let set = names.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
            set.map(|(name, value)| (name, value.trim().to_owned()))
                .find(|(_, value)| !value.is_empty())
        };
        // Programs that web servers start get the header `Proxy` of a request as HTTP_PROXY.
        let http = first(&["http_proxy"]);
        let https = first(&["https_proxy", "HTTPS_PROXY"]);
        let all = first(&["all_proxy", "ALL_PROXY"]);
        let no = first(&["no_proxy", "NO_PROXY"]).map_or(String::new(), |(_, list)| list);
        let wrong = [&http, &https, &all].into_iter().flatten().filter(|(_, url)| !is_usable(url));
        let wrong: Vec<String> = wrong
            .map(|(name, _)| {
                format!(
                    "{name}: the value of this variable cannot be used, expected the address of a \
                     proxy, such as http://proxy.example:3128 or socks5://proxy.example:1080"
                )
            })
            .collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        if [&http, &https, &all].into_iter().all(Option::is_none) {
            return Ok(Self::none());
        }
        let value = |set: Option<(String, String)>| set.map_or(String::new(), |(_, url)| url);
        let direct: Vec<&str> = no
            .split([',', ' ', '\t'])
            .map(|host| host.trim_start_matches('[').trim_end_matches(']'))
            .collect();
        let matcher = Matcher::builder()
            .http(value(http))
            .https(value(https))
            .all(value(all))
            .no(direct.join(","));
        Ok(Self(Some(matcher.build())))
    }

    /// Returns the proxy for an address, if it has one.
    pub(super) fn proxy(&self, address: &Uri) -> Option<Proxy> {
        let matcher = self.0.as_ref().filter(|_| !is_loopback(address.host().unwrap_or_default()));
        proxy(&matcher?.intercept(address)?)
    }
}

fn proxy(found: &Intercept) -> Option<Proxy> {
    let scheme = found.uri().scheme_str().unwrap_or_default();
    let kind = match scheme {
        "http" | "https" => ProxyKind::Http,
        "socks5" | "socks5h" => ProxyKind::Socks5,
        _ => return None,
    };
    let host = found.uri().host().unwrap_or_default();
    let uri = match (found.uri().port_u16(), scheme) {
        (None, "https") | (Some(_), _) => found.uri().clone(),
        (None, _) => format!("{scheme}://{host}:{PORT}/").parse().ok()?,
    };
    let user = found.raw_auth().map(|(user, password)| (user.to_owned(), password.to_owned()));
    Some(Proxy { uri, kind, basic: found.basic_auth().cloned(), user })
}

fn is_usable(url: &str) -> bool {
    let example = Uri::from_static("https://a.example/");
    let matcher = Matcher::builder().all(url).build();
    let found = matcher.intercept(&example).and_then(|found| proxy(&found));
    found.is_some_and(|proxy| proxy.uri.host().is_some_and(|host| !host.is_empty()))
}

/// Returns whether a host is this machine, whatever its port.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    let host = host.to_ascii_lowercase();
    let is_address = host.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback());
    is_address || host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Proxies, Vec<String>> {
        Proxies::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn proxy_of(variables: &[(&str, &str)], address: &str) -> Option<String> {
        let proxy = read(variables).unwrap().proxy(&address.parse().unwrap());
        proxy.map(|proxy| proxy.uri.to_string())
    }

    #[test]
    fn variables_are_read_as_curl_reads_them() {
        let one = Some("http://a.example:3128/".to_owned());
        let (plain, tls) = ("http://up.example/v1", "https://up.example/v1");
        for (name, for_plain, for_tls) in [
            ("http_proxy", true, false),
            ("HTTP_PROXY", false, false),
            ("https_proxy", false, true),
            ("HTTPS_PROXY", false, true),
            ("all_proxy", true, true),
            ("ALL_PROXY", true, true),
        ] {
            let set = [(name, "http://a.example:3128")];
            assert_eq!(proxy_of(&set, plain).is_some(), for_plain, "{name}");
            assert_eq!(proxy_of(&set, tls), one.clone().filter(|_| for_tls), "{name}");
        }
        let both = [("https_proxy", "a.example:3128"), ("HTTPS_PROXY", "b.example:1")];
        assert_eq!(proxy_of(&both, tls), one);
        let empty = [("https_proxy", " "), ("HTTPS_PROXY", "a.example:3128")];
        assert_eq!(proxy_of(&empty, tls), one);
        let port = proxy_of(&[("ALL_PROXY", "http://a.example")], tls);
        assert_eq!(port.as_deref(), Some("http://a.example:1080/"));
        assert_eq!(proxy_of(&[], tls), None);
    }

    #[test]
    fn loopback_and_listed_hosts_are_direct() {
        let all = ("ALL_PROXY", "http://a.example:3128");
        for address in [
            "http://localhost:8000/",
            "http://LocalHost/",
            "http://a.localhost/",
            "http://127.0.0.1/",
            "http://127.9.9.9:1/",
            "https://[::1]:8000/",
            "https://[::ffff:127.0.0.1]/",
        ] {
            assert_eq!(proxy_of(&[all], address), None, "{address}");
        }
        assert!(proxy_of(&[all], "http://localhost.example/").is_some());
        let no = ("NO_PROXY", ".internal, 10.0.0.0/8 api.example [fd00::1]");
        for address in [
            "https://llm.internal/",
            "https://10.1.2.3/",
            "https://api.example/",
            "https://v2.api.example/",
            "https://[fd00::1]/",
        ] {
            assert_eq!(proxy_of(&[all, no], address), None, "{address}");
        }
        assert!(proxy_of(&[all, no], "https://notapi.example/").is_some());
        assert_eq!(proxy_of(&[all, ("no_proxy", "*")], "https://a.b/"), None);
    }

    #[test]
    fn a_value_that_cannot_be_used_is_named_and_not_shown() {
        for value in
            ["ftp://user:hunter2@a", "socks4://hunter2@a:1", "http://u:hunter2@", "a b:hunter2"]
        {
            let wrong = read(&[("HTTPS_PROXY", value)]).unwrap_err().join("\n");
            assert!(wrong.starts_with("HTTPS_PROXY: ") && !wrong.contains("hunter2"), "{wrong}");
        }
        let proxies = read(&[("ALL_PROXY", "http://user:hunter2@a.example:1")]).unwrap();
        let proxy = proxies.proxy(&Uri::from_static("https://b.example/")).unwrap();
        assert_eq!(proxy.basic.as_ref().unwrap(), "Basic dXNlcjpodW50ZXIy");
        assert!(!format!("{proxies:?} {:?}", proxy.basic).contains("hunter2"));
    }
}
