//! Reasons why an upstream could not be reached, in words for clients and logs. They name no address.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError, Error as TlsError};

use super::transport::TransportError;

/// Returns the reason of a failed request, if it is known.
pub(super) fn reason(error: &(dyn Error + 'static)) -> Option<String> {
    let mut causes = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        causes.push(cause);
        // An error in an `io::Error` is not its source.
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| cause.source());
    }
    if causes.iter().any(|cause| matches!(cause.downcast_ref(), Some(TransportError::Proxy(_)))) {
        return Some(proxy_reason(&causes));
    }
    // The innermost cause is the most exact.
    causes.iter().rev().find_map(|cause| {
        let tls = cause.downcast_ref::<TlsError>().map(tls_reason);
        let io = || io_reason(cause.downcast_ref::<io::Error>()?.kind()).map(str::to_owned);
        let parse = || cause.downcast_ref::<hyper::Error>().filter(|error| error.is_parse());
        let name = || {
            Some("its name cannot be resolved".to_owned())
                .filter(|_| cause.to_string() == "dns error")
        };
        tls.or_else(io)
            .or_else(|| parse().map(|_| "its answer is not HTTP/1.1".to_owned()))
            .or_else(name)
    })
}

/// Reason where a proxy wants a name and a password, or others.
pub(super) const PROXY_CREDENTIALS: &str = "the proxy requires other credentials";

/// Returns the reason why a proxy gave no connection. The errors of tunnels have no public types.
fn proxy_reason(causes: &[&(dyn Error + 'static)]) -> String {
    let says = |part: &str| causes.iter().any(|cause| cause.to_string().contains(part));
    let io = causes.iter().rev().find_map(|cause| cause.downcast_ref::<io::Error>());
    let tls = causes.iter().rev().find_map(|cause| cause.downcast_ref::<TlsError>());
    match (tls, io.and_then(|error| io_reason(error.kind()))) {
        (Some(tls), _) => format!("TLS to the proxy failed: {}", tls_reason(tls)),
        _ if says("authorization required") || says("credentials") => PROXY_CREDENTIALS.to_owned(),
        _ if says("dns error") => "the name of the proxy cannot be resolved".to_owned(),
        (None, Some(why)) => format!("no connection to the proxy: {why}"),
        (None, None) => "the proxy could not or would not connect to it".to_owned(),
    }
}

fn io_reason(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    Some(match kind {
        Kind::ConnectionRefused => "it refused the connection",
        Kind::TimedOut => "the connection timed out",
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::UnexpectedEof => "it closed the connection",
        Kind::HostUnreachable | Kind::NetworkUnreachable => "there is no route to it",
        _ => return None,
    })
}

fn tls_reason(error: &TlsError) -> String {
    use CertificateError as Wrong;
    match error {
        TlsError::InvalidCertificate(wrong) => match wrong {
            Wrong::UnknownIssuer => {
                "its certificate has an unknown issuer; the operator can set `ca_file` or `roots`"
                    .to_owned()
            }
            Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
                "its certificate is for another name".to_owned()
            }
            Wrong::Expired | Wrong::ExpiredContext { .. } => {
                "its certificate has expired".to_owned()
            }
            Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
                "its certificate is not valid yet".to_owned()
            }
            other => format!("its certificate is not valid: {other:?}"),
        },
        TlsError::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "it speaks no HTTP/1.1; the operator can set `http2 = true`".to_owned()
        }
        TlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "it requires a client certificate; the operator can set `client_cert`".to_owned()
        }
        TlsError::AlertReceived(alert) => format!("it refused the TLS connection: {alert:?}"),
        TlsError::InvalidMessage(_) => "its answer is not TLS".to_owned(),
        _ => "the TLS handshake failed".to_owned(),
    }
}
