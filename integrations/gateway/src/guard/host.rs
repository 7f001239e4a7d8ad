//! Which names this server goes by.

use std::net::SocketAddr;

use http::header::{HOST, HeaderMap};

/// The hosts that are served, in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    exact: Vec<String>,
    /// Without a port: any will do, since a balancer in front may have its own.
    names: Vec<String>,
}

impl Hosts {
    /// The address that is listened on, `localhost`, and what is configured.
    pub(crate) fn new(listen: SocketAddr, configured: &[String]) -> Self {
        let port = listen.port();
        let mut exact = vec![listen.to_string()];
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            exact.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}")));
        }
        let mut names = Vec::new();
        for host in configured.iter().map(|host| host.to_ascii_lowercase()) {
            match port_of(&host) {
                Some(_) => exact.push(host),
                None => names.push(host),
            }
        }
        Self { exact, names }
    }

    pub(crate) fn allow(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = port_of(&host).and_then(|port| host.strip_suffix(port)?.strip_suffix(':'));
        let name = name.unwrap_or(&host);
        self.exact.contains(&host) || self.names.iter().any(|own| own == name)
    }
}

/// The digits after the last colon, if it is no part of an address.
fn port_of(host: &str) -> Option<&str> {
    let (_, port) = host.rsplit_once(':')?;
    (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())).then_some(port)
}

/// The one `Host` of a request.
pub(crate) fn host_of(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    (hosts.next().is_none() && !host.is_empty()).then_some(host)
}
