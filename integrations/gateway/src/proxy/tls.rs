//! TLS to upstreams: trusted authorities, the gateway's own certificate, and the versions of HTTP it offers.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::config::{TlsRoots, UpstreamConnection};

/// Makes the TLS configuration of a connection.
///
/// # Errors
///
/// Returns the key of the configuration that is wrong, and why.
pub(super) fn client_config(
    connection: &UpstreamConnection,
) -> Result<Arc<ClientConfig>, (&'static str, String)> {
    let mut roots = RootCertStore::empty();
    for certificate in connection
        .ca_file
        .as_deref()
        .map_or(Ok(Vec::new()), certificates)
        .map_err(in_key("ca_file"))?
    {
        roots
            .add(certificate)
            .map_err(|error| ("ca_file", format!("a certificate in it cannot be used: {error}")))?;
    }
    match trusted(connection) {
        Some(TlsRoots::System) => add_system(&mut roots).map_err(in_key("roots"))?,
        Some(TlsRoots::Webpki) => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        None => {}
    }
    let builder =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ("roots", error.to_string()))?
            .with_root_certificates(roots);
    let mut config = match (&connection.client_cert, &connection.client_key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(chain), Some(key)) => {
            let chain = certificates(chain).map_err(in_key("client_cert"))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
                ("client_key", format!("{} has no private key in PEM: {error}", key.display()))
            })?;
            let wrong =
                |error| ("client_key", format!("it cannot be used with client_cert: {error}"));
            builder.with_client_auth_cert(chain, key).map_err(wrong)?
        }
        (None, Some(_)) => return Err(("client_cert", MISSING.to_owned())),
        (Some(_), None) => return Err(("client_key", MISSING.to_owned())),
    };
    let versions: &[&[u8]] = if connection.http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = versions.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

const MISSING: &str = "missing, expected both client_cert and client_key";

fn in_key(key: &'static str) -> impl Fn(String) -> (&'static str, String) {
    move |why| (key, why)
}

/// Returns the list that is trusted besides `ca_file`.
fn trusted(connection: &UpstreamConnection) -> Option<TlsRoots> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match connection.roots {
        None if connection.ca_file.is_some() => None,
        None if is_set("SSL_CERT_FILE") || is_set("SSL_CERT_DIR") => Some(TlsRoots::System),
        None => Some(TlsRoots::Webpki),
        roots => roots,
    }
}

/// Adds the authorities of the system. Those that cannot be read are logged, as long as there is another.
fn add_system(roots: &mut RootCertStore) -> Result<(), String> {
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    let wrong = found.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    match added {
        0 => Err(format!("the system has no certificate authorities: {wrong}")),
        _ if wrong.is_empty() => Ok(()),
        _ => {
            tracing::warn!(wrong, "some certificate authorities of the system cannot be read");
            Ok(())
        }
    }
}

/// Reads the certificates of a PEM file.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let name = file.display();
    let wrong = |error| format!("{name} cannot be read as PEM: {error}");
    let read = CertificateDer::pem_file_iter(file).map_err(wrong)?;
    let all = read.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if all.is_empty() { Err(format!("{name} has no certificate in PEM")) } else { Ok(all) }
}
