//! Floats on the wire: infinities and NaN survive formats that have only numbers.

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
