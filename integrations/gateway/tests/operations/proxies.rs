//! Proxies that the environment names: one of the tests' own, and tinyproxy.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::network::ask;
use crate::process::{PATIENCE, Process};
use crate::proxy_server::ProxyServer;
use crate::tls_server::{Authority, TlsServer};

const PASSWORD: &str = "pa55-of-the-proxy";

/// A server with a certificate for `llm.internal`, a name that nobody resolves.
async fn internal() -> (TlsServer, tempfile::TempDir, String) {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let file = authority.write(folder.path());
    let server = TlsServer::start(&authority.sign("llm.internal")).await;
    let url = "https://llm.internal/v1";
    let config = format!("[[upstreams]]\nurl = \"{url}\"\nca_file = \"{}\"\n", file.display());
    (server, folder, config)
}

#[tokio::test]
async fn https_goes_through_a_tunnel_with_credentials() {
    let (server, _folder, config) = internal().await;
    let proxy = ProxyServer::start(server.address, "");
    let url = format!("http://user:{PASSWORD}@{}", proxy.address);
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let gateway = Process::start(&config, &[(name, &url)]);
        assert_eq!(ask(&gateway).await, (200, "HTTP/1.1 GET /v1/files".to_owned()));
        let head = proxy.heads().pop().unwrap();
        assert!(head.starts_with("CONNECT llm.internal:443 HTTP/1.1\r\n"), "{head}");
        let basic = "Proxy-Authorization: Basic dXNlcjpwYTU1LW9mLXRoZS1wcm94eQ==\r\n";
        assert!(head.contains(basic), "{head}");
    }
    let heads = proxy.heads().len();
    for variables in [
        [("HTTPS_PROXY", &*url), ("NO_PROXY", ".internal")],
        [("http_proxy", &url), ("HTTP_PROXY", &url)],
    ] {
        let (status, said) = ask(&Process::start(&config, &variables)).await;
        assert!(status == 502 && said.contains("its name cannot be resolved"), "{said}");
    }
    let direct = format!("{config}proxy = \"none\"\n");
    let (status, said) = ask(&Process::start(&direct, &[("HTTPS_PROXY", &url)])).await;
    assert!(status == 502 && said.contains("its name cannot be resolved"), "{said}");
    assert_eq!(proxy.heads().len(), heads);
}

#[tokio::test]
async fn plain_http_is_sent_to_the_proxy_with_its_whole_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
        }
    });
    let proxy = ProxyServer::start(to, "");
    let url = format!("http://user:{PASSWORD}@{}", proxy.address);
    let config = "[[upstreams]]\nurl = \"http://llm.internal/v1\"\n";
    assert_eq!(ask(&Process::start(config, &[("http_proxy", &url)])).await, (200, "ok".to_owned()));
    let head = proxy.heads().pop().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get http://llm.internal/v1/files http/1.1\r\n"), "{head}");
    assert!(
        head.contains("host: llm.internal\r\n") && head.contains("proxy-authorization: basic ")
    );
    // Programs that web servers start get a header of the request in this variable.
    assert_eq!(ask(&Process::start(config, &[("HTTP_PROXY", &url)])).await.0, 502);
    assert_eq!(proxy.heads().len(), 1);
}

#[tokio::test]
async fn this_machine_is_reached_without_a_proxy() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let file = authority.write(folder.path());
    let server = TlsServer::start(&authority.sign("localhost")).await;
    let (url, file) = (server.url(), file.display());
    let config = format!("[[upstreams]]\nurl = \"{url}\"\nca_file = \"{file}\"\n");
    let gateway = Process::start(&config, &[("ALL_PROXY", "http://192.0.2.1:9")]);
    assert_eq!(ask(&gateway).await.0, 200);
}

#[tokio::test]
async fn an_error_says_that_it_is_the_proxys() {
    let (server, _folder, tls) = internal().await;
    let plain = "[[upstreams]]\nurl = \"http://llm.internal/v1\"\n".to_owned();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let wrong = ProxyServer::start(server.address, "407 Proxy Authentication Required").address;
    let forbidden = ProxyServer::start(server.address, "403 Filtered").address;
    let other = "could not be reached: the proxy requires other credentials";
    for (config, proxy, expected) in [
        (&tls, wrong, other),
        (&plain, wrong, other),
        (&tls, forbidden, "the proxy could not or would not connect to it"),
        (&tls, closed, "no connection to the proxy: it refused the connection"),
        (&plain, closed, "no connection to the proxy: it refused the connection"),
    ] {
        let url = format!("http://user:{PASSWORD}@{proxy}");
        let gateway = Process::start(config, &[("all_proxy", &url)]);
        let (status, said) = ask(&gateway).await;
        assert!(status == 502 && said.contains(expected), "{said}");
        gateway.wait_for("upstream gave no answer", 1);
        let log = gateway.log();
        assert!(log.contains(expected.trim_start_matches("could not be reached: ")), "{log}");
        for secret in [PASSWORD, "dXNlcjpwYTU1"] {
            assert!(!said.contains(secret) && !log.contains(secret), "{said}{log}");
        }
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_found_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, "[[upstreams]]\nurl = \"https://a.example/v1\"\n").unwrap();
    let value = format!("ftp://user:{PASSWORD}@proxy.example");
    let checked =
        Process::command(&file, &[("HTTPS_PROXY", &value)]).arg("--check").output().unwrap();
    let said = String::from_utf8(checked.stderr).unwrap();
    assert!(!checked.status.success() && said.contains("HTTPS_PROXY: the value"), "{said}");
    assert!(!said.contains(PASSWORD), "{said}");
}

/// Tinyproxy, which passes everything on to another proxy; it is killed when this is dropped.
struct Tinyproxy {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Tinyproxy {
    fn start(next: SocketAddr) -> Option<Self> {
        if Command::new("tinyproxy").arg("-v").stdout(Stdio::null()).status().is_err() {
            skip("tinyproxy is not installed (apt-get install tinyproxy)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tinyproxy.conf");
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let port = address.port();
        let text = format!(
            "Port {port}\nListen 127.0.0.1\nTimeout 60\nBasicAuth user {PASSWORD}\nUpstream http {next}\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new("tinyproxy");
        command.arg("-d").arg("-c").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(started.elapsed() < PATIENCE, "tinyproxy does not listen");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Some(Self { child, address, _folder: folder })
    }
}

impl Drop for Tinyproxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Skips a test because something is missing; fails if `CUPEL_REQUIRE_TINYPROXY` is set.
fn skip(what: &str) {
    let is_required = std::env::var_os("CUPEL_REQUIRE_TINYPROXY").is_some();
    assert!(!is_required, "CUPEL_REQUIRE_TINYPROXY is set, but {what}");
    // Past the capture of a test's output: a skip must be seen.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

#[tokio::test]
async fn tinyproxy_passes_https_and_plain_http() {
    let (server, _folder, tls) = internal().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
            drop(std::io::Read::read(&mut stream, &mut [0; 4_096]));
            drop(stream.write_all(answer));
        }
    });
    let plain = "[[upstreams]]\nurl = \"http://llm.internal/v1\"\n".to_owned();
    for (config, to) in [(&tls, server.address), (&plain, to)] {
        // Nobody resolves `llm.internal`, so tinyproxy passes it on to the proxy of the tests' own.
        let Some(proxy) = Tinyproxy::start(ProxyServer::start(to, "").address) else { return };
        let url = format!("http://user:{PASSWORD}@{}", proxy.address);
        let other = format!("http://{}", proxy.address);
        let (status, said) = ask(&Process::start(config, &[("all_proxy", &url)])).await;
        assert_eq!(status, 200, "{said}");
        let (status, said) = ask(&Process::start(config, &[("all_proxy", &other)])).await;
        assert_eq!(status, 502, "{said}");
        assert!(said.contains("the proxy requires other credentials"), "{said}");
    }
}
