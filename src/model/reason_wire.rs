//! Reads reasons from their wire form: a name, and the fields that belong to it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{ExclusionReason, InclusionReason, UnknownFields};

/// A reason's name and its other fields.
fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(String, Map<String, Value>), D::Error> {
    let mut fields = Map::deserialize(deserializer)?;
    match fields.remove("reason") {
        Some(Value::String(name)) => Ok((name, fields)),
        Some(other) => Err(D::Error::custom(format!("reason: expected a name, got {other}"))),
        None => Err(D::Error::missing_field("reason")),
    }
}

impl<'de> Deserialize<'de> for ExclusionReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, mut fields) = read(deserializer)?;
        if !Self::NAMES.contains(&&*name) {
            return Ok(Self::Unknown { reason: name, fields: UnknownFields { fields } });
        }
        fields.insert("reason".to_owned(), Value::String(name.clone()));
        // The derived form, which knows the fields of every known reason.
        Self::deserialize(Value::Object(fields))
            .map_err(|error| D::Error::custom(format!("exclusion reason {name}: {error}")))
    }
}

impl Serialize for ExclusionReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for InclusionReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, fields) = read(deserializer)?;
        let known = [Self::Scored, Self::Pinned, Self::ZeroToken];
        Ok(known
            .into_iter()
            .find(|reason| reason.name() == name)
            .unwrap_or(Self::Unknown { reason: name, fields: UnknownFields { fields } }))
    }
}
