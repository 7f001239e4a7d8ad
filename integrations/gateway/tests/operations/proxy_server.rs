//! A proxy of the tests' own. It sends every connection to one server, whatever name is asked for.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::process::PATIENCE;

/// A proxy that runs as long as the test process.
pub(crate) struct ProxyServer {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl ProxyServer {
    /// Starts it. `refusal` is the status line with which it answers everything, if it is not empty.
    pub(crate) fn start(to: SocketAddr, refusal: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || drop(pass(client, to, refusal, &seen)));
            }
        });
        Self { address, heads }
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn pass(
    mut client: TcpStream,
    to: SocketAddr,
    refusal: &str,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    seen.lock().unwrap().push(text.clone());
    if !refusal.is_empty() {
        return write!(client, "HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n");
    }
    let mut server = TcpStream::connect(to)?;
    if text.starts_with("CONNECT ") {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    } else {
        server.write_all(&head)?;
    }
    let (mut back, mut forth) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
    std::io::copy(&mut client, &mut server).map(drop)
}
