//! JSON and YAML as one kind of tree whose every value knows the file it came from.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value and its file.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) file: Arc<str>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// In the file's order.
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn from_json(text: &str, file: &str) -> Result<Self, String> {
        let mut json = serde_json::Deserializer::from_str(without_mark(text));
        let node = seed(file).deserialize(&mut json);
        // Something after the value is as wrong as something in it.
        let node = node.and_then(|node| json.end().map(|()| node));
        node.map_err(|error| format!("is not JSON: {error}"))
    }

    pub(super) fn from_yaml(text: &str, file: &str) -> Result<Self, String> {
        let yaml = yaml_serde::Deserializer::from_str(without_mark(text));
        seed(file).deserialize(yaml).map_err(|error| format!("is not YAML: {error}"))
    }

    /// The value of a key; a key with nothing behind it counts as not there.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let (_, node) = self.entries().iter().find(|(name, _)| name == key)?;
        (!matches!(node.value, Value::Null)).then_some(node)
    }

    /// The entries of a map; nothing for anything else.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }
}

/// How a value reads in a message.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Null => f.write_str("nothing"),
            Value::Bool(value) => value.fmt(f),
            Value::Integer(value) => value.fmt(f),
            // As a float: 8192.0 is not 8192.
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) if text.chars().count() > 40 => {
                write!(f, "{:?}…", text.chars().take(40).collect::<String>())
            }
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(_) => f.write_str("a list"),
            Value::Map(_) => f.write_str("a map"),
        }
    }
}

/// Editors on Windows put a byte order mark before the text.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

fn seed(file: &str) -> Seed {
    Seed(file.into())
}

#[derive(Clone)]
struct Seed(Arc<str>);

impl Seed {
    fn node(self, value: Value) -> Node {
        Node { value, file: self.0 }
    }
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(self.node(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(self.node(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(self.node(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(self.node(Value::Integer(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(self.node(Value::Integer(value.into())))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(self.node(Value::Integer(value)))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Node, E> {
        // Only ever shown to say that it is too large.
        Ok(self.node(Value::Integer(i128::try_from(value).unwrap_or(i128::MAX))))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(self.node(Value::Float(value)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(self.node(Value::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element_seed(self.clone())? {
            nodes.push(node);
        }
        Ok(self.node(Value::List(nodes)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            // One of the two values would be lost without a word.
            if entries.iter().any(|(earlier, _)| *earlier == key) {
                return Err(A::Error::custom(format_args!("key {key:?} is there twice")));
            }
            let node = map.next_value_seed(self.clone())?;
            entries.push((key, node));
        }
        Ok(self.node(Value::Map(entries)))
    }
}
