//! Metrics of a gateway, in the text form that Prometheus reads.

mod labels;
mod server;

use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use cupel::gather::GatherReport;
use cupel_audit::TurnRepeats;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::proxy::Usage;
use crate::sides::Side;
use labels::{
    CallLabels, KeyLabels, ModelLabels, ModelNames, RequestLabels, ResultLabels, RouteLabels,
    SourceLabels, TurnLabels, UpstreamLabels,
};
pub(crate) use server::serve;

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Seconds from a quarter of a millisecond to ten minutes.
const SECONDS: [f64; 17] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
    60.0, 180.0, 600.0,
];

/// Counters since the process started. They hold no content and no keys.
#[derive(Debug)]
pub(crate) struct GatewayMetrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Histograms<RouteLabels>,
    own: Histograms<RouteLabels>,
    upstream: Histograms<UpstreamLabels>,
    calls: Family<CallLabels, Counter>,
    tokens: [Family<ModelLabels, Counter>; 7],
    /// Turns in which repeats were looked for, and those with repeats.
    turns: [Family<TurnLabels, Counter>; 2],
    /// Calls that were planned and sent unchanged, and the tokens that would have been sent and left out.
    planned: [Counter; 3],
    sources: Family<SourceLabels, Counter>,
    limited: Family<KeyLabels, Counter>,
    reloads: Family<ResultLabels, Counter>,
    reloaded: Gauge<f64, AtomicU64>,
    connections: Gauge,
    streams: Gauge,
    archive: ArchiveMetrics,
    models: ModelNames,
}

/// State of the archive, set before each answer.
#[derive(Debug, Default)]
struct ArchiveMetrics {
    open: Gauge,
    waiting: Gauge,
    written: Gauge,
    dropped: Gauge,
    failed: Gauge,
}

/// Values that are read when somebody asks for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MetricsNow {
    pub(crate) connections: usize,
    /// Connections whose answer is being sent.
    pub(crate) streams: usize,
    pub(crate) archive: Option<ArchiveNow>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArchiveNow {
    pub(crate) is_open: bool,
    pub(crate) waiting_bytes: usize,
    pub(crate) written: u64,
    pub(crate) dropped: u64,
    pub(crate) failed_recalls: u64,
}

/// Request that has ended.
#[derive(Debug)]
pub(crate) struct EndedRequest<'a> {
    pub(crate) route: &'static str,
    pub(crate) status: u16,
    /// `None` for requests that are not about a model.
    pub(crate) model: Option<&'a str>,
    pub(crate) upstream: Option<&'a str>,
    pub(crate) outcome: &'static str,
    pub(crate) sent: Option<i64>,
    pub(crate) left_out: Option<i64>,
    pub(crate) usage: Option<Usage>,
    pub(crate) total: Duration,
    /// Time until the request was sent on.
    pub(crate) own: Option<Duration>,
    /// Time from there until the upstream's answer began.
    pub(crate) upstream_time: Option<Duration>,
}

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

impl GatewayMetrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("cupel");
        let new: fn() -> Histogram = histogram;
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(new),
            own: Family::new_with_constructor(new),
            upstream: Family::new_with_constructor(new),
            calls: Family::default(),
            tokens: std::array::from_fn(|_| Family::default()),
            turns: std::array::from_fn(|_| Family::default()),
            planned: std::array::from_fn(|_| Counter::default()),
            sources: Family::default(),
            limited: Family::default(),
            reloads: Family::default(),
            reloaded: Gauge::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            archive: ArchiveMetrics::default(),
            models: ModelNames::default(),
            registry: Registry::default(),
        };
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of the gateway", build);
        let add = &mut registry;
        add.register("requests", "Requests by route and status", metrics.requests.clone());
        let help = "Time from the request to the end of its answer";
        add.register("request_seconds", help, metrics.durations.clone());
        let help = "Time until a request was sent to the upstream: reading, sources and selection";
        add.register("own_seconds", help, metrics.own.clone());
        let help = "Time from there until the answer of the upstream began";
        add.register("upstream_seconds", help, metrics.upstream.clone());
        let help = "Requests with messages by outcome: fitted, or the reason why not";
        add.register("calls", help, metrics.calls.clone());
        let [came, sent, left_out, counted, cached, written, output] = &metrics.tokens;
        for (name, help, family) in [
            ("tokens_in", "Tokens of the messages that clients sent", came),
            ("tokens_sent", "Tokens sent to upstreams, by the gateway's count", sent),
            ("tokens_left_out", "Tokens of messages that were left out", left_out),
            ("tokens_counted", "Input tokens as upstreams count them", counted),
            ("tokens_cached", "Input tokens that upstreams read from their caches", cached),
            ("tokens_cache_written", "Input tokens that upstreams wrote to their caches", written),
            ("tokens_output", "Tokens of answers as upstreams count them", output),
        ] {
            add.register(name, help, family.clone());
        }
        let [turns, repeats] = &metrics.turns;
        let help = "Turns in which repeats were looked for, by whether the request before was cut";
        add.register("turns", help, turns.clone());
        let help = "Turns that repeat what was cut, or anything after a request that was not";
        add.register("turns_with_repeats", help, repeats.clone());
        // Rates are known from the start on, before there is a turn.
        for (side, cut) in [Side::Fitted, Side::Shadow]
            .into_iter()
            .flat_map(|side| ["yes", "no"].map(|cut| (side.name(), cut)))
        {
            drop(turns.get_or_create(&TurnLabels { side, cut }));
            drop(repeats.get_or_create(&TurnLabels { side, cut }));
        }
        let [calls, sent, left_out] = &metrics.planned;
        let help = "Requests sent unchanged that were planned beside the call";
        add.register("planned_calls", help, calls.clone());
        let help = "Tokens that would have been sent of them";
        add.register("planned_tokens_sent", help, sent.clone());
        let help = "Tokens of messages that would have been left out of them";
        add.register("planned_tokens_left_out", help, left_out.clone());
        add.register("sources", "Gathered sources by outcome", metrics.sources.clone());
        add.register(
            "limited",
            "Requests refused by a limit of their key",
            metrics.limited.clone(),
        );
        add.register("reloads", "Reloads of the configuration", metrics.reloads.clone());
        let help = "Unix time of the last reload that succeeded";
        add.register("last_reload_timestamp_seconds", help, metrics.reloaded.clone());
        add.register("connections", "Open connections of clients", metrics.connections.clone());
        let help = "Connections whose request is being answered, streams included";
        add.register("streams", help, metrics.streams.clone());
        let archive = &metrics.archive;
        for (name, help, gauge) in [
            ("archive_open", "1 if the archive is open", &archive.open),
            ("archive_waiting_bytes", "Bytes that wait to be written", &archive.waiting),
            ("archive_written_turns", "Turns written so far", &archive.written),
            (
                "archive_dropped_turns",
                "Turns dropped so far because the queue was full",
                &archive.dropped,
            ),
            ("archive_failed_recalls", "Searches that failed or were late so far", &archive.failed),
        ] {
            add.register(name, help, gauge.clone());
        }
        Self { registry, ..metrics }
    }

    /// Counts a request that has ended.
    pub(crate) fn ended(&self, request: &EndedRequest<'_>) {
        let EndedRequest { route, status, .. } = *request;
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
        self.durations.get_or_create(&RouteLabels { route }).observe(request.total.as_secs_f64());
        if let Some(own) = request.own {
            self.own.get_or_create(&RouteLabels { route }).observe(own.as_secs_f64());
        }
        let upstream = request.upstream.unwrap_or_default().to_owned();
        if let Some(time) = request.upstream_time {
            let labels = UpstreamLabels { upstream: upstream.clone() };
            self.upstream.get_or_create(&labels).observe(time.as_secs_f64());
        }
        let Some(model) = request.model else { return };
        // Clients choose the names, so only one that an upstream knows becomes a label.
        let model = self.models.label(model, (200..300).contains(&status));
        let outcome = request.outcome;
        self.calls.get_or_create(&CallLabels { model: model.clone(), upstream, outcome }).inc();
        let came = request.sent.map(|sent| sent.saturating_add(request.left_out.unwrap_or(0)));
        let usage = request.usage.unwrap_or_default();
        let counts = [
            came.unwrap_or(0),
            request.sent.unwrap_or(0),
            request.left_out.unwrap_or(0),
            usage.input,
            usage.cached,
            usage.written,
            usage.output,
        ];
        let labels = ModelLabels { model };
        for (family, tokens) in self.tokens.iter().zip(counts) {
            family.get_or_create(&labels).inc_by(u64::try_from(tokens).unwrap_or(0));
        }
    }

    /// Counts a turn in which repeats were looked for.
    pub(crate) fn turn(&self, side: Side, turn: TurnRepeats) {
        let labels = TurnLabels { side: side.name(), cut: if turn.is_cut { "yes" } else { "no" } };
        let [turns, repeats] = &self.turns;
        turns.get_or_create(&labels).inc();
        repeats.get_or_create(&labels).inc_by(u64::from(turn.repeats > 0));
    }

    /// Counts a request that would have been sent in the place of another one.
    pub(crate) fn planned(&self, tokens: i64, dropped: i64) {
        for (counter, number) in self.planned.iter().zip([1, tokens, dropped]) {
            counter.inc_by(u64::try_from(number).unwrap_or(0));
        }
    }

    /// Counts what the sources of a selection gave.
    pub(crate) fn gathered(&self, report: &GatherReport) {
        for source in &report.sources {
            let labels =
                SourceLabels { source: source.name.to_string(), outcome: source.outcome.name() };
            self.sources.get_or_create(&labels).inc();
        }
    }

    /// Counts a request that was refused by a limit of its key.
    pub(crate) fn limited(&self, key: &str, limit: &'static str) {
        self.limited.get_or_create(&KeyLabels { key: key.to_owned(), limit }).inc();
    }

    pub(crate) fn reloaded(&self, is_done: bool) {
        let result = if is_done { "done" } else { "refused" };
        self.reloads.get_or_create(&ResultLabels { result }).inc();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        if let (true, Ok(now)) = (is_done, now) {
            self.reloaded.set(now.as_secs_f64());
        }
    }

    /// Writes all metrics.
    pub(crate) fn text(&self, now: &MetricsNow) -> String {
        let number = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        self.connections.set(number(now.connections));
        self.streams.set(number(now.streams));
        let archive = now.archive.unwrap_or_default();
        self.archive.open.set(i64::from(archive.is_open));
        self.archive.waiting.set(number(archive.waiting_bytes));
        for (gauge, value) in [
            (&self.archive.written, archive.written),
            (&self.archive.dropped, archive.dropped),
            (&self.archive.failed, archive.failed_recalls),
        ] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}
