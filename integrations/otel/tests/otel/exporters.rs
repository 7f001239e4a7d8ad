//! Exporters to a collector on loopback, and their client.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig};

use cupel_dev_servers::collector::Collector;

/// The OTLP exporters that send to a collector.
pub(crate) trait Exporters {
    fn span_exporter(&self) -> SpanExporter;
    fn metric_exporter(&self) -> MetricExporter;
}

impl Exporters for Collector {
    fn span_exporter(&self) -> SpanExporter {
        let builder = SpanExporter::builder().with_http().with_http_client(PlainClient);
        builder.with_endpoint(format!("{}/v1/traces", self.url())).build().unwrap()
    }

    fn metric_exporter(&self) -> MetricExporter {
        let builder = MetricExporter::builder().with_http().with_http_client(PlainClient);
        builder.with_endpoint(format!("{}/v1/metrics", self.url())).build().unwrap()
    }
}

/// Just enough of HTTP/1.1 for the exporters.
#[derive(Debug)]
struct PlainClient;

#[async_trait]
impl HttpClient for PlainClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let uri = request.uri();
        let authority = uri.authority().ok_or("no address")?.as_str();
        let mut stream = TcpStream::connect(authority)?;
        write!(stream, "POST {} HTTP/1.1\r\nhost: {authority}\r\n", uri.path())?;
        for (name, value) in request.headers() {
            write!(stream, "{name}: {}\r\n", value.to_str()?)?;
        }
        write!(stream, "content-length: {}\r\n\r\n", request.body().len())?;
        stream.write_all(request.body())?;
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status)?;
        let code: u16 = status.split(' ').nth(1).ok_or("no status")?.parse()?;
        Ok(Response::builder().status(code).body(Bytes::new())?)
    }
}
