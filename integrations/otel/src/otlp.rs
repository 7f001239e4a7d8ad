//! Sends spans and metrics to a collector, as OpenTelemetry's own environment variables say.
//!
//! For programs that have no telemetry of their own yet. Nothing is sent unless
//! `OTEL_EXPORTER_OTLP_ENDPOINT`, or that of a signal (`…_TRACES_ENDPOINT`, `…_METRICS_ENDPOINT`), is set.
//! `OTEL_TRACES_EXPORTER=none`, `OTEL_METRICS_EXPORTER=none` and `OTEL_SDK_DISABLED=true` turn it off again;
//! headers, time-outs, resources, sampling and batches are read by the SDK and the exporter. The
//! protocol is `http/protobuf`. How bytes get there is the program's business: it brings a client.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use opentelemetry_http::HttpClient;
pub use opentelemetry_http::{Bytes, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;

/// Where the collector is.
pub const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The only protocol.
const PROTOCOL: &str = "http/protobuf";

/// A collector's answer, when it comes.
pub type Reply = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send>>;

/// Sends a request to a collector. It is polled on threads of the SDK's own, outside of any runtime.
type Post = Arc<dyn Fn(Request<Bytes>) -> Reply + Send + Sync>;

/// Why telemetry that was asked for cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpError(String);

impl fmt::Display for OtlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OtlpError {}

/// Providers whose exporters send to a collector.
#[derive(Debug)]
#[must_use]
pub struct Otlp {
    tracers: Option<SdkTracerProvider>,
    meters: Option<SdkMeterProvider>,
}

/// Whether the environment asks for anything.
#[must_use]
pub fn is_asked_for() -> bool {
    SIGNALS.iter().any(Signal::is_asked_for)
}

impl Otlp {
    /// What the environment asks for; none where it asks for nothing. `service` is the program's name,
    /// unless the environment has another.
    ///
    /// # Errors
    ///
    /// When a variable's value cannot be used; the error names it.
    pub fn from_environment(
        service: &'static str,
        post: impl Fn(Request<Bytes>) -> Reply + Send + Sync + 'static,
    ) -> Result<Option<Self>, OtlpError> {
        let [traces, metrics] = &SIGNALS;
        if !is_asked_for() {
            return Ok(None);
        }
        let client = Client(Arc::new(post));
        let failed = |error: opentelemetry_otlp::ExporterBuildError| OtlpError(error.to_string());
        let tracers = || {
            traces.check()?;
            let exporter = SpanExporter::builder().with_http().with_http_client(client.clone());
            let exporter = exporter.build().map_err(failed)?;
            let provider = SdkTracerProvider::builder().with_batch_exporter(exporter);
            Ok(provider.with_resource(resource(service)).build())
        };
        let meters = || {
            metrics.check()?;
            let exporter = MetricExporter::builder().with_http().with_http_client(client.clone());
            let reader = PeriodicReader::builder(exporter.build().map_err(failed)?).build();
            let provider = SdkMeterProvider::builder().with_reader(reader);
            Ok(provider.with_resource(resource(service)).build())
        };
        let tracers = traces.is_asked_for().then(tracers).transpose()?;
        let meters = metrics.is_asked_for().then(meters).transpose()?;
        Ok(Some(Self { tracers, meters }))
    }

    /// Makes them the process's global providers. Before layers are built: metrics are counted for the
    /// provider that is there when [`CupelMetrics::global`](crate::CupelMetrics::global) is called.
    pub fn install(&self) {
        if let Some(tracers) = &self.tracers {
            opentelemetry::global::set_tracer_provider(tracers.clone());
        }
        if let Some(meters) = &self.meters {
            opentelemetry::global::set_meter_provider(meters.clone());
        }
    }

    /// Sends what is left, and ends. It blocks the thread until the collector has answered.
    ///
    /// # Errors
    ///
    /// When the collector has not taken it.
    pub fn shutdown(self) -> Result<(), OtlpError> {
        let traces = self.tracers.map_or(Ok(()), |tracers| tracers.shutdown());
        let metrics = self.meters.map_or(Ok(()), |meters| meters.shutdown());
        traces.and(metrics).map_err(|error| OtlpError(error.to_string()))
    }
}

/// One kind of telemetry, by its name in the variables that are about it.
struct Signal(&'static str);

const SIGNALS: [Signal; 2] = [Signal("TRACES"), Signal("METRICS")];

impl Signal {
    fn endpoint(&self) -> String {
        format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", self.0)
    }

    fn is_asked_for(&self) -> bool {
        let is = |name: &str, value: &str| {
            variable(name).is_some_and(|set| set.eq_ignore_ascii_case(value))
        };
        let endpoint = variable(&self.endpoint()).or_else(|| variable(ENDPOINT));
        let is_off =
            is("OTEL_SDK_DISABLED", "true") || is(&format!("OTEL_{}_EXPORTER", self.0), "none");
        endpoint.is_some() && !is_off
    }

    /// What the exporter would take for something else than was meant, or fail on with every export.
    fn check(&self) -> Result<(), OtlpError> {
        let protocol = format!("OTEL_EXPORTER_OTLP_{}_PROTOCOL", self.0);
        for name in [protocol.as_str(), "OTEL_EXPORTER_OTLP_PROTOCOL"] {
            if let Some(set) = variable(name).filter(|set| set != PROTOCOL) {
                return Err(OtlpError(format!("{name} is {set:?}, expected {PROTOCOL:?}")));
            }
        }
        let is_address =
            |set: &str| ["http://", "https://"].iter().any(|scheme| set.starts_with(scheme));
        for name in [self.endpoint().as_str(), ENDPOINT] {
            if let Some(set) = variable(name).filter(|set| !is_address(set)) {
                return Err(OtlpError(format!(
                    "{name} is {set:?}, expected an address that begins with http:// or https://"
                )));
            }
        }
        Ok(())
    }
}

/// A variable of the environment; empty is not set.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn resource(service: &'static str) -> Resource {
    let is_named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|set| set.contains("service.name="));
    // The builder reads the environment; a name that is given here would count for more.
    let builder = Resource::builder();
    if is_named { builder.build() } else { builder.with_service_name(service).build() }
}

#[derive(Clone)]
struct Client(Post);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        (self.0)(request).await
    }
}
