//! Reloads: on SIGHUP, and with `--watch` when the file changes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::process::{PATIENCE, Process};

/// An upstream of one answer a connection, which names it.
fn upstream(name: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_until(&mut stream, "\r\n\r\n");
            let (length, end) = (name.len(), "Connection: close\r\n\r\n");
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{end}{name}").unwrap();
        }
    });
    url
}

fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let (mut read, mut byte) = (Vec::new(), [0]);
    while !read.ends_with(end.as_bytes()) && stream.read(&mut byte).unwrap() == 1 {
        read.push(byte[0]);
    }
    String::from_utf8(read).unwrap()
}

fn ask(gateway: &Process) -> String {
    let mut client = gateway.send("GET /v1/files HTTP/1.1\r\nConnection: close");
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

fn in_front_of(url: &str) -> String {
    format!("[[upstreams]]\nname = \"only\"\nurl = \"{url}\"\n")
}

#[test]
fn a_hangup_changes_upstreams_and_keys_and_no_stream_is_lost() {
    let first = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", first.local_addr().unwrap());
    let gateway = Process::start(&in_front_of(&url), &[("GATEWAY_KEY", "gate-1")]);
    let mut client = gateway.send("GET /v1/stream HTTP/1.1");
    let (mut served, _) = first.accept().unwrap();
    served.set_read_timeout(Some(PATIENCE)).unwrap();
    read_until(&mut served, "\r\n\r\n");
    served.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").unwrap();
    read_until(&mut client, "abc");

    let second = in_front_of(&upstream("second"));
    std::fs::write(gateway.file(), format!("keys = [{{ env = \"GATEWAY_KEY\" }}]\n{second}"))
        .unwrap();
    gateway.signal("-HUP");
    gateway.wait_for("configuration reloaded", 1);
    assert!(ask(&gateway).starts_with("HTTP/1.1 401"));
    // A connection that was open before has the new configuration, too.
    served.write_all(b"3\r\ndef\r\n0\r\n\r\n").unwrap();
    assert!(read_until(&mut client, "0\r\n\r\n").contains("def"));
    let head = "GET /v1/files HTTP/1.1\r\nAuthorization: Bearer gate-1\r\nConnection: close";
    write!(client, "{head}\r\nHost: {}\r\n\r\n", gateway.address).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("second"), "{answer}");
    assert!(!gateway.log().contains("gate-1"));
}

#[test]
fn a_bad_file_is_refused_and_the_old_configuration_stays() {
    let good = in_front_of(&upstream("first"));
    let gateway = Process::start(&good, &[]);
    std::fs::write(gateway.file(), "at_mots = 1\n[[upstreams]]\nurl = \"nowhere\"\n").unwrap();
    gateway.signal("-HUP");
    gateway.wait_for("the previous one stays in use", 1);
    let log = gateway.log();
    assert!(log.contains("at_mots: unknown key") && log.contains("upstreams[0].url"), "{log}");
    assert!(ask(&gateway).ends_with("first"));
    // Certificates are files, too, and are read again.
    let missing = format!("{good}ca_file = \"/no/such.pem\"\n");
    std::fs::write(gateway.file(), missing).unwrap();
    gateway.signal("-HUP");
    gateway.wait_for("the previous one stays in use", 2);
    assert!(ask(&gateway).ends_with("first"));
    std::fs::write(gateway.file(), in_front_of(&upstream("second"))).unwrap();
    gateway.signal("-HUP");
    gateway.wait_for("configuration reloaded", 1);
    assert!(ask(&gateway).ends_with("second"));
}

#[test]
fn keys_that_need_a_restart_are_named_and_the_others_apply() {
    let gateway = Process::start(&in_front_of(&upstream("first")), &[]);
    let changed = in_front_of(&upstream("second"));
    let text = format!("{changed}[limits]\nconnections = 7\n[page]\nbytes = 1\n");
    std::fs::write(gateway.file(), text).unwrap();
    gateway.signal("-HUP");
    gateway.wait_for("\"page, limits.connections\"", 1);
    assert!(ask(&gateway).ends_with("second"));
}

#[test]
fn a_watched_file_is_read_again_when_it_changes() {
    let (first, second) = (in_front_of(&upstream("first")), in_front_of(&upstream("second")));
    let gateway = Process::start_with(&first, &[], &["--watch"]);
    assert!(ask(&gateway).ends_with("first"));
    // As editors and container mounts do it: another file takes the name.
    let beside = gateway.file().with_extension("new");
    std::fs::write(&beside, second).unwrap();
    std::fs::rename(&beside, gateway.file()).unwrap();
    gateway.wait_for("configuration reloaded", 1);
    assert!(ask(&gateway).ends_with("second"));
    std::fs::write(gateway.file(), "upstreams = 1").unwrap();
    gateway.wait_for("the previous one stays in use", 1);
    assert!(ask(&gateway).ends_with("second"));
}

#[test]
fn without_a_file_there_is_nothing_to_reload() {
    let folder = tempfile::tempdir().unwrap();
    let checked = Process::command(&folder.path().join("none.toml"), &[])
        .args(["--upstream", "http://127.0.0.1:1/v1", "--watch"])
        .output()
        .unwrap();
    assert!(!checked.status.success());
}
