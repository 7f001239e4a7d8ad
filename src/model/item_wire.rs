//! The JSON form of an item.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ContextItem, ContextKind, ContextSource};

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Another spelling of the default is written, so that it reads back as it was.
fn is_default_source(source: &ContextSource) -> bool {
    source.as_str() == ContextSource::default().as_str()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ContextItem")]
struct ItemWire<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    tokens: i64,
    #[serde(default)]
    kind: ContextKind,
    #[serde(default, skip_serializing_if = "is_default_source")]
    source: ContextSource,
    #[serde(default, skip_serializing_if = "is_default")]
    priority: Option<i64>,
    #[serde(default, skip_serializing_if = "is_default")]
    tags: Cow<'a, [String]>,
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "metadata_of_any_type"
    )]
    metadata: Cow<'a, BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "is_default")]
    timestamp: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "is_default", with = "super::float::option")]
    future_relevance_hint: Option<f64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    original_tokens: Option<i64>,
}

/// Other implementations have numbers and more as values; here these are their JSON text.
fn metadata_of_any_type<'a, 'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Cow<'a, BTreeMap<String, String>>, D::Error> {
    let values = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
    let text = |value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(Cow::Owned(values.into_iter().map(|(key, value)| (key, text(value))).collect()))
}

impl Serialize for ContextItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = ItemWire {
            content: Cow::Borrowed(self.content()),
            tokens: self.tokens(),
            kind: self.kind().clone(),
            source: self.source().clone(),
            priority: self.priority(),
            tags: Cow::Borrowed(self.tags()),
            metadata: Cow::Borrowed(self.metadata()),
            timestamp: self.timestamp(),
            future_relevance_hint: self.future_relevance_hint(),
            pinned: self.pinned(),
            original_tokens: self.original_tokens(),
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContextItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = ItemWire::deserialize(deserializer)?;
        let mut builder = Self::builder(wire.content, wire.tokens)
            .kind(wire.kind)
            .source(wire.source)
            .tags(wire.tags.into_owned())
            .metadata(wire.metadata.into_owned())
            .pinned(wire.pinned);
        builder.fields.priority = wire.priority;
        builder.fields.timestamp = wire.timestamp;
        builder.fields.future_relevance_hint = wire.future_relevance_hint;
        builder.fields.original_tokens = wire.original_tokens;
        builder.build().map_err(D::Error::custom)
    }
}
