//! Kinds and words of the model, read from a file.

use crate::config::{Found, FromTree, Key, Path, Report, Tree, plain};
use crate::model::{ContextKind, OverflowStrategy};
use crate::relevance::Language;
use crate::slicer::ScarcityBehavior;

plain! {
    Language, "none, danish, dutch, english, finnish, french, german, italian, norwegian, portuguese, russian, spanish or swedish",
        |tree| tree.text()?.parse().ok();
    OverflowStrategy, "throw, truncate or proceed", |tree| tree.text()?.parse().ok();
    ScarcityBehavior, "degrade or throw", |tree| match tree.text()?.to_ascii_lowercase().as_str() {
        "degrade" => Some(Self::Degrade),
        "throw" => Some(Self::Throw),
        _ => None,
    };
}

impl FromTree for ContextKind {
    const EXPECTED: &'static str = "a kind, which is a text that is not blank";

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        let kind = tree.text().and_then(|text| Self::new(text).ok());
        if kind.is_none() {
            report.report(path, Found::Wrong { tree: &tree, expected: Self::EXPECTED });
        }
        kind
    }

    /// A kind that nobody else has: two entries that cannot be read are not of the same kind.
    fn stand_in(path: &Path<'_>) -> Self {
        Self::new(path.to_string()).unwrap_or_default()
    }
}

impl Key for ContextKind {
    const TWICE: &'static str = " (kinds ignore case)";
}

/// Words are written in lower case.
pub(super) fn lower_case<S: serde::Serializer>(
    word: &impl std::fmt::Debug,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{word:?}").to_ascii_lowercase())
}
