//! Connections to an upstream: certificates and the version of HTTP.

use std::path::PathBuf;

/// Way to connect to an upstream.
///
/// ```
/// use cupel_gateway::{Upstream, UpstreamConnection};
///
/// let mut connection = UpstreamConnection::default();
/// connection.ca_file = Some("/etc/cupel/ca.pem".into());
/// let upstream = Upstream::new("https://llm.internal/v1")?.connection(connection);
/// # let _ = upstream;
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamConnection {
    /// Certificate authorities that are trusted. By default Mozilla's list, or those in `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` if these variables are set; none besides `ca_file` if there is one.
    pub roots: Option<TlsRoots>,
    /// PEM file with certificate authorities that are trusted for this upstream.
    pub ca_file: Option<PathBuf>,
    /// PEM file with the certificate that the gateway shows to the upstream, and its chain.
    pub client_cert: Option<PathBuf>,
    /// PEM file with the key of `client_cert`.
    pub client_key: Option<PathBuf>,
    /// Offers HTTP/2 besides HTTP/1.1.
    pub http2: bool,
    /// Connects directly, even if the environment names a proxy.
    pub is_direct: bool,
}

/// List of certificate authorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsRoots {
    /// Those of the operating system, or those in `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    System,
    /// Mozilla's, which are part of the gateway.
    Webpki,
}
