//! Any value a configuration format can hold, before it is known what it means.
//!
//! Tagged parts are read in two steps, since their tag may come last. serde's own buffering for
//! tagged enums forgets where it was and lets unknown keys pass in places; this one forgets
//! nothing, so that every error can name its path, and every value knows its file.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::limits::{DEPTH, KEY_BYTES, MARK, TEXT_BYTES, VALUES};
use crate::error::QuotedText;

/// A value and the file it came from, if it came from one.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The value.
    pub value: Value,
    /// Name of the file, for messages; empty without one.
    pub file: Arc<str>,
}

/// A value of any of the formats.
#[derive(Debug, Clone)]
pub enum Value {
    /// Null, or a key of YAML without a value.
    Nothing,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// Entries of a table in the order of the file. A key may be there twice: [`Fields`](super::Fields) reports it.
    Table(Vec<(String, Tree)>),
}

impl Tree {
    /// Reads whatever a deserializer holds.
    pub fn read<'de, D: Deserializer<'de>>(deserializer: D, file: &str) -> Result<Self, D::Error> {
        let spent = ReadTotals::default();
        TreeSeed { file: &file.into(), depth: 0, spent: &spent }.deserialize(deserializer)
    }

    /// Returns the text, if the value is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns `true` for a null.
    pub fn is_nothing(&self) -> bool {
        matches!(self.value, Value::Nothing)
    }

    /// Returns the value of a key of a table. A key with a null counts as missing.
    pub fn get(&self, key: &str) -> Option<&Self> {
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
            Value::Text(text) => QuotedText(text).fmt(f),
            Value::List(_) => f.write_str("a list"),
            Value::Table(_) => f.write_str("a table"),
        }
    }
}

macro_rules! leaves {
    ($($visit:ident: $($from:ident: $Type:ty)?, $value:expr;)+) => {$(
        fn $visit<E: Error>(self, $($from: $Type)?) -> Result<Tree, E> {
            self.tree($value)
        }
    )+};
}

/// Values and bytes that have been read so far.
#[derive(Default)]
struct ReadTotals {
    values: Cell<usize>,
    text: Cell<usize>,
}

#[derive(Clone, Copy)]
struct TreeSeed<'a> {
    file: &'a Arc<str>,
    depth: usize,
    spent: &'a ReadTotals,
}

impl TreeSeed<'_> {
    fn tree<E: Error>(self, value: Value) -> Result<Tree, E> {
        let text = if let Value::Text(text) = &value { text.len() } else { 0 };
        self.spend(text)?;
        Ok(Tree { value, file: Arc::clone(self.file) })
    }

    /// Counts one more value or key with so many bytes of text.
    fn spend<E: Error>(self, text: usize) -> Result<(), E> {
        let ReadTotals { values, text: bytes } = self.spent;
        values.set(values.get() + 1);
        bytes.set(bytes.get().saturating_add(text));
        let check = |got: usize, limit: usize, what: &str| match got > limit {
            true => Err(E::custom(format_args!(
                "more than {limit} {what}, {MARK} {limit} (what an alias repeats counts again)"
            ))),
            false => Ok(()),
        };
        check(values.get(), VALUES, "values and keys")?;
        check(bytes.get(), TEXT_BYTES, "bytes of text")
    }

    /// One level further in.
    fn inside<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > DEPTH {
            return Err(E::custom(format_args!("nested {depth} levels deep, {MARK} {DEPTH}")));
        }
        Ok(Self { depth, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for TreeSeed<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeSeed<'_> {
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
        let inside = self.inside()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inside)? {
            list.push(item);
        }
        self.tree(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let inside = self.inside()?;
        let mut table = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key.len() > KEY_BYTES {
                let (key, got) = (QuotedText(&key), key.len());
                let message = format_args!("the key {key} has {got} bytes, {MARK} {KEY_BYTES}");
                return Err(A::Error::custom(message));
            }
            self.spend(key.len())?;
            table.push((key, entries.next_value_seed(inside)?));
        }
        self.tree(Value::Table(table))
    }
}
