//! No telemetry: what sends it is not built in.

/// Sends nothing.
pub(super) struct Telemetry;

/// Says so where telemetry was asked for: nobody should look for it in vain.
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
    #[expect(clippy::unused_async, reason = "as the other one")]
    pub(super) async fn end(self) {}
}
