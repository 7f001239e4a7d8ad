//! Telemetry of a binary without the feature `otlp`: none.

/// Sends nothing.
pub(super) struct Telemetry;

/// Warns if the environment asks for telemetry.
pub(super) fn begin() -> Result<Telemetry, String> {
    const ENDPOINTS: [&str; 3] = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    ];
    for name in ENDPOINTS {
        if std::env::var_os(name).is_some_and(|set| !set.is_empty()) {
            tracing::warn!("{name} is set, but this binary was built without the feature `otlp`");
        }
    }
    Ok(Telemetry)
}

impl Telemetry {
    #[expect(clippy::unused_async, reason = "the exporter of the feature `otlp` is async")]
    pub(super) async fn end(self) {}
}
