//! The JSON form of a budget.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::item_wire::is_default;
use super::{ContextBudget, ContextKind};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ContextBudget")]
struct BudgetWire {
    max_tokens: i64,
    target_tokens: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    output_reserve: i64,
    /// Sorted, so that the same budget always reads the same.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "unique_kinds")]
    reserved_slots: BTreeMap<ContextKind, i64>,
    #[serde(default, skip_serializing_if = "is_default")]
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
        Self::new(
            wire.max_tokens,
            wire.target_tokens,
            wire.output_reserve,
            wire.reserved_slots.into_iter().collect(),
            wire.estimation_safety_margin_percent,
        )
        .map_err(D::Error::custom)
    }
}
