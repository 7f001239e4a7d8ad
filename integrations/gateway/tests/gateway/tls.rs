//! Upstreams with TLS, whose certificates are of an authority that the test has made.

use std::path::{Path, PathBuf};

use cupel_gateway::{Config, Gateway, TlsRoots, Upstream, UpstreamConnection};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::support::{PATIENCE, Running, http};
use crate::tls_server::{AfterHandshake, Authority, Identity, TlsServer};

/// An authority, and the folder with its file.
fn authority() -> (Authority, TempDir, PathBuf) {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let file = authority.write(folder.path());
    (authority, folder, file)
}

fn trusting(file: &Path) -> UpstreamConnection {
    let mut connection = UpstreamConnection::default();
    connection.ca_file = Some(file.to_path_buf());
    connection
}

fn config(url: &str, connection: UpstreamConnection) -> Config {
    Config::new(Upstream::new(url).unwrap().name("internal").connection(connection))
}

/// Asks an upstream through a gateway: the status and the text of the answer.
async fn ask(url: &str, connection: UpstreamConnection) -> (u16, String) {
    let gateway = Running::start(config(url, connection)).await;
    let answer = http().get(gateway.url("/v1/files")).timeout(PATIENCE).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_private_authority_is_trusted_where_it_is_named_and_nowhere_else() {
    let (authority, _folder, file) = authority();
    let server = TlsServer::start(&authority.sign("localhost")).await;
    let (status, said) = ask(&server.url(), trusting(&file)).await;
    assert_eq!((status, said.as_str()), (200, "HTTP/1.1 GET /v1/files"));
    let mut with_others = trusting(&file);
    with_others.roots = Some(TlsRoots::Webpki);
    assert_eq!(ask(&server.url(), with_others).await.0, 200);
    let (status, said) = ask(&server.url(), UpstreamConnection::default()).await;
    assert_eq!(status, 502);
    assert!(
        said.contains(
            "\\\"internal\\\" could not be reached: its certificate has an unknown issuer"
        ),
        "{said}"
    );
}

#[tokio::test]
async fn an_error_says_what_is_wrong_with_a_certificate() {
    let (authority, _folder, file) = authority();
    for (identity, expected) in [
        (authority.sign_expired("localhost"), "its certificate has expired"),
        (authority.sign("llm.example.org"), "its certificate is for another name"),
    ] {
        let server = TlsServer::start(&identity).await;
        let (status, said) = ask(&server.url(), trusting(&file)).await;
        assert_eq!(status, 502);
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains(&server.address.port().to_string()), "{said}");
    }
}

#[tokio::test]
async fn an_error_says_how_a_connection_failed() {
    let (_authority, _folder, file) = authority();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", closed.local_addr().unwrap());
    drop(closed);
    let (_, said) = ask(&url, trusting(&file)).await;
    assert!(said.contains("it refused the connection"), "{said}");
    for (answer, expected) in [
        ("", "it closed the connection"),
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "its answer is not TLS"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/v1", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; 4_096];
            drop(stream.read(&mut hello).await);
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let (_, said) = ask(&url, trusting(&file)).await;
        assert!(said.contains(expected), "{said}");
        server.await.unwrap();
    }
    let (_, said) = ask("https://no-such-host.invalid/v1", trusting(&file)).await;
    assert!(said.contains("its name cannot be resolved"), "{said}");
}

/// The handshake has the time of a connection, which is 10 s of the paused clock.
#[tokio::test]
async fn a_silent_upstream_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", silent.local_addr().unwrap());
    let gateway = Running::start(config(&url, UpstreamConnection::default())).await;
    let asking = tokio::spawn(http().get(gateway.url("/v1/files")).send());
    let _open = silent.accept().await.unwrap();
    tokio::time::pause();
    let answer = asking.await.unwrap().unwrap();
    assert_eq!(answer.status(), 502);
    let said = answer.text().await.unwrap();
    assert!(said.contains("the connection timed out"), "{said}");
}

/// Without an end of TLS the end of the answer may be missing.
#[tokio::test]
async fn a_truncated_answer_is_not_taken_for_a_whole_one() {
    let (authority, _folder, file) = authority();
    let identity = authority.sign("localhost");
    let (listen, http1) = ("127.0.0.1:0", ["http/1.1"]);
    let server =
        TlsServer::start_with(listen, &identity, None, &http1, AfterHandshake::Truncate).await;
    let gateway = Running::start(config(&server.url(), trusting(&file))).await;
    let answer = http().get(gateway.url("/v1/files")).timeout(PATIENCE).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.text().await.is_err());
}

#[tokio::test]
async fn http_2_is_used_on_request() {
    let (authority, _folder, file) = authority();
    let identity = authority.sign("localhost");
    let listen = "127.0.0.1:0";
    let only =
        TlsServer::start_with(listen, &identity, None, &["h2"], AfterHandshake::Answer).await;
    let mut connection = trusting(&file);
    connection.http2 = true;
    let (status, said) = ask(&only.url(), connection.clone()).await;
    assert_eq!((status, said.as_str()), (200, "HTTP/2.0 GET /v1/files"));
    let (status, said) = ask(&only.url(), trusting(&file)).await;
    assert_eq!(status, 502);
    assert!(said.contains("it speaks no HTTP/1.1"), "{said}");
    // A server with HTTP/1.1 alone is still spoken to.
    let other = TlsServer::start(&identity).await;
    assert_eq!(ask(&other.url(), connection).await.1, "HTTP/1.1 GET /v1/files");
}

#[tokio::test]
async fn an_address_of_ipv6_has_a_certificate_too() {
    let (authority, _folder, file) = authority();
    let identity = authority.sign("::1");
    let http1 = ["http/1.1"];
    let server =
        TlsServer::start_with("[::1]:0", &identity, None, &http1, AfterHandshake::Answer).await;
    let url = format!("https://{}/v1", server.address);
    assert_eq!(ask(&url, trusting(&file)).await.0, 200);
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_an_upstream_that_wants_one() {
    let (authority, folder, file) = authority();
    let identity = authority.sign("localhost");
    let (listen, http1) = ("127.0.0.1:0", ["http/1.1"]);
    let server =
        TlsServer::start_with(listen, &identity, Some(&authority), &http1, AfterHandshake::Answer)
            .await;
    let Identity { pem, key_pem, .. } = authority.sign("gateway");
    let (cert, key) = (folder.path().join("client.pem"), folder.path().join("client.key"));
    std::fs::write(&cert, pem).unwrap();
    std::fs::write(&key, key_pem).unwrap();
    let mut connection = trusting(&file);
    (connection.client_cert, connection.client_key) = (Some(cert), Some(key));
    assert_eq!(ask(&server.url(), connection).await.0, 200);
    let (status, said) = ask(&server.url(), trusting(&file)).await;
    assert_eq!(status, 502);
    assert!(said.contains("it requires a client certificate"), "{said}");
}

#[test]
fn files_that_cannot_be_used_are_mistakes_of_the_configuration() {
    let (authority, folder, file) = authority();
    let Identity { pem, key_pem, .. } = authority.sign("gateway");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("client.pem"), pem).unwrap();
    std::fs::write(path("client.key"), &key_pem).unwrap();
    std::fs::write(path("other.key"), authority.sign("gateway").key_pem).unwrap();
    std::fs::write(path("empty.pem"), "").unwrap();
    let problems = |change: &dyn Fn(&mut UpstreamConnection)| {
        let mut connection = trusting(&file);
        change(&mut connection);
        Gateway::new(config("https://localhost/v1", connection)).unwrap_err().to_string()
    };
    let missing = problems(&|one| one.ca_file = Some(path("none.pem")));
    assert!(missing.starts_with("upstreams[0].ca_file: "), "{missing}");
    let empty = problems(&|one| one.ca_file = Some(path("empty.pem")));
    assert!(empty.contains("has no certificate in PEM"), "{empty}");
    let alone = problems(&|one| one.client_cert = Some(path("client.pem")));
    assert!(alone.starts_with("upstreams[0].client_key: missing"), "{alone}");
    let other = problems(&|one| {
        one.client_cert = Some(path("client.pem"));
        one.client_key = Some(path("other.key"));
    });
    assert!(other.starts_with("upstreams[0].client_key: "), "{other}");
    let no_key = problems(&|one| {
        one.client_cert = Some(path("client.pem"));
        one.client_key = Some(path("client.pem"));
    });
    assert!(no_key.contains("has no private key"), "{no_key}");
    let secret = key_pem.lines().nth(1).unwrap();
    assert!([missing, empty, alone, other, no_key].iter().all(|said| !said.contains(secret)));
}
