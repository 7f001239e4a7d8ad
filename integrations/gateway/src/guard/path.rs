//! Paths that mean one thing to everybody who reads them.

/// How often somebody behind us might decode a path.
const DECODED: usize = 4;

/// Whether no part of a path leads up or elsewhere, however often it is decoded.
pub(super) fn is_plain(path: &str) -> bool {
    let odd = path.bytes().any(|byte| byte == b'\\' || byte.is_ascii_control());
    if !path.starts_with('/') || path.contains("//") || odd {
        return false;
    }
    let mut decoded = path.as_bytes().to_vec();
    for _ in 0..DECODED {
        if !decoded.split(|byte| matches!(byte, b'/' | b'\\')).all(is_plain_segment) {
            return false;
        }
        decoded = decode(&decoded);
    }
    true
}

fn is_plain_segment(segment: &[u8]) -> bool {
    segment != b"." && segment != b".." && !segment.contains(&0)
}

/// Replaces what is percent-encoded by what it stands for.
fn decode(bytes: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let pair = (digit(after.first()), digit(after.get(1)));
        match (first, pair) {
            (b'%', (Some(high), Some(low))) => {
                decoded.extend(u8::try_from(high * 16 + low));
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn ordinary_paths_are_plain() {
        for path in [
            "/",
            "/v1/models",
            "/v1/models/ft:gpt-4o:a::b",
            "/v1/models/meta%2Fllama",
            "/v1/files/",
            "/v1/a.b/..c",
            "/v1/100%",
        ] {
            assert!(is_plain(path), "{path}");
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_not() {
        for path in [
            "",
            "*",
            "//evil.example/",
            "/v1//models",
            "/v1/../x",
            "/v1/..",
            "/v1/%2e%2E/x",
            "/v1/.%2e/x",
            "/v1/./x",
            "/v1/a%2f..%2fb",
            "/v1/a%5c..%5cb",
            "/v1/a\\b",
            "/v1/%252e%252e/x",
            "/v1/%25252e%25252e/x",
            "/v1/%00",
        ] {
            assert!(!is_plain(path), "{path}");
        }
    }
}
