//! The binary when it is told to stop, once and again.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A binary in front of this server.
fn start(upstream: &TcpListener) -> (Child, String) {
    start_by(Command::new(env!("CARGO_BIN_EXE_cupel-gateway")), upstream)
}

fn start_by(mut command: Command, upstream: &TcpListener) -> (Child, String) {
    let mut process = command
        .args(["--listen", "127.0.0.1:0", "--no-page", "--upstream"])
        .arg(format!("http://{}/v1", upstream.local_addr().unwrap()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").expect(&line);
    (process, address.trim_end_matches("/v1").to_owned())
}

fn read_until(stream: &mut impl Read, end: &str) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(end.as_bytes()) && stream.read(&mut byte).unwrap() == 1 {
        read.push(byte[0]);
    }
    String::from_utf8(read).unwrap()
}

fn terminate(process: &Child) {
    signal(process, "-TERM");
}

fn signal(process: &Child, name: &str) {
    let id = process.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// A stream that has begun: the client's end and the upstream's.
fn stream(upstream: &TcpListener, address: &str) -> (TcpStream, TcpStream) {
    let mut client = TcpStream::connect(address).unwrap();
    write!(client, "GET /v1/stream HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let (mut served, _) = upstream.accept().unwrap();
    read_until(&mut served, "\r\n\r\n");
    served.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").unwrap();
    read_until(&mut client, "abc");
    (client, served)
}

/// Waits until it has heard the signal: then it logs so.
fn stopping(process: &mut Child) -> BufReader<std::process::ChildStderr> {
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"stopping\"") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "it ended");
    }
    log
}

#[test]
fn once_lets_streams_end() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut process, address) = start(&upstream);
    let (mut client, mut served) = stream(&upstream, &address);
    terminate(&process);
    let _log = stopping(&mut process);
    assert!(TcpStream::connect(&address).is_err(), "new connections are taken");
    served.write_all(b"3\r\ndef\r\n0\r\n\r\n").unwrap();
    assert!(read_until(&mut client, "0\r\n\r\n").contains("def"));
    assert!(process.wait().unwrap().success());
}

#[test]
fn twice_ends_it_at_once() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut process, address) = start(&upstream);
    let (_client, _served) = stream(&upstream, &address);
    let started = Instant::now();
    terminate(&process);
    let mut log = stopping(&mut process);
    terminate(&process);
    assert!(!process.wait().unwrap().success());
    assert!(started.elapsed().as_secs() < 20, "it waited for its streams");
    let mut said = String::new();
    log.read_to_string(&mut said).unwrap();
    assert!(said.contains("stopped at once"), "{said}");
}

#[test]
fn signals_that_mean_nothing_end_nothing() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut process, address) = start(&upstream);
    let (mut client, mut served) = stream(&upstream, &address);
    let mut log = BufReader::new(process.stderr.take().unwrap());
    for (name, said) in
        [("HUP", "nothing to reload"), ("USR1", "\"SIGUSR1\""), ("USR2", "\"SIGUSR2\"")]
    {
        signal(&process, &format!("-{name}"));
        let mut line = String::new();
        while !line.contains(said) {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "SIG{name} ended it");
        }
    }
    served.write_all(b"3\r\ndef\r\n0\r\n\r\n").unwrap();
    assert!(read_until(&mut client, "0\r\n\r\n").contains("def"));
    terminate(&process);
    assert!(process.wait().unwrap().success());
}

/// Nobody reads what is logged: calls go on, and what was lost is counted.
#[test]
fn a_log_that_nobody_reads_stops_nobody() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut process, address) = start(&upstream);
    let mut client = TcpStream::connect(&address).unwrap();
    client.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    // Each is refused, and logged.
    for _ in 0..4_000 {
        write!(client, "GET /v1/models HTTP/1.1\r\nHost: elsewhere\r\n\r\n").unwrap();
        let head = read_until(&mut client, "\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 421"), "{head}");
        let (_, length) = head.split_once("content-length: ").unwrap();
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        client.read_exact(&mut vec![0; length]).unwrap();
    }
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("lost_log_lines") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "nothing is said of what was lost");
    }
    terminate(&process);
    drop(log);
    assert!(process.wait().unwrap().success());
}

/// More connections than the system has file descriptors for.
#[test]
fn idle_connections_are_closed_when_the_system_has_no_more() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_cupel-gateway")]);
    let (mut process, address) = start_by(command, &upstream);
    let mut idle = Vec::new();
    for _ in 0..200 {
        let mut client = TcpStream::connect(&address).unwrap();
        client.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        write!(client, "GET /health/liveness HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        assert!(read_until(&mut client, "\r\n\r\n").starts_with("HTTP/1.1 200"));
        idle.push(client);
    }
    terminate(&process);
    assert!(process.wait().unwrap().success());
}
