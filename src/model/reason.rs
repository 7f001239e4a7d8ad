//! Why an item was included or left out, and requirements that could not be met.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::ContextKind;

/// Why an item is not in the selection.
///
/// The specification keeps `ScoredTooLow`, `QuotaCapExceeded` and `QuotaRequireDisplaced` for the
/// future and for components of your own. A plan gives `ScoredTooLow` to messages that are not relevant
/// enough to be recalled; nothing built in gives the other two.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(remote = "Self", tag = "reason")
)]
#[non_exhaustive]
pub enum ExclusionReason {
    /// The item did not fit.
    BudgetExceeded {
        /// The item's tokens.
        item_tokens: i64,
        /// Tokens that the selection left free.
        available_tokens: i64,
    },
    /// The item scored below a threshold.
    ScoredTooLow {
        /// The item's score.
        #[cfg_attr(feature = "serde", serde(with = "crate::model::float"))]
        score: f64,
        /// The threshold.
        #[cfg_attr(feature = "serde", serde(with = "crate::model::float"))]
        threshold: f64,
    },
    /// Another item has the same content and a better score.
    Deduplicated {
        /// The content they share.
        deduplicated_against: Arc<str>,
    },
    /// The item's kind is over its share.
    QuotaCapExceeded {
        /// The kind.
        kind: ContextKind,
        /// The cap.
        cap: i64,
        /// Amount that the kind would have had.
        actual: i64,
    },
    /// Another kind's required share came first.
    QuotaRequireDisplaced {
        /// The other kind.
        displaced_by_kind: ContextKind,
    },
    /// The item's token count is negative.
    NegativeTokens {
        /// The count.
        tokens: i64,
    },
    /// The item is too large only because pinned items take their part of the budget.
    PinnedOverride {
        /// Content of the first pinned item.
        displaced_by: Arc<str>,
    },
    /// A rule outside the pipeline left the item out. The layer says so of parts of a request that
    /// cannot be sent, such as a tool call without its answer.
    Filtered {
        /// The rule, in a few words.
        filter_name: String,
    },
    /// The selection has as many items of this kind as it may.
    CountCapExceeded {
        /// The kind.
        kind: ContextKind,
        /// The most items allowed.
        cap: usize,
        /// Number of items of the kind that are selected.
        count: usize,
    },
    /// A kind has fewer candidates than it requires.
    ///
    /// The built-in slicers report this as a
    /// [`CountRequirementShortfall`](crate::model::CountRequirementShortfall) instead.
    CountRequireCandidatesExhausted {
        /// The kind.
        kind: ContextKind,
        /// Number of items that the kind requires.
        required: usize,
        /// Number of candidates of the kind.
        available: usize,
    },
    /// A reason of another implementation or of a later version, by its name.
    #[cfg_attr(feature = "serde", serde(untagged, skip_deserializing))]
    Unknown {
        /// The name.
        reason: String,
        /// Its other fields.
        #[cfg_attr(feature = "serde", serde(flatten))]
        fields: UnknownFields,
    },
}

/// Hands the names of all reasons but `Unknown` to a macro.
macro_rules! reasons {
    ($macro:ident) => {
        $macro! {
            BudgetExceeded,
            ScoredTooLow,
            Deduplicated,
            QuotaCapExceeded,
            QuotaRequireDisplaced,
            NegativeTokens,
            PinnedOverride,
            Filtered,
            CountCapExceeded,
            CountRequireCandidatesExhausted,
        }
    };
}
#[cfg(feature = "testing")]
pub(crate) use reasons;

/// The names are those of the variants.
macro_rules! named {
    ($($variant:ident,)+) => {
        impl ExclusionReason {
            /// A reason that this version does not know, without fields.
            pub fn unknown(reason: impl Into<String>) -> Self {
                Self::Unknown { reason: reason.into(), fields: UnknownFields::default() }
            }

            /// The names of all reasons this version knows.
            pub const NAMES: [&'static str; 10] = [$(stringify!($variant)),+];

            /// The reason's name, as it appears in JSON.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant { .. } => stringify!($variant),)+
                    Self::Unknown { reason, .. } => reason,
                }
            }
        }
    };
}

reasons!(named);

impl ExclusionReason {
    /// The reason as telemetry may show it: its name, or `Unknown` if this version does not know the
    /// name, which may then quote content.
    ///
    /// ```
    /// use cupel::diagnostics::ExclusionReason;
    ///
    /// let unknown = ExclusionReason::unknown("somebody's text");
    /// assert_eq!(unknown.label(), "Unknown");
    /// assert_eq!(ExclusionReason::NegativeTokens { tokens: -1 }.label(), "NegativeTokens");
    /// ```
    pub fn label(&self) -> &'static str {
        let name = self.name();
        Self::NAMES.into_iter().find(|known| *known == name).unwrap_or("Unknown")
    }
}

/// The reason and its numbers; never an item's content, so that it may be logged.
impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::BudgetExceeded { item_tokens, available_tokens } => {
                write!(f, ": {item_tokens} tokens requested, {available_tokens} available")
            }
            Self::ScoredTooLow { score, threshold } => {
                write!(f, ": scored {score}, below {threshold}")
            }
            Self::QuotaCapExceeded { kind, cap, actual } => {
                write!(f, ": {kind} at {actual}, cap {cap}")
            }
            Self::QuotaRequireDisplaced { displaced_by_kind } => {
                write!(f, ": displaced by {displaced_by_kind}")
            }
            Self::NegativeTokens { tokens } => write!(f, ": {tokens} tokens"),
            Self::Filtered { filter_name } => write!(f, ": by {filter_name}"),
            Self::CountCapExceeded { kind, cap, count } => {
                write!(f, ": {count} items of {kind} already, cap {cap}")
            }
            Self::CountRequireCandidatesExhausted { kind, required, available } => {
                write!(f, ": {available} items of {kind}, {required} required")
            }
            Self::Deduplicated { .. } | Self::PinnedOverride { .. } | Self::Unknown { .. } => {
                Ok(())
            }
        }
    }
}

/// Why an item is in the selection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(remote = "Self", tag = "reason"))]
#[non_exhaustive]
pub enum InclusionReason {
    /// Its score won it a place within the budget.
    Scored,
    /// It is pinned.
    Pinned,
    /// It costs nothing.
    ZeroToken,
    /// A reason of another implementation or of a later version, by its name.
    #[cfg_attr(feature = "serde", serde(untagged))]
    Unknown {
        /// The name.
        reason: String,
        /// Its other fields.
        #[cfg_attr(feature = "serde", serde(flatten))]
        fields: UnknownFields,
    },
}

impl InclusionReason {
    /// The reason's name, as it appears in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::Scored => "Scored",
            Self::Pinned => "Pinned",
            Self::ZeroToken => "ZeroToken",
            Self::Unknown { reason, .. } => reason,
        }
    }
}

impl fmt::Display for InclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The fields of a reason that this version does not know, as they were read.
///
/// They are written again as they are, so that a report can pass through.
///
/// ```
/// # #[cfg(feature = "serde")] {
/// use cupel::diagnostics::ExclusionReason;
///
/// let text = r#"{"reason":"RateCapped","cap":0.5}"#;
/// let reason: ExclusionReason = serde_json::from_str(text).unwrap();
/// let ExclusionReason::Unknown { reason: name, fields } = &reason else { unreachable!() };
/// assert_eq!((name.as_str(), fields.json("cap").as_deref()), ("RateCapped", Some("0.5")));
/// assert_eq!(serde_json::to_string(&reason).unwrap(), text);
/// # }
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UnknownFields {
    /// JSON texts by name.
    fields: BTreeMap<String, String>,
}

impl UnknownFields {
    /// The names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// A field's value as JSON text.
    pub fn json(&self, name: &str) -> Option<String> {
        self.fields.get(name).cloned()
    }
}

/// Names only: the values may be somebody's content.
impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// Serialised form: a name, and the fields that belong to it.
#[cfg(feature = "serde")]
mod wire {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::{Map, Value};

    use super::{ExclusionReason, InclusionReason, UnknownFields};
    use crate::model::serde_by_name;

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

    impl From<Map<String, Value>> for UnknownFields {
        fn from(fields: Map<String, Value>) -> Self {
            let text = |(name, value): (String, Value)| (name, value.to_string());
            Self { fields: fields.into_iter().map(text).collect() }
        }
    }

    impl Serialize for UnknownFields {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let value = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_default();
            serializer.collect_map(self.fields.iter().map(|(name, text)| (name, value(text))))
        }
    }

    impl<'de> Deserialize<'de> for ExclusionReason {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let (name, mut fields) = read(deserializer)?;
            if !Self::NAMES.contains(&&*name) {
                return Ok(Self::Unknown { reason: name, fields: fields.into() });
            }
            fields.insert("reason".to_owned(), Value::String(name.clone()));
            // The derived form, which knows the fields of every known reason.
            Self::deserialize(Value::Object(fields))
                .map_err(|error| D::Error::custom(format!("exclusion reason {name}: {error}")))
        }
    }

    serde_by_name!(ExclusionReason);
    serde_by_name!(InclusionReason);

    impl<'de> Deserialize<'de> for InclusionReason {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let (name, fields) = read(deserializer)?;
            let known = [Self::Scored, Self::Pinned, Self::ZeroToken];
            Ok(known
                .into_iter()
                .find(|reason| reason.name() == name)
                .unwrap_or(Self::Unknown { reason: name, fields: fields.into() }))
        }
    }
}

/// A kind of which fewer items were taken than its configuration requires.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CountRequirementShortfall {
    /// The kind that is short.
    pub kind: ContextKind,
    /// The configured count.
    pub required_count: usize,
    /// Number of candidates that were selected for it.
    pub satisfied_count: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_with_the_name_of_another_is_that_one() {
        let read = ExclusionReason::unknown("Filtered");
        assert_eq!(read.label(), "Filtered");
    }
}
