//! Serialised forms of items, budgets and floats: JSON, and the same fields in other formats.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ContextItem, ContextKind, ContextSource};

/// Writes a value with the names of its fields, whatever the format.
///
/// Formats that are not for people, such as MessagePack, may write fields by position. Fields that
/// are left out would then move those behind them, so such a format gets a map.
pub(crate) fn by_name<T: Serialize, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return value.serialize(serializer);
    }
    serde_json::to_value(value).map_err(S::Error::custom)?.serialize(serializer)
}

/// Implements `Serialize` by [`by_name`] for types whose derived form has `remote = "Self"`; with
/// `read`, `Deserialize` by the derived form, too.
macro_rules! serde_by_name {
    ($Type:ty) => {
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    return <$Type>::serialize(self, serializer);
                }
                $crate::model::by_name(self, serializer)
            }
        }
    };
    (read $Type:ty) => {
        $crate::model::serde_by_name!($Type);

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$Type>::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use serde_by_name;

/// Returns `true` for a default value. Fields with one are not written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
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
    #[serde(default, skip_serializing_if = "is_default", with = "float::option")]
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
        by_name(&wire, serializer)
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

/// Map from kinds to numbers.
pub(super) mod kinds {
    use std::collections::{BTreeMap, HashMap};
    use std::fmt;

    use serde::de::{Error as _, MapAccess, Visitor};
    use serde::{Deserializer, Serialize, Serializer};

    use crate::model::ContextKind;

    /// Writes the kinds in order, so that the same map always reads the same.
    pub(crate) fn serialize<S: Serializer>(
        map: &HashMap<ContextKind, i64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        map.iter().collect::<BTreeMap<_, _>>().serialize(serializer)
    }

    /// Refuses two spellings of one kind: one of the values would be lost.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<HashMap<ContextKind, i64>, D::Error> {
        deserializer.deserialize_map(Slots)
    }

    struct Slots;

    impl<'de> Visitor<'de> for Slots {
        type Value = HashMap<ContextKind, i64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map of kinds to numbers of slots")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut slots = HashMap::new();
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
}

/// Floats on the wire: infinities and NaN survive formats that have only numbers.
pub(crate) mod float {
    use std::borrow::Cow;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
        struct WireValue(#[serde(with = "super")] f64);

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
            Ok(Option::<WireValue>::deserialize(deserializer)?.map(|WireValue(value)| value))
        }
    }
}
