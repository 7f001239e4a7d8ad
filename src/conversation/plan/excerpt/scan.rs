//! JSON as places in its text: checked once, and walked from one value to the next.

/// Values in deeper lists and objects are not told apart.
pub(super) const DEEPEST: usize = 48;
/// Values of so many bytes are remembered, so that they are walked over in one step.
const LONG: usize = 64;

/// From where to where a value or a part of it is.
pub(super) type Span = std::ops::Range<usize>;

/// A text that is valid JSON.
pub(super) struct Json<'a> {
    pub(super) text: &'a str,
    pub(super) root: Span,
    /// Long lists, objects and strings by their starts.
    long: Vec<(usize, usize)>,
}

/// An element of a list, or a member of an object.
#[derive(Debug, Clone)]
pub(super) struct JsonChild {
    /// All of it, with the white space before it.
    pub(super) whole: Span,
    pub(super) key: Option<Span>,
    pub(super) value: Span,
}

#[derive(Clone, Copy, PartialEq)]
enum Next {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

impl<'a> Json<'a> {
    /// Reads a text; none if it is not JSON. Takes time in proportion to the text, however deep it is.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut long = Vec::new();
        // Kinds of what is open, and starts of the outer ones: by their number in `long`.
        let mut objects: Vec<bool> = Vec::new();
        let mut starts: Vec<usize> = Vec::new();
        let mut next = Next::Value;
        let first = space(bytes, 0);
        let mut at = first;
        loop {
            let byte = *bytes.get(at)?;
            let is_end = match byte {
                b'}' => {
                    objects.last() == Some(&true)
                        && matches!(next, Next::KeyOrEnd | Next::CommaOrEnd)
                }
                b']' => {
                    objects.last() == Some(&false)
                        && matches!(next, Next::ValueOrEnd | Next::CommaOrEnd)
                }
                _ => false,
            };
            let is_value = matches!(next, Next::Value | Next::ValueOrEnd);
            at = match byte {
                _ if is_end => {
                    objects.pop();
                    at + 1
                }
                b'{' | b'[' if is_value => {
                    if starts.len() == objects.len() && starts.len() <= DEEPEST {
                        starts.push(long.len());
                        long.push((at, 0));
                    }
                    objects.push(byte == b'{');
                    next = if byte == b'{' { Next::KeyOrEnd } else { Next::ValueOrEnd };
                    at = space(bytes, at + 1);
                    continue;
                }
                b',' if next == Next::CommaOrEnd => {
                    next = if *objects.last()? { Next::Key } else { Next::Value };
                    at = space(bytes, at + 1);
                    continue;
                }
                b'"' if matches!(next, Next::Key | Next::KeyOrEnd) => {
                    next = Next::Value;
                    at = after_colon(bytes, string(bytes, at)?)?;
                    continue;
                }
                b'"' if is_value => {
                    let end = string(bytes, at)?;
                    if end - at >= LONG && objects.len() <= DEEPEST {
                        long.push((at, end));
                    }
                    end
                }
                _ if is_value => scalar(bytes, at)?,
                _ => return None,
            };
            // A value has ended.
            if starts.len() > objects.len() {
                let number = starts.pop()?;
                long.get_mut(number)?.1 = at;
                // What is short and has nothing long in it need not be remembered.
                if long.len() == number + 1 && long.last().is_some_and(|l| l.1 - l.0 < LONG) {
                    long.pop();
                }
            }
            if objects.is_empty() {
                let root = first..at;
                return (space(bytes, at) == bytes.len()).then_some(Self { text, root, long });
            }
            at = space(bytes, at);
            next = Next::CommaOrEnd;
        }
    }

    pub(super) fn get(&self, span: &Span) -> &'a str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The children of a list or an object.
    pub(super) fn children(&self, parent: &Span) -> impl Iterator<Item = JsonChild> + '_ {
        let bytes = self.text.as_bytes();
        let is_object = bytes.get(parent.start) == Some(&b'{');
        let mut at = parent.start + 1;
        std::iter::from_fn(move || {
            let mut start = space(bytes, at);
            if matches!(bytes.get(start)?, b']' | b'}') {
                return None;
            }
            let mut key = None;
            if is_object {
                let end = string(bytes, start)?;
                key = Some(start..end);
                start = after_colon(bytes, end)?;
            }
            let value = start..self.end_of(start)?;
            let whole = at..value.end;
            at = space(bytes, value.end);
            at += usize::from(bytes.get(at) == Some(&b','));
            Some(JsonChild { whole, key, value })
        })
    }

    /// The end of the value that starts here.
    fn end_of(&self, start: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if let Ok(number) = self.long.binary_search_by_key(&start, |long| long.0) {
            return self.long.get(number).map(|long| long.1);
        }
        let mut depth = 0_usize;
        let mut at = start;
        loop {
            match bytes.get(at)? {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                b'"' => at = string(bytes, at)? - 1,
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
                _ => at = scalar(bytes, at)? - 1,
            }
            at += 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
}

/// The next place that is not white space.
fn space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The start of the value behind a key.
fn after_colon(bytes: &[u8], end: usize) -> Option<usize> {
    let colon = space(bytes, end);
    (bytes.get(colon) == Some(&b':')).then(|| space(bytes, colon + 1))
}

/// The end of the string that starts here.
fn string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' => {
                    let digits = bytes.get(at + 2..at + 6)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    at += 6;
                }
                _ => return None,
            },
            0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

/// The end of the number, or of `true`, `false` or `null`, that starts here.
fn scalar(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    for word in ["true", "false", "null"] {
        if rest.starts_with(word.as_bytes()) {
            return Some(start + word.len());
        }
    }
    let digits = |mut at: usize| {
        let from = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > from).then_some(at)
    };
    let mut at = start + usize::from(rest.first() == Some(&b'-'));
    at = match bytes.get(at)? {
        b'0' => at + 1,
        _ => digits(at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(at)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn json_is_what_a_parser_takes_for_json(
            text in r#"([\[\]{}:, \n]|"[a-z\\"\t]{0,3}"|"\\u00[0-9a-g]{2}"|-?[0-9.eE+-]{1,4}|true|null|\[1,\{"a":2\}\]){1,9}"#
        ) {
            let value = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert_eq!(Json::parse(&text).is_some(), value.is_ok(), "{}", text);
        }

        #[test]
        fn children_are_walked_over_in_their_order(
            list in prop::collection::vec("(?s)[a-z\"\\\\\\[{é]{0,90}", 0..9),
            pretty: bool,
        ) {
            let value = serde_json::json!([list, {"k": list, "": [[list]]}, 1.5]);
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            let json = Json::parse(&text).unwrap();
            let read = |span: &Span| -> serde_json::Value { serde_json::from_str(json.get(span)).unwrap() };
            let outer: Vec<JsonChild> = json.children(&json.root).collect();
            let values: Vec<_> = outer.iter().map(|child| read(&child.value)).collect();
            prop_assert_eq!(serde_json::Value::from(values), value);
            for child in json.children(&outer[1].value) {
                let key = read(child.key.as_ref().unwrap());
                prop_assert_eq!(&read(&child.value), &read(&outer[1].value)[key.as_str().unwrap()]);
            }
        }
    }
}
