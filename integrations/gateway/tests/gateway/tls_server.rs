//! Servers with TLS, and the certificate authorities of the tests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate authority.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(crate) struct Identity {
    pub(crate) pem: String,
    pub(crate) key_pem: String,
    chain: rustls::pki_types::CertificateDer<'static>,
    key: Vec<u8>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for a name or an address.
    pub(crate) fn sign(&self, name: &str) -> Identity {
        self.sign_with(&CertificateParams::new([name.to_owned()]).unwrap())
    }

    pub(crate) fn sign_expired(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign_with(&params)
    }

    fn sign_with(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity {
            pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            chain: certificate.der().clone(),
            key: key.serialize_der(),
        }
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Writes its certificate to a file.
    pub(crate) fn write(&self, folder: &Path) -> std::path::PathBuf {
        let file = folder.join("ca.pem");
        std::fs::write(&file, self.pem()).unwrap();
        file
    }
}

/// Behaviour of a server after the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterHandshake {
    /// Answers over the protocol that was agreed on.
    Answer,
    /// Ends in the middle of the answer, without an end of TLS.
    Truncate,
}

/// A server with TLS; it stops when this is dropped.
pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl TlsServer {
    pub(crate) async fn start(identity: &Identity) -> Self {
        Self::start_with("127.0.0.1:0", identity, None, &["http/1.1"], AfterHandshake::Answer).await
    }

    pub(crate) async fn start_with(
        listen: &str,
        identity: &Identity,
        clients: Option<&Authority>,
        protocols: &[&str],
        after: AfterHandshake,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.0.der().clone()).unwrap();
                let roots = Arc::new(roots);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.key.clone()));
        let mut config = builder.with_single_cert(vec![identity.chain.clone()], key).unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, after).await;
                    }
                });
            }
        });
        Self { address, task }
    }

    /// Its address, by the name `localhost`.
    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}/v1", self.address.port())
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TlsStream<TcpStream>, after: AfterHandshake) {
    if after == AfterHandshake::Truncate {
        let mut read = [0; 1_024];
        drop(stream.read(&mut read).await);
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf an ").await);
        drop(stream.flush().await);
        // The socket closes and TLS does not.
        return drop(stream.into_inner());
    }
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let answer = service_fn(|request: Request<Incoming>| async move {
        let said = format!("{:?} {} {}", request.version(), request.method(), request.uri().path());
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(said))))
    });
    let stream = TokioIo::new(stream);
    if is_h2 {
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        drop(builder.serve_connection(stream, answer).await);
    } else {
        drop(hyper::server::conn::http1::Builder::new().serve_connection(stream, answer).await);
    }
}
