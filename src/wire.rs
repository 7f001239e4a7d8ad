//! The JSON forms of the model, kept apart from the types themselves.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diagnostics::PipelineStage;
use crate::model::{ContextBudget, ContextItem, ContextKind, ContextSource};

/// Floats whose infinities and NaN survive formats that have only numbers.
pub(crate) mod float {
    use super::{Cow, Deserialize, Deserializer, Serialize, Serializer};
    use serde::de::Error as _;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Float<'a> {
        Number(f64),
        Word(#[serde(borrow)] Cow<'a, str>),
    }

    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        match *value {
            value if value.is_finite() => value.serialize(serializer),
            value if value.is_nan() => "NaN".serialize(serializer),
            value if value > 0.0 => "Infinity".serialize(serializer),
            _ => "-Infinity".serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Float::deserialize(deserializer)? {
            Float::Number(number) => Ok(number),
            Float::Word(word) => match &*word {
                "NaN" => Ok(f64::NAN),
                "Infinity" => Ok(f64::INFINITY),
                "-Infinity" => Ok(f64::NEG_INFINITY),
                word => Err(D::Error::custom(format!(
                    "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\", got {word:?}"
                ))),
            },
        }
    }

    /// The same for an optional float.
    pub(crate) mod option {
        use super::{Deserialize, Deserializer, Serializer};

        #[derive(Deserialize)]
        struct Wrapped(#[serde(with = "super")] f64);

        #[allow(clippy::ref_option)] // the signature serde asks for
        pub(crate) fn serialize<S: Serializer>(
            value: &Option<f64>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => super::serialize(value, serializer),
                None => serializer.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<f64>, D::Error> {
            Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|Wrapped(value)| value))
        }
    }
}

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
    #[serde(default, skip_serializing_if = "Option::is_none", with = "float::option")]
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

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ContextBudget")]
struct BudgetWire {
    max_tokens: i64,
    target_tokens: i64,
    #[serde(default, skip_serializing_if = "is_zero")]
    output_reserve: i64,
    /// Sorted, so that the same budget always reads the same.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique_kinds"
    )]
    reserved_slots: BTreeMap<ContextKind, i64>,
    #[serde(default, skip_serializing_if = "is_zero_percent")]
    estimation_safety_margin_percent: f64,
}

/// Two spellings of one kind would silently lose one of the values.
fn unique_kinds<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<ContextKind, i64>, D::Error> {
    struct Slots;

    impl<'de> serde::de::Visitor<'de> for Slots {
        type Value = BTreeMap<ContextKind, i64>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a map of kinds to numbers of slots")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut entries: A,
        ) -> Result<Self::Value, A::Error> {
            let mut slots = BTreeMap::new();
            while let Some((kind, count)) = entries.next_entry::<ContextKind, i64>()? {
                if slots.insert(kind.clone(), count).is_some() {
                    return Err(A::Error::custom(format!(
                        "reservedSlots: kind {kind} is given twice (kinds ignore case)"
                    )));
                }
            }
            Ok(slots)
        }
    }

    deserializer.deserialize_map(Slots)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn is_zero(value: &i64) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn is_zero_percent(value: &f64) -> bool {
    *value == 0.0
}

impl Serialize for ContextBudget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let slots = self.reserved_slots().iter();
        let wire = BudgetWire {
            max_tokens: self.max_tokens(),
            target_tokens: self.target_tokens(),
            output_reserve: self.output_reserve(),
            reserved_slots: slots.map(|(kind, slots)| (kind.clone(), *slots)).collect(),
            estimation_safety_margin_percent: self.estimation_safety_margin_percent(),
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContextBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = BudgetWire::deserialize(deserializer)?;
        let slots: HashMap<ContextKind, i64> = wire.reserved_slots.into_iter().collect();
        Self::new(
            wire.max_tokens,
            wire.target_tokens,
            wire.output_reserve,
            slots,
            wire.estimation_safety_margin_percent,
        )
        .map_err(D::Error::custom)
    }
}

impl Serialize for PipelineStage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PipelineStage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <Cow<'de, str>>::deserialize(deserializer)?;
        Ok(Self::from(&*name))
    }
}
