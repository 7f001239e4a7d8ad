//! The JSON form of an item.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ContextItem, ContextKind, ContextSource};

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn is_false(value: &bool) -> bool {
    !*value
}

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    #[serde(default, skip_serializing_if = "slice_is_empty")]
    tags: Cow<'a, [String]>,
    #[serde(default, skip_serializing_if = "map_is_empty")]
    metadata: Cow<'a, BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timestamp: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::float::option")]
    future_relevance_hint: Option<f64>,
    #[serde(default, skip_serializing_if = "is_false")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original_tokens: Option<i64>,
}

fn slice_is_empty(slice: &[String]) -> bool {
    slice.is_empty()
}

fn map_is_empty(map: &BTreeMap<String, String>) -> bool {
    map.is_empty()
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
        if let Some(priority) = wire.priority {
            builder = builder.priority(priority);
        }
        if let Some(timestamp) = wire.timestamp {
            builder = builder.timestamp(timestamp);
        }
        if let Some(hint) = wire.future_relevance_hint {
            builder = builder.future_relevance_hint(hint);
        }
        if let Some(tokens) = wire.original_tokens {
            builder = builder.original_tokens(tokens);
        }
        builder.build().map_err(D::Error::custom)
    }
}
