//! How deep a JSON text is nested, without reading it.

/// The deepest level of lists and objects. A text that is no JSON gets some number, too.
pub(super) fn of(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut rest = json.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => skip_text(&mut rest),
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Goes on behind the end of a text. Most of a body is text, so it is not looked at byte by byte.
fn skip_text(rest: &mut std::slice::Iter<'_, u8>) {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest.as_slice()) {
        if rest.nth(at) == Some(&b'"') {
            return;
        }
        // Whatever is escaped does not end it.
        rest.next();
    }
    *rest = [].iter();
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn brackets_in_texts_do_not_count() {
        assert_eq!(of(br#"{"a":[{"b":1},[[]]],"c":"[[[[[[\"[[["}"#), 4);
        assert_eq!(of(br#"{"a\\":[{}],"\\\\":[[[""]]]}"#), 4);
        assert_eq!(of(br#"["never ends [[[ \"#), 1);
        assert_eq!(of(b""), 0);
        assert_eq!(of(b"]]]]["), 1);
        assert_eq!(of("[".repeat(100_000).as_bytes()), 100_000);
    }
}
