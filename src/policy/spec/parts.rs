//! Declares specs: their types, how they are read, and how they are written, in one place.

use crate::config::{ConfigKey, FromTree, Path, Report, Tree, plain, wrong};
use crate::model::{ContextKind, OverflowStrategy};
use crate::relevance::Language;
use crate::slicer::ScarcityBehavior;

/// Reads one setting: `key: Type`, `field: Type as "key"`, or `key: Type = default`.
macro_rules! setting {
    ($fields:ident, $field:ident) => {
        $fields.required(stringify!($field))
    };
    ($fields:ident, $field:ident as $key:literal) => {
        $fields.required($key)
    };
    ($fields:ident, $field:ident = $default:expr) => {
        $fields.or(stringify!($field), $default)
    };
}

/// Declares an enum whose variants a file names by their `type`. The part behind `else` replaces one that
/// cannot be read, and must be valid.
macro_rules! parts {
    (
        $(#[$about:meta])*
        pub enum $Spec:ident: $expected:literal else $stand_in:expr => {$(
            $(#[$about_variant:meta])*
            $name:literal $Variant:ident $({$(
                $(#[$about_field:meta])*
                $field:ident: $Type:ty $(as $key:literal)? $(= $default:expr)?,
            )+})?,
        )+}
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(tag = "type")]
        #[non_exhaustive]
        pub enum $Spec {$(
            $(#[$about_variant])*
            #[serde(rename = $name)]
            $Variant $({$(
                $(#[$about_field])*
                $(#[serde(rename = $key)])?
                $field: $Type,
            )+})?,
        )+}

        impl $crate::config::FromTree for $Spec {
            const EXPECTED: &'static str = $expected;
            const IS_PART: bool = true;

            fn from_fields(fields: &mut $crate::config::Fields<'_>) -> Option<Self> {
                match fields.part(&[$($name),+])? {
                    $($name => Some(Self::$Variant $({$(
                        $field: setting!(fields, $field $(as $key)? $(= $default)?),
                    )+})?),)+
                    _ => None,
                }
            }

            fn stand_in(_: &$crate::config::Path<'_>) -> Self {
                $stand_in
            }
        }
    };
}

/// Declares a struct that a file holds as a table.
macro_rules! table {
    (
        $(#[$about:meta])*
        pub struct $Spec:ident: $expected:literal {$(
            $(#[$about_field:meta])*
            pub $field:ident: $Type:ty $(as $key:literal)? $(= $default:expr)?,
        )+}
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $Spec {$(
            $(#[$about_field])*
            $(#[serde(rename = $key)])?
            pub $field: $Type,
        )+}

        impl $crate::config::FromTree for $Spec {
            const EXPECTED: &'static str = $expected;

            fn from_fields(fields: &mut $crate::config::Fields<'_>) -> Option<Self> {
                Some(Self {
                    $($field: setting!(fields, $field $(as $key)? $(= $default)?),)+
                })
            }

            fn stand_in(path: &$crate::config::Path<'_>) -> Self {
                Self { $($field: $crate::config::FromTree::stand_in(path),)+ }
            }
        }
    };
}

pub(super) use {parts, setting, table};

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
        kind.or_else(|| wrong(&tree, path, report))
    }

    /// A unique kind, so that two entries that cannot be read are not of the same kind.
    fn stand_in(path: &Path<'_>) -> Self {
        Self::new(path.to_string()).unwrap_or_default()
    }
}

impl ConfigKey for ContextKind {
    const TWICE: &'static str = " (kinds ignore case)";
}

/// Words are written in lower case.
pub(super) fn lower_case<S: serde::Serializer>(
    word: &impl std::fmt::Debug,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{word:?}").to_ascii_lowercase())
}
