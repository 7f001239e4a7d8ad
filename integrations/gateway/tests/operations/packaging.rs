//! Files for containers and service managers, the health check, and the notices to systemd.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;

use cupel_gateway::Config;

use crate::process::{PATIENCE, Process};

const UPSTREAM: &str = "[[upstreams]]\nurl = \"http://127.0.0.1:1/v1\"\n";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

/// Starts a gateway, and waits until it answers.
fn serving(variables: &[(&str, &str)]) -> Process {
    let gateway = Process::start(UPSTREAM, variables);
    let mut answer = String::new();
    let mut client = gateway.send("GET /health/liveness HTTP/1.1\r\nConnection: close");
    std::io::Read::read_to_string(&mut client, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    gateway
}

fn health(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cupel-gateway"))
        .arg("--health")
        .args(arguments)
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_binary_checks_the_health_of_the_gateway_that_runs() {
    let gateway = serving(&[]);
    assert_eq!(health(&["--listen", &gateway.address]), (true, String::new()));
    let port = gateway.address.rsplit_once(':').unwrap().1;
    assert!(health(&["--listen", &format!("0.0.0.0:{port}")]).0);
    // Only the address in the file counts: its keys may be elsewhere.
    let listen = format!("listen = \"0.0.0.0:{port}\"\nkeys = [{{ env = \"NOT_SET\" }}]\n");
    std::fs::write(gateway.file(), listen + UPSTREAM).unwrap();
    assert!(health(&["--config", gateway.file().to_str().unwrap()]).0);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (is_good, said) = health(&["--listen", &closed.to_string()]);
    assert!(!is_good && said.contains("no answer from 127.0.0.1"), "{said}");
}

#[test]
fn systemd_is_told_when_the_gateway_is_ready_and_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let gateway = serving(&[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    let mut said = [0; 64];
    let length = socket.recv(&mut said).unwrap();
    assert_eq!(&said[..length], b"READY=1\n");
    gateway.signal("-TERM");
    let length = socket.recv(&mut said).unwrap();
    assert_eq!(&said[..length], b"STOPPING=1\n");
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    let unit = std::fs::read_to_string(file("cupel-gateway.service")).unwrap();
    assert!(unit.contains("\nType=notify\n") && unit.contains("kill -HUP $MAINPID"));
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("cupel-gateway.service");
    let here = env!("CARGO_BIN_EXE_cupel-gateway");
    std::fs::write(&copy, unit.replace("/usr/local/bin/cupel-gateway", here)).unwrap();
    let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&copy).output() else {
        return eprintln!("skipped: systemd-analyze is not installed");
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("cupel-gateway")).collect();
    assert!(output.status.success() && ours.is_empty(), "{said}");
}

#[cfg(feature = "archive")]
#[test]
fn the_configurations_of_the_containers_are_valid() {
    for name in ["gateway.toml", "compose.toml"] {
        let text = std::fs::read_to_string(file(name)).unwrap();
        let value = |name: &str| match name {
            "ARCHIVE_URL" => Some("postgres://cupel@postgres/cupel".to_owned()),
            name => Some(format!("value of {name}")),
        };
        let config = Config::from_toml(&text, &value).unwrap();
        assert_eq!(config.problems(), [""; 0], "{name}");
    }
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cupel-gateway"));
        let output = command.args(["--completions", shell]).output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("fail-closed"), "{shell}");
    }
}
