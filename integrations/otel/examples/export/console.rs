//! An exporter for people: every trace as a tree, with a bar for where the time went.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

const BAR: usize = 24;
const EVENTS: usize = 3;

/// Prints what it is given, when the provider is shut down.
#[derive(Debug)]
pub(crate) struct Console;

impl SpanExporter for Console {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let printed = Trace::new(batch).print(&mut io::stdout().lock());
        printed.map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
    }
}

struct Trace {
    /// In the order they began.
    spans: Vec<SpanData>,
    began: SystemTime,
    lasted: Duration,
}

impl Trace {
    fn new(mut spans: Vec<SpanData>) -> Self {
        spans.sort_by_key(|span| span.start_time);
        let began = spans.iter().map(|span| span.start_time).min();
        let ended = spans.iter().map(|span| span.end_time).max();
        let (began, ended) =
            began.zip(ended).unwrap_or((SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH));
        Self { spans, began, lasted: since(began, ended) }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{:<44}{:>10}{:>10}", "span", "at ms", "took ms")?;
        let known = |id: SpanId| self.spans.iter().any(|span| span.span_context.span_id() == id);
        for root in self.spans.iter().filter(|span| !known(span.parent_span_id)) {
            self.print_span(root, "", "", out)?;
        }
        Ok(())
    }

    /// `branch` leads to this span, `margin` to what is below it.
    fn print_span(
        &self,
        span: &SpanData,
        branch: &str,
        margin: &str,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let at = since(self.began, span.start_time);
        let took = since(span.start_time, span.end_time);
        writeln!(
            out,
            "{:<44}{:>10.2}{:>10.2}  {}",
            format!("{branch}{}", span.name),
            millis(at),
            millis(took),
            self.bar(at, took),
        )?;
        let id = span.span_context.span_id();
        let children: Vec<_> =
            self.spans.iter().filter(|child| child.parent_span_id == id).collect();
        let rule = if children.is_empty() { "   " } else { "│  " };
        let detail = format!("{margin}{rule}");
        if let Status::Error { description } = &span.status {
            writeln!(out, "{detail}error: {description}")?;
        }
        if !span.attributes.is_empty() {
            writeln!(out, "{detail}{}", listed(&span.attributes))?;
        }
        for event in span.events.iter().take(EVENTS) {
            writeln!(out, "{detail}* {}: {}", event.name, listed(&event.attributes))?;
        }
        if span.events.len() > EVENTS {
            writeln!(out, "{detail}* and {} more", span.events.len() - EVENTS)?;
        }
        for (position, child) in children.iter().enumerate() {
            let (branch, rule) = if position + 1 == children.len() {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.print_span(child, &format!("{margin}{branch}"), &format!("{margin}{rule}"), out)?;
        }
        Ok(())
    }

    /// Position of the span in the trace.
    fn bar(&self, at: Duration, took: Duration) -> String {
        let scale = BAR as f64 / self.lasted.as_secs_f64().max(f64::MIN_POSITIVE);
        let before = ((at.as_secs_f64() * scale) as usize).min(BAR - 1);
        let length = ((took.as_secs_f64() * scale).round() as usize).clamp(1, BAR - before);
        format!("{}{}", "·".repeat(before), "█".repeat(length))
    }
}

/// `cupel.stage.item_count_in` is `item_count_in` beside its own span.
fn listed(attributes: &[KeyValue]) -> String {
    let short = |pair: &KeyValue| {
        let name = pair.key.as_str();
        let name = name.strip_prefix("cupel.").unwrap_or(name);
        let own = ["stage.", "source."].into_iter().find_map(|own| name.strip_prefix(own));
        format!("{}={}", own.unwrap_or(name), pair.value)
    };
    attributes.iter().map(short).collect::<Vec<_>>().join("  ")
}

fn since(earlier: SystemTime, later: SystemTime) -> Duration {
    later.duration_since(earlier).unwrap_or_default()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
