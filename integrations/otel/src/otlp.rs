//! Exporters of spans and metrics, configured by OpenTelemetry's own environment variables.
//!
//! They are for programs without telemetry of their own. Nothing is sent unless
//! `OTEL_EXPORTER_OTLP_ENDPOINT`, or that of a signal (`…_TRACES_ENDPOINT`, `…_METRICS_ENDPOINT`), is set.
//! `OTEL_TRACES_EXPORTER=none`, `OTEL_METRICS_EXPORTER=none` and `OTEL_SDK_DISABLED=true` turn it off again.
//! The SDK and the exporter read headers, timeouts, resources, sampling and batches. The protocol is
//! `http/protobuf`. The program brings the HTTP client.

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

/// Variable with the address of the collector.
pub const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The only supported protocol.
const PROTOCOL: &str = "http/protobuf";

/// Future answer of a collector.
pub type Reply = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send>>;

/// Sends a request to a collector. Threads of the SDK poll it, outside of any runtime.
type Post = Arc<dyn Fn(Request<Bytes>) -> Reply + Send + Sync>;

/// Error in the variables, or of an export.
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

/// Returns whether the environment asks for an exporter.
#[must_use]
pub fn is_asked_for() -> bool {
    SIGNALS.iter().any(Signal::is_asked_for)
}

impl Otlp {
    /// Makes the providers that the environment asks for; `None` if it asks for nothing. `service` is the name
    /// of the program, unless the environment has another.
    ///
    /// # Errors
    ///
    /// Returns the name of a variable whose value is not valid.
    pub fn from_environment(
        service: &'static str,
        post: impl Fn(Request<Bytes>) -> Reply + Send + Sync + 'static,
    ) -> Result<Option<Self>, OtlpError> {
        let [traces, metrics] = &SIGNALS;
        if !is_asked_for() {
            return Ok(None);
        }
        let client = PostClient(Arc::new(post));
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

    /// Makes them the global providers of the process. Call it before layers are built: metrics go to the
    /// provider that is global when [`CupelMetrics::global`](crate::CupelMetrics::global) is called.
    pub fn install(&self) {
        if let Some(tracers) = &self.tracers {
            opentelemetry::global::set_tracer_provider(tracers.clone());
        }
        if let Some(meters) = &self.meters {
            opentelemetry::global::set_meter_provider(meters.clone());
        }
    }

    /// Sends the rest and ends. It blocks the thread until the collector has answered.
    ///
    /// # Errors
    ///
    /// Returns the error of an export that failed.
    pub fn shutdown(self) -> Result<(), OtlpError> {
        let traces = self.tracers.map_or(Ok(()), |tracers| tracers.shutdown());
        let metrics = self.meters.map_or(Ok(()), |meters| meters.shutdown());
        traces.and(metrics).map_err(|error| OtlpError(error.to_string()))
    }
}

/// Kind of telemetry, by its name in variables.
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

    /// Refuses values that the exporter would misunderstand, or fail on with every export.
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

/// Returns a variable of the environment that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn resource(service: &'static str) -> Resource {
    let is_named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|set| set.contains("service.name="));
    // The builder reads the environment, but a name that is given here would override it.
    let builder = Resource::builder();
    if is_named { builder.build() } else { builder.with_service_name(service).build() }
}

#[derive(Clone)]
struct PostClient(Post);

impl fmt::Debug for PostClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostClient")
    }
}

#[async_trait]
impl HttpClient for PostClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        (self.0)(request).await
    }
}
