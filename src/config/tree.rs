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

    /// The value of a key of a table; a key with nothing behind it counts as not there.
    #[cfg(feature = "config")]
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        let (_, tree) = entries.iter().find(|(name, _)| name == key)?;
        (!matches!(tree.value, Value::Nothing)).then_some(tree)
    }

    /// Without the keys that have nothing behind them.
    #[cfg(feature = "config")]
    pub(crate) fn sparse(mut self) -> Self {
        match &mut self.value {
            Value::Table(entries) => {
                let given = std::mem::take(entries).into_iter();
                let given = given.filter(|(_, tree)| !matches!(tree.value, Value::Nothing));
                *entries = given.map(|(key, tree)| (key, tree.sparse())).collect();
            }
            Value::List(items) => {
                *items = std::mem::take(items).into_iter().map(Self::sparse).collect();
            }
            _ => {}
        }
        self
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

    fn visit_unit<E>(self) -> Result<Tree, E> {
        self.tree(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        self.tree(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        self.tree(Value::Flag(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        self.tree(Value::Whole(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        self.tree(Value::Whole(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Tree, E> {
        self.tree(Value::Whole(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Tree, E> {
        // Only ever shown to say that it is too large.
        self.tree(Value::Whole(value.try_into().unwrap_or(i128::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        self.tree(Value::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        self.tree(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        self.tree(Value::Text(text))
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
