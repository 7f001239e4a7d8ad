//! Strings of JSON: read, and written again.

/// Writes a text as a JSON string.
pub(super) fn write(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The text of a valid string. Halves of characters become replacement characters.
pub(super) fn read(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut units = Vec::new();
    let mut rest = raw;
    while let Some((before, escape)) = rest.split_once('\\') {
        if !before.is_empty() {
            flush(&mut units, &mut text);
            text.push_str(before);
        }
        let code = escape.strip_prefix('u').and_then(|code| code.get(..4));
        if let Some(unit) = code.and_then(|code| u16::from_str_radix(code, 16).ok()) {
            units.push(unit);
            rest = escape.get(5..).unwrap_or_default();
            continue;
        }
        flush(&mut units, &mut text);
        let mut after = escape.chars();
        text.extend(after.next().map(|c| match c {
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            c => c,
        }));
        rest = after.as_str();
    }
    flush(&mut units, &mut text);
    text.push_str(rest);
    text
}

/// Appends the characters of `\u` escapes that follow each other.
fn flush(units: &mut Vec<u16>, text: &mut String) {
    let read = char::decode_utf16(units.drain(..));
    text.extend(read.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
}
