//! Values of tool calls, and the search for them in requests.

use memchr::memmem;
use serde_json::Value;

/// Shortest value that counts, in characters. Shorter ones are everywhere by chance.
const SHORTEST: usize = 4;

/// Texts and numbers in the arguments of a call, each once.
pub(crate) fn values(arguments: &Value) -> Vec<String> {
    let mut values = Vec::new();
    collect(arguments, &mut values);
    values
}

fn collect(value: &Value, values: &mut Vec<String>) {
    let leaf = match value {
        Value::Object(fields) => return fields.values().for_each(|value| collect(value, values)),
        Value::Array(list) => return list.iter().for_each(|value| collect(value, values)),
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(_) | Value::Null => return,
    };
    if leaf.chars().count() >= SHORTEST && !values.contains(&leaf) {
        values.push(leaf);
    }
}

/// Finds a value in JSON, as it may be written there. It must not be part of a longer word or number.
pub(crate) fn is_in(json: &str, value: &str) -> bool {
    spellings(value).iter().any(|spelling| has_word(json, spelling))
}

/// Spellings of a text: as it is, inside a text of JSON, and inside JSON that is a text of JSON.
fn spellings(value: &str) -> Vec<String> {
    let mut all = vec![value.to_owned()];
    let inside = |text: &str| {
        let json = serde_json::to_string(text).unwrap_or_default();
        json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
    };
    let once = inside(value);
    let ascii: String = once.chars().map(in_ascii).collect();
    for spelling in [inside(&once), inside(&ascii), ascii, once] {
        if !all.contains(&spelling) {
            all.push(spelling);
        }
    }
    all
}

/// A character as many programs write it in JSON.
fn in_ascii(character: char) -> String {
    if character.is_ascii() {
        return character.to_string();
    }
    let mut units = [0; 2];
    let units = character.encode_utf16(&mut units);
    units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn has_word(json: &str, value: &str) -> bool {
    let (begins, ends) =
        (value.chars().next().is_some_and(is_word), value.chars().last().is_some_and(is_word));
    memmem::find_iter(json.as_bytes(), value.as_bytes()).any(|at| {
        let before = json.get(..at).unwrap_or_default();
        let after = json.get(at.saturating_add(value.len())..).unwrap_or_default();
        let is_part = begins && ends_in_word(before) || ends && begins_with_word(after);
        !is_part
    })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns true if a text of JSON ends in the middle of a word. The letter of an escape is none.
fn ends_in_word(json: &str) -> bool {
    let mut last = json.chars().rev();
    let Some(character) = last.next().filter(|character| is_word(*character)) else { return false };
    if last.next() == Some('\\') && "nrtbf".contains(character) {
        return false;
    }
    // `\u2014` ends in a digit and is a dash.
    let tail = json.get(json.len().saturating_sub(6)..).unwrap_or_default();
    match tail.strip_prefix("\\u").and_then(|code| u32::from_str_radix(code, 16).ok()) {
        Some(code) => char::from_u32(code).is_none_or(is_word),
        None => true,
    }
}

/// Returns true if a text of JSON goes on with the same word. A decimal point goes on with a number.
fn begins_with_word(json: &str) -> bool {
    let mut next = json.chars();
    match next.next() {
        Some('.' | ',') => next.next().is_some_and(|character| character.is_ascii_digit()),
        Some('\\') => {
            let code = json.get(2..6).filter(|_| json.get(1..2) == Some("u"));
            let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
            code.and_then(char::from_u32).is_some_and(is_word)
        }
        character => character.is_some_and(is_word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_as_json_may_write_it() {
        assert!(is_in(r#"{"content":"order W-5582 is late"}"#, "W-5582"));
        assert!(is_in(r#"{"content":"two\nW-5582"}"#, "W-5582"));
        assert!(is_in(r#"{"content":"{\"id\": \"W-5582\"}"}"#, "W-5582"));
        assert!(is_in(r#"{"arguments":{"amount":1250}}"#, "1250"));
        assert!(is_in(r#"{"content":"caf\u00e9 noir"}"#, "café noir"));
        assert!(is_in("{\"content\":\"café noir\"}", "café noir"));
        assert!(is_in(r#"{"content":"it said \"stop now\" twice"}"#, "said \"stop now\""));
        assert!(is_in(r#"{"a":"{\"b\":\"say \\\"no\\\" now\"}"}"#, "say \"no\" now"));
        assert!(is_in(r#"{"content":"late \u2014W-5582"}"#, "W-5582"));
    }

    #[test]
    fn a_part_of_a_longer_word_is_not_the_value() {
        assert!(!is_in(r#"{"content":"W-55821"}"#, "W-5582"));
        assert!(!is_in(r#"{"content":"booking"}"#, "book"));
        assert!(!is_in(r#"{"content":"12501 and 81250"}"#, "1250"));
        assert!(!is_in(r#"{"content":"1250.75"}"#, "1250"));
        assert!(is_in(r#"{"content":"It is 1250."}"#, "1250"));
        assert!(!is_in(r#"{"content":"caf\u00e9s"}"#, "caf"));
    }

    #[test]
    fn short_values_and_flags_are_left_out() {
        let arguments =
            serde_json::json!({"a": ["W-5582", "abc", 12, 1250, true], "b": {"c": "W-5582"}});
        assert_eq!(values(&arguments), ["W-5582", "1250"]);
    }
}
