//! Which names this server goes by.

use std::net::{IpAddr, SocketAddr};

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
        let mut exact = forms(listen);
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                exact.extend(with_port(name, listen.port()));
            }
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

    /// Whether this is one of our names, or the address of ours that was `reached`: balancers and
    /// orchestrators ask after health by it, and no page of another site can have it for its name.
    pub(crate) fn allow(&self, host: &str, reached: Option<SocketAddr>) -> bool {
        let host = host.to_ascii_lowercase();
        let name = port_of(&host).and_then(|port| host.strip_suffix(port)?.strip_suffix(':'));
        let name = name.unwrap_or(&host);
        self.exact.contains(&host)
            || self.names.iter().any(|own| own == name)
            || reached.is_some_and(|address| forms(address).contains(&host))
    }
}

/// How an address is written in a `Host`.
fn forms(address: SocketAddr) -> Vec<String> {
    // A socket for both families sees the older one's addresses in the newer one's form.
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => with_port(&ip.to_string(), address.port()),
        IpAddr::V6(ip) => with_port(&format!("[{ip}]"), address.port()),
    }
}

/// A name with its port; the usual port may be left out.
fn with_port(name: &str, port: u16) -> Vec<String> {
    let mut forms = vec![format!("{name}:{port}")];
    forms.extend((port == 80).then(|| name.to_owned()));
    forms
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_was_reached_is_a_name_and_no_other_is() {
        let hosts = Hosts::new("0.0.0.0:4141".parse().unwrap(), &[]);
        let reached = |host: &str, address: &str| hosts.allow(host, address.parse().ok());
        assert!(reached("10.0.0.5:4141", "10.0.0.5:4141"));
        assert!(reached("10.0.0.5:4141", "[::ffff:10.0.0.5]:4141"));
        assert!(reached("[fd00::5]:4141", "[fd00::5]:4141"));
        for other in ["10.0.0.5", "10.0.0.6:4141", "10.0.0.5:80", "10.0.0.5.evil.example:4141"] {
            assert!(!reached(other, "10.0.0.5:4141"), "{other}");
        }
    }

    #[test]
    fn the_usual_port_may_be_left_out() {
        let hosts = Hosts::new("127.0.0.1:80".parse().unwrap(), &[]);
        assert!(hosts.allow("localhost", None) && hosts.allow("127.0.0.1:80", None));
        let hosts = Hosts::new("127.0.0.1:4141".parse().unwrap(), &[]);
        assert!(!hosts.allow("localhost", None));
    }
}
