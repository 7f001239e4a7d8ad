//! What a report can say about an item beyond its score and its reason.

use crate::model::ContextItem;
use crate::scorer::ScoreParts;

/// More about an included or excluded item. Each part is there only when it was asked for, or when
/// there was something to say.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", default))]
#[non_exhaustive]
pub struct ItemDetails {
    /// How the score came about, when the report
    /// [asked for it](super::DiagnosticTraceCollector::explain_scores). Pinned items are not scored.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub score: Option<ScoreParts>,
    /// Words of the question that the item has. They are content: telemetry never shows them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub matched_words: Vec<String>,
    /// The part of a conversation's plan that the item is in, by name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub part: Option<String>,
}

#[cfg(feature = "serde")]
crate::model::serde_by_name!(read ItemDetails);

impl ItemDetails {
    /// What the item itself says; none when that is nothing.
    pub(crate) fn of(item: &ContextItem) -> Option<Box<Self>> {
        let matched_words: Vec<String> = item.matched_words().map(str::to_owned).collect();
        (!matched_words.is_empty()).then(|| Box::new(Self { matched_words, ..Self::default() }))
    }
}
