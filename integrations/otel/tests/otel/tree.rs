//! Exported spans as an indented text, types and all.

use opentelemetry::trace::{SpanId, Status};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::trace::SpanData;

/// Every span under its parent, in the order they began, with attributes and events.
pub(crate) fn tree(spans: &[SpanData]) -> String {
    let mut spans: Vec<&SpanData> = spans.iter().collect();
    spans.sort_by_key(|span| span.start_time);
    let known = |id: SpanId| spans.iter().any(|span| span.span_context.span_id() == id);
    let mut text = String::new();
    for root in spans.iter().filter(|span| !known(span.parent_span_id)) {
        write(root, &spans, 0, &mut text);
    }
    text
}

fn write(span: &SpanData, all: &[&SpanData], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    text.push_str(&format!("{indent}{}{}", span.name, attributes(&span.attributes)));
    if let Status::Error { description } = &span.status {
        text.push_str(&format!(" error: {description}"));
    }
    text.push('\n');
    for event in span.events.iter() {
        text.push_str(&format!("{indent}  * {}{}\n", event.name, attributes(&event.attributes)));
    }
    let id = span.span_context.span_id();
    for child in all.iter().filter(|child| child.parent_span_id == id) {
        write(child, all, depth + 1, text);
    }
}

fn attributes(attributes: &[KeyValue]) -> String {
    let mut text = String::new();
    for KeyValue { key, value, .. } in attributes {
        let value = match value {
            Value::String(value) => format!("{:?}", value.as_str()),
            Value::F64(value) => format!("{value:?}f64"),
            Value::I64(value) => value.to_string(),
            other => panic!("{key} has the type of {other:?}"),
        };
        text.push_str(&format!(" {key}={value}"));
    }
    text
}

/// An expected tree, written with the indentation of the code around it.
pub(crate) fn expected(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let margin = lines[0].len() - lines[0].trim_start().len();
    let lines = lines.iter().filter(|line| !line.trim().is_empty());
    lines.map(|line| format!("{}\n", &line[margin..])).collect()
}
