//! Spans and metrics for a collector, if the environment names one.

use std::time::Duration;

use cupel_otel::otlp::{Bytes, HttpError, Otlp, Reply, Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::Handle;

/// Timeout of an export: the exporter's own default.
const TIME: Duration = Duration::from_secs(10);

/// Longest answer of a collector.
const ANSWER_BYTES: usize = 64 * 1024;

type Pool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Exporter, if the environment asks for one.
pub(super) struct Telemetry(Option<Otlp>);

/// Starts the exporter. Call it inside a runtime, before layers are built.
pub(super) fn begin() -> Result<Telemetry, String> {
    if !cupel_otel::otlp::is_asked_for() {
        return Ok(Telemetry(None));
    }
    let tls =
        HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
    let pool: Pool = Client::builder(TokioExecutor::new()).build(tls);
    let runtime = Handle::current();
    let post = move |request: Request<Bytes>| {
        let sent = post(pool.clone(), request);
        // The threads of the SDK have no runtime.
        let sent = runtime.spawn(async { tokio::time::timeout(TIME, sent).await? });
        Box::pin(async { sent.await? }) as Reply
    };
    let otlp = Otlp::from_environment("cupel-gateway", post).map_err(|error| error.to_string())?;
    if let Some(otlp) = &otlp {
        otlp.install();
    }
    Ok(Telemetry(otlp))
}

async fn post(pool: Pool, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let answer = pool.request(request.map(Full::new)).await;
    let answer = answer.inspect_err(|error| tracing::warn!(%error, "telemetry was not sent"))?;
    let (parts, body) = answer.into_parts();
    if !parts.status.is_success() {
        tracing::warn!(status = parts.status.as_u16(), "the collector refused telemetry");
    }
    let body = Limited::new(body, ANSWER_BYTES).collect().await?;
    Ok(Response::from_parts(parts, body.to_bytes()))
}

impl Telemetry {
    /// Sends the rest.
    pub(super) async fn end(self) {
        let Some(otlp) = self.0 else { return };
        // It blocks until the collector answers, which needs the runtime.
        let ended = tokio::task::spawn_blocking(|| otlp.shutdown()).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!(%error, "the last telemetry was not sent");
        }
    }
}
