//! A TOML document that remembers which of its keys were read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use chrono::{DateTime, FixedOffset, NaiveDate, TimeZone, Utc};
use toml::value::{Datetime, Offset};
use toml::{Table, Value};

/// A parsed vector. Keys that nobody has read when the run is over are keys nobody honours.
pub(crate) struct Document {
    root: Table,
    read: RefCell<BTreeSet<String>>,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let root = text.parse::<Table>().map_err(|error| format!("not valid TOML: {error}"))?;
        Ok(Self { root, read: RefCell::default() })
    }

    pub(crate) fn root(&self) -> View<'_> {
        View { document: self, table: &self.root, path: String::new() }
    }

    /// The keys that were never read, as dotted paths.
    pub(crate) fn unread(&self) -> Vec<String> {
        let mut unread = Vec::new();
        self.walk("", &Value::Table(self.root.clone()), &mut unread);
        unread
    }

    fn walk(&self, path: &str, value: &Value, unread: &mut Vec<String>) {
        match value {
            Value::Table(table) if !table.is_empty() => {
                for (key, value) in table {
                    self.walk(&join(path, key), value, unread);
                }
            }
            Value::Array(array) if !array.is_empty() && array.iter().all(Value::is_table) => {
                for (index, value) in array.iter().enumerate() {
                    self.walk(&format!("{path}[{index}]"), value, unread);
                }
            }
            _ if path.is_empty() || self.read.borrow().contains(path) => {}
            _ => unread.push(path.to_owned()),
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// One table of a document.
#[derive(Clone)]
pub(crate) struct View<'d> {
    document: &'d Document,
    table: &'d Table,
    path: String,
}

impl<'d> View<'d> {
    /// Returns true if the key exists. This does not count as reading.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn get<T>(
        &self,
        key: &str,
        expected: &str,
        convert: impl FnOnce(&'d Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        let path = join(&self.path, key);
        let converted = convert(value)
            .ok_or_else(|| format!("{path}: expected {expected}, got {}", value.type_str()))?;
        self.document.read.borrow_mut().insert(path);
        Ok(Some(converted))
    }

    pub(crate) fn string(&self, key: &str) -> Result<Option<&'d str>, String> {
        self.get(key, "a string", Value::as_str)
    }

    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>, String> {
        self.get(key, "an integer", Value::as_integer)
    }

    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>, String> {
        self.get(key, "a boolean", Value::as_bool)
    }

    /// A float; an integer will do.
    pub(crate) fn float(&self, key: &str) -> Result<Option<f64>, String> {
        let number = |value: &Value| value.as_float().or(value.as_integer().map(|i| i as f64));
        self.get(key, "a number", number)
    }

    pub(crate) fn strings(&self, key: &str) -> Result<Option<Vec<&'d str>>, String> {
        let strings = |value: &'d Value| value.as_array()?.iter().map(Value::as_str).collect();
        self.get(key, "an array of strings", strings)
    }

    pub(crate) fn instant(&self, key: &str) -> Result<Option<DateTime<Utc>>, String> {
        self.get(key, "a date-time", |value| value.as_datetime().and_then(instant))
    }

    pub(crate) fn table(&self, key: &str) -> Result<Option<View<'d>>, String> {
        let table = self.get(key, "a table", Value::as_table)?;
        let view = |table| View { document: self.document, table, path: join(&self.path, key) };
        Ok(table.map(view))
    }

    /// An array of tables; empty when the key is missing.
    pub(crate) fn tables(&self, key: &str) -> Result<Vec<View<'d>>, String> {
        let tables = |value: &'d Value| {
            value.as_array()?.iter().map(Value::as_table).collect::<Option<Vec<_>>>()
        };
        let tables = self.get(key, "an array of tables", tables)?.unwrap_or_default();
        let path = join(&self.path, key);
        let view = |(index, table)| View {
            document: self.document,
            table,
            path: format!("{path}[{index}]"),
        };
        Ok(tables.into_iter().enumerate().map(view).collect())
    }

    /// The keys of a table whose keys are data.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'d str> {
        self.table.keys().map(String::as_str)
    }

    /// Returns a required value, or an error with the key.
    pub(crate) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("{} is missing", join(&self.path, key)))
    }
}

/// A TOML date-time as an instant; local ones count as UTC and seconds may be left out.
fn instant(value: &Datetime) -> Option<DateTime<Utc>> {
    let (date, time) = (value.date?, value.time?);
    let minutes = match value.offset {
        Some(Offset::Custom { minutes }) => i32::from(minutes),
        Some(Offset::Z) | None => 0,
    };
    let local = NaiveDate::from_ymd_opt(date.year.into(), date.month.into(), date.day.into())?
        .and_hms_nano_opt(
            time.hour.into(),
            time.minute.into(),
            time.second.unwrap_or(0).into(),
            time.nanosecond.unwrap_or(0),
        )?;
    let offset = FixedOffset::east_opt(minutes * 60)?;
    Some(offset.from_local_datetime(&local).single()?.with_timezone(&Utc))
}
