//! How deep a JSON text is nested, without reading it.

/// The deepest level of lists and objects. A text that is no JSON gets some number, too.
pub(super) fn of(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
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

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn brackets_in_texts_do_not_count() {
        assert_eq!(of(br#"{"a":[{"b":1},[[]]],"c":"[[[[[[\"[[["}"#), 4);
        assert_eq!(of(b""), 0);
        assert_eq!(of(b"]]]]["), 1);
        assert_eq!(of("[".repeat(100_000).as_bytes()), 100_000);
    }
}
