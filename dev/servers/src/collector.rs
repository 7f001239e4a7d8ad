//! A collector on loopback that keeps what OTLP exporters send.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

/// A path and a body.
type Posted = (String, Vec<u8>);

/// An OTLP collector that stores instead of forwarding.
pub struct Collector {
    address: SocketAddr,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Collector {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let posted = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&posted);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let posted = receive(&stream);
                sink.lock().unwrap().push(posted);
                // Only now: whoever has the answer may look at what is stored.
                stream.write_all(SUCCESS).unwrap();
            }
        });
        Self { address, posted }
    }

    /// The address of the collector.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every byte received, message by message.
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.posted.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    pub fn traces(&self) -> Vec<ExportTraceServiceRequest> {
        self.decoded("/v1/traces")
    }

    pub fn metrics(&self) -> Vec<ExportMetricsServiceRequest> {
        self.decoded("/v1/metrics")
    }

    fn decoded<M: Message + Default>(&self, path: &str) -> Vec<M> {
        let posted = self.posted.lock().unwrap();
        let bodies = posted.iter().filter(|(to, _)| to == path);
        bodies.map(|(_, body)| M::decode(body.as_slice()).unwrap()).collect()
    }
}

const SUCCESS: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Reads one request.
fn receive(stream: &TcpStream) -> Posted {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "content-type" => assert_eq!(value.trim(), "application/x-protobuf"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (path, body)
}
