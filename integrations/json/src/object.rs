//! A loose look at a JSON object: fields by name, as the bytes the caller wrote.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object, in order; of two with one name the last counts, as servers have it.
///
/// Reading is loose on purpose: what this crate does not know must pass, not fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    fields: Vec<(Text<'a>, &'a RawValue)>,
}

/// A string that is borrowed from the JSON unless it has escapes in it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl<'a> Object<'a> {
    /// Reads an object; none when the JSON is something else.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The field's JSON; none when it is missing or null.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.fields.iter().rev().find(|(field, _)| field.0 == name)?;
        (value.get() != "null").then_some(*value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// Returns whether its field `type` has this value.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.text("type").is_some_and(|found| found == kind)
    }

    /// The field, if it is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).and_then(string)
    }

    /// The field, if it is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.raw(name).and_then(|raw| Self::parse(raw.get()))
    }

    /// The field's elements, if it is an array.
    pub(crate) fn array(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        self.raw(name).and_then(elements)
    }

    /// The field, if it is a whole number, however it is written: `4096`, `4096.0`, `4.096e3`.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        let json = self.raw(name)?.get();
        let whole = || serde_json::from_str(json).ok().filter(|number: &f64| number.fract() == 0.0);
        // What is too large for an integer becomes the largest.
        serde_json::from_str(json).ok().or_else(|| whole().map(|number| number as i64))
    }
}

/// A value, if it is a string.
pub(crate) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    text_of(raw.get())
}

/// Text of a literal, if it is a string. Half of a surrogate pair reads as U+FFFD.
pub(crate) fn text_of(literal: &str) -> Option<Cow<'_, str>> {
    let text = serde_json::from_str::<Text<'_>>(literal).ok().map(|text| text.0);
    text.or_else(|| match whole_characters(literal) {
        Cow::Borrowed(_) => None,
        Cow::Owned(literal) => serde_json::from_str(&literal).ok().map(Cow::Owned),
    })
}

/// JSON in which halves of surrogate pairs are replacement characters. JavaScript's `slice` leaves such
/// halves behind, and a strict reader refuses the whole text for one.
///
/// ```
/// use cupel_json::whole_characters;
///
/// assert_eq!(whole_characters(r#"{"text":"\ud83d"}"#), r#"{"text":"\ufffd"}"#);
/// ```
#[must_use]
pub fn whole_characters(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u") {
        return Cow::Borrowed(json);
    }
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut whole = String::with_capacity(json.len());
    let (mut rest, mut changed) = (json, false);
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        whole.push_str(before);
        let next = escape.get(6..).and_then(unit);
        let length = match (unit(escape), next) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                changed = true;
                whole.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (kept, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        whole.push_str(kept);
        rest = after;
    }
    whole.push_str(rest);
    if changed { Cow::Owned(whole) } else { Cow::Borrowed(json) }
}

/// A value's elements, if it is an array.
pub(crate) fn elements(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectFields;

        impl<'de> Visitor<'de> for ObjectFields {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object { fields })
            }
        }

        deserializer.deserialize_map(ObjectFields)
    }
}

/// Range in `json` of a value that was borrowed from it.
pub(crate) fn place(json: &str, value: &RawValue) -> Option<Range<usize>> {
    let start = (value.get().as_ptr() as usize).checked_sub(json.as_ptr() as usize)?;
    let end = start.checked_add(value.get().len())?;
    (json.get(start..end)? == value.get()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_the_bytes_that_were_written() {
        let json = r#"{ "a" : [1,  2], "b":"x\ny", "c":null, "a" : {"d" : 1.50} }"#;
        let object = Object::parse(json).unwrap();
        assert_eq!(object.raw("a").unwrap().get(), r#"{"d" : 1.50}"#);
        assert_eq!(object.text("b").unwrap(), "x\ny");
        assert!(!object.has("c"));
        assert_eq!(object.object("a").unwrap().raw("d").unwrap().get(), "1.50");
    }

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        let json = r#"{"a":7,"b":4096.0,"c":1e3,"d":-2.0,"e":1e99,"f":1.5,"g":"7","h":null}"#;
        let object = Object::parse(json).unwrap();
        let read = ["a", "b", "c", "d", "e"].map(|name| object.integer(name).unwrap());
        assert_eq!(read, [7, 4_096, 1_000, -2, i64::MAX]);
        assert!(["f", "g", "h", "i"].iter().all(|name| object.integer(name).is_none()));
    }

    #[test]
    fn a_string_without_escapes_is_not_copied() {
        let json = r#"{"plain":"as it is","escaped":"\u0041"}"#;
        let object = Object::parse(json).unwrap();
        assert!(matches!(object.text("plain"), Some(Cow::Borrowed("as it is"))));
        assert!(matches!(object.text("escaped"), Some(Cow::Owned(text)) if text == "A"));
    }

    #[test]
    fn half_a_surrogate_pair_reads_as_a_replacement_character() {
        let json = r#"{"a":"x\ud83d","b":"\ude00\ud83d\ude00\\ud83d","c":"\ud83d\u0041"}"#;
        let object = Object::parse(json).unwrap();
        let texts = ["a", "b", "c"].map(|name| object.text(name).unwrap().into_owned());
        assert_eq!(texts, ["x\u{fffd}", "\u{fffd}\u{1f600}\\ud83d", "\u{fffd}A"]);
        assert_eq!(object.raw("a").unwrap().get(), r#""x\ud83d""#);
        for json in [r#""\u00""#, r#""\"#, "\"\\u\"", "\"é\\", "\\ud83d"] {
            let _ = text_of(json);
        }
    }

    #[test]
    fn anything_else_is_no_object() {
        for json in ["[]", "1", "\"{}\"", "{", "{}{}", ""] {
            assert!(Object::parse(json).is_none(), "{json}");
        }
    }
}
