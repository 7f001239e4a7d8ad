//! A subscriber that remembers every span and event.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// A field's value, with the type it was recorded as.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    I64(i64),
    U64(u64),
    F64(f64),
    Bool(bool),
    Str(String),
    Debug(String),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::I64(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Str(value.to_owned())
    }
}

pub type Fields = BTreeMap<String, Value>;

pub fn fields<const N: usize>(fields: [(&str, Value); N]) -> Fields {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

struct Collect<'a>(&'a mut Fields);

impl Collect<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Collect<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::I64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Value::U64(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::F64(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::Str(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::Debug(format!("{value:?}")));
    }
}

#[derive(Debug, Clone)]
pub struct Span {
    id: u64,
    pub name: &'static str,
    pub target: &'static str,
    pub level: Level,
    /// Position of the parent among the spans.
    pub parent: Option<usize>,
    pub fields: Fields,
    pub closed: bool,
    /// Number of times that it is entered now.
    entered: i64,
}

#[derive(Debug, Clone)]
pub struct Happened {
    pub name: &'static str,
    pub target: &'static str,
    pub level: Level,
    /// Position of the span it happened in.
    pub parent: Option<usize>,
    pub fields: Fields,
}

#[derive(Debug, Default)]
pub struct Recorded {
    /// In the order they were opened.
    pub spans: Vec<Span>,
    pub events: Vec<Happened>,
    /// Names, in the order the spans were closed.
    pub closed: Vec<&'static str>,
    /// Names of spans and `+` or `-`, as they were opened and closed.
    pub log: Vec<String>,
}

/// Everything a test's spans did.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Recorded>>);

impl Recorder {
    /// Records what this thread does while the guard lives.
    pub fn on_this_thread() -> (Self, tracing::subscriber::DefaultGuard) {
        let recorder = Self::default();
        let guard = tracing::subscriber::set_default(Registry::default().with(recorder.clone()));
        (recorder, guard)
    }

    /// As [`on_this_thread`](Self::on_this_thread), but nothing beyond a level.
    pub fn up_to(level: Level) -> (Self, tracing::subscriber::DefaultGuard) {
        let recorder = Self::default();
        let subscriber =
            Registry::default().with(LevelFilter::from_level(level)).with(recorder.clone());
        (recorder, tracing::subscriber::set_default(subscriber))
    }

    /// Records what all threads do, until the process ends.
    pub fn everywhere() -> Self {
        let recorder = Self::default();
        let subscriber = Registry::default().with(recorder.clone());
        tracing::subscriber::set_global_default(subscriber).unwrap();
        recorder
    }

    pub fn read<T>(&self, read: impl FnOnce(&Recorded) -> T) -> T {
        read(&self.0.lock().unwrap())
    }

    fn write(&self, write: impl FnOnce(&mut Recorded)) {
        write(&mut self.0.lock().unwrap());
    }

    /// Names of the spans, in the order they were opened.
    pub fn opened(&self) -> Vec<&'static str> {
        self.read(|recorded| recorded.spans.iter().map(|span| span.name).collect())
    }

    pub fn closed(&self) -> Vec<&'static str> {
        self.read(|recorded| recorded.closed.clone())
    }

    /// Fields of the only span with this name.
    pub fn fields_of(&self, name: &str) -> Fields {
        self.read(|recorded| {
            let named: Vec<_> = recorded.spans.iter().filter(|span| span.name == name).collect();
            assert_eq!(named.len(), 1, "spans named {name}");
            named[0].fields.clone()
        })
    }

    /// Each span as the path of names from its root, in the order they were opened.
    pub fn paths(&self) -> Vec<String> {
        self.read(|recorded| (0..recorded.spans.len()).map(|at| recorded.path(at)).collect())
    }

    /// No span is open, and none was left without having been entered.
    pub fn assert_all_closed(&self) {
        self.read(|recorded| {
            for span in &recorded.spans {
                assert!(span.closed, "{} is still open", span.name);
                assert_eq!(span.entered, 0, "{} is still entered", span.name);
            }
        });
    }
}

impl Recorded {
    fn position(&self, id: &Id) -> Option<usize> {
        // The registry uses numbers again, so the last one with this number is the one.
        self.spans.iter().rposition(|span| span.id == id.into_u64())
    }

    pub fn path(&self, at: usize) -> String {
        let span = &self.spans[at];
        match span.parent {
            Some(parent) => format!("{} > {}", self.path(parent), span.name),
            None => span.name.to_owned(),
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent().map(|parent| parent.id()));
        let metadata = attributes.metadata();
        let mut fields = Fields::new();
        attributes.record(&mut Collect(&mut fields));
        self.write(|recorded| {
            let parent = parent.and_then(|parent| recorded.position(&parent));
            recorded.log.push(format!("+{}", metadata.name()));
            recorded.spans.push(Span {
                id: id.into_u64(),
                name: metadata.name(),
                target: metadata.target(),
                level: *metadata.level(),
                parent,
                fields,
                closed: false,
                entered: 0,
            });
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.write(|recorded| {
            let at = recorded.position(id).unwrap();
            values.record(&mut Collect(&mut recorded.spans[at].fields));
        });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let parent = context.event_span(event).map(|span| span.id());
        let mut fields = Fields::new();
        event.record(&mut Collect(&mut fields));
        let metadata = event.metadata();
        self.write(|recorded| {
            let parent = parent.and_then(|parent| recorded.position(&parent));
            let (name, target) = (metadata.name(), metadata.target());
            let level = *metadata.level();
            recorded.events.push(Happened { name, target, level, parent, fields });
        });
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.write(|recorded| {
            let at = recorded.position(id).unwrap();
            recorded.spans[at].entered += 1;
        });
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        self.write(|recorded| {
            let at = recorded.position(id).unwrap();
            recorded.spans[at].entered -= 1;
        });
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.write(|recorded| {
            let at = recorded.position(&id).unwrap();
            let name = recorded.spans[at].name;
            recorded.spans[at].closed = true;
            recorded.closed.push(name);
            recorded.log.push(format!("-{name}"));
        });
    }
}
