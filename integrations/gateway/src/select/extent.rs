//! How deep a JSON text is nested and how many values it has, without reading it.

/// What a JSON text comes to. One that is no JSON gets some numbers, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// The deepest level of lists and objects.
    pub(super) depth: usize,
    /// Lists, objects and what stands in them, about. Each takes many times its bytes once it is read.
    pub(super) values: usize,
}

pub(super) fn of(json: &[u8]) -> Extent {
    let (mut depth, mut deepest, mut values) = (0_usize, 0, 0);
    let mut rest = json.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => skip_text(&mut rest),
            b',' => values += 1,
            b'[' | b'{' => {
                depth += 1;
                values += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Extent { depth: deepest, values }
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
    fn brackets_and_commas_in_texts_do_not_count() {
        let depth = |json: &[u8]| of(json).depth;
        assert_eq!(depth(br#"{"a":[{"b":1},[[]]],"c":"[[[[[[\"[[["}"#), 4);
        assert_eq!(depth(br#"{"a\\":[{}],"\\\\":[[[""]]]}"#), 4);
        assert_eq!(depth(br#"["never ends [[[ \"#), 1);
        assert_eq!(depth(b""), 0);
        assert_eq!(depth(b"]]]]["), 1);
        assert_eq!(depth("[".repeat(100_000).as_bytes()), 100_000);
        assert_eq!(of(br#"{"a":[1,2,",,,[["],"b":3}"#).values, 5);
    }
}
