//! Any value a configuration format can hold, before it is known what it means.
//!
//! Tagged parts are read in two steps, since their tag may come last. serde's own buffering for
//! tagged enums forgets where it was and lets unknown keys pass in places; this one forgets
//! nothing, so that every error can name its path, and every value knows its file.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value and the file it came from, if it came from one.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) value: Value,
    pub(crate) file: Arc<str>,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Nothing,
    Flag(bool),
    Whole(i128),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    /// In the order they were written; a key may be there twice, which its reader reports.
    Table(Vec<(String, Tree)>),
}

impl Tree {
    /// Reads whatever a deserializer holds.
    pub(crate) fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
        file: &str,
    ) -> Result<Self, D::Error> {
        Seed(file.into()).deserialize(deserializer)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.value, Value::Nothing)
    }

    /// The value of a key of a table; a key with nothing behind it counts as not there.
    #[cfg(feature = "config")]
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        let (_, tree) = entries.iter().find(|(name, _)| name == key)?;
        Some(tree).filter(|tree| !tree.is_nothing())
    }
}

/// A short form for messages: `got …`.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Nothing => f.write_str("nothing"),
            Value::Flag(flag) => flag.fmt(f),
            Value::Whole(number) => number.fmt(f),
            // As a float: 8192.0 is not 8192.
            Value::Number(number) => write!(f, "{number:?}"),
            Value::Text(text) => match text.char_indices().nth(40) {
                Some((end, _)) => write!(f, "{:?}…", text.get(..end).unwrap_or(text)),
                None => write!(f, "{text:?}"),
            },
            Value::List(_) => f.write_str("a list"),
            Value::Table(_) => f.write_str("a table"),
        }
    }
}

macro_rules! leaves {
    ($($visit:ident: $($from:ident: $Type:ty)?, $value:expr;)+) => {$(
        fn $visit<E>(self, $($from: $Type)?) -> Result<Tree, E> {
            self.tree($value)
        }
    )+};
}

#[derive(Clone)]
struct Seed(Arc<str>);

impl Seed {
    fn tree<E>(self, value: Value) -> Result<Tree, E> {
        Ok(Tree { value, file: self.0 })
    }
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    leaves! {
        visit_unit: , Value::Nothing;
        visit_none: , Value::Nothing;
        visit_bool: value: bool, Value::Flag(value);
        visit_i64: value: i64, Value::Whole(value.into());
        visit_u64: value: u64, Value::Whole(value.into());
        visit_i128: value: i128, Value::Whole(value);
        // Only ever shown to say that it is too large.
        visit_u128: value: u128, Value::Whole(value.try_into().unwrap_or(i128::MAX));
        visit_f64: value: f64, Value::Number(value);
        visit_str: text: &str, Value::Text(text.to_owned());
        visit_string: text: String, Value::Text(text);
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.clone())? {
            list.push(item);
        }
        self.tree(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut table = Vec::new();
        while let Some(key) = entries.next_key()? {
            table.push((key, entries.next_value_seed(self.clone())?));
        }
        self.tree(Value::Table(table))
    }
}
