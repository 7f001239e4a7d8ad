//! The head of a request, looked at before the HTTP library does: whatever leaves any doubt about
//! where the request ends is refused.
//!
//! The library drops a second length, and a length beside an encoding, before anybody could see
//! them. A proxy in front of this one may have believed the other one.

/// Where the body of a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes; none for most.
    Length(u64),
    /// In chunks.
    Chunked,
}

/// A head that is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doubtful(pub(super) &'static str);

/// The length of the head, when all of it is there: up to and with its empty line.
pub(super) fn end(bytes: &[u8], from: usize) -> Option<usize> {
    // Empty lines before a request are let pass, as the library does.
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let from = from.saturating_sub(3).max(start);
    let tail = bytes.get(from..)?;
    let ends = |at: usize| {
        let rest = tail.get(at..)?;
        let length = if rest.starts_with(b"\n\r\n") {
            3
        } else if rest.starts_with(b"\n\n") {
            2
        } else {
            return None;
        };
        Some(from + at + length)
    };
    (0..tail.len()).find_map(ends)
}

/// Reads a whole head.
pub(super) fn framing(head: &[u8]) -> Result<Framing, Doubtful> {
    let mut lines =
        head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let request = lines.find(|line| !line.is_empty()).unwrap_or_default();
    if request.starts_with(b"CONNECT ") {
        return Err(Doubtful("CONNECT"));
    }
    let mut length = None;
    let mut chunked = false;
    for line in lines.take_while(|line| !line.is_empty()) {
        if line.contains(&b'\r') || line.contains(&0) {
            return Err(Doubtful("a control character in a header"));
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) =
            colon.map(|at| line.split_at(at)).ok_or(Doubtful("a line without a colon"))?;
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            return Err(Doubtful("white space in the name of a header"));
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            if length.is_some() {
                return Err(Doubtful("two lengths"));
            }
            length = Some(number(value).ok_or(Doubtful("a length that is no number"))?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if chunked {
                return Err(Doubtful("two encodings"));
            }
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Doubtful("an encoding other than chunked"));
            }
            chunked = true;
        }
    }
    match (length, chunked) {
        (Some(_), true) => Err(Doubtful("a length and an encoding")),
        (_, true) => Ok(Framing::Chunked),
        (length, false) => Ok(Framing::Length(length.unwrap_or(0))),
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    all.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &str) -> Result<Framing, Doubtful> {
        framing(format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n").as_bytes())
    }

    #[test]
    fn one_length_or_one_encoding_is_taken() {
        assert_eq!(of(""), Ok(Framing::Length(0)));
        assert_eq!(of("content-length: 12 \r\n"), Ok(Framing::Length(12)));
        assert_eq!(of("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
    }

    #[test]
    fn whatever_leaves_a_doubt_is_refused() {
        for headers in [
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\ncontent-length: 6\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: +5\r\n",
            "Content-Length: 0x5\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding : chunked\r\n",
            "Transfer-Encoding:\r\n chunked\r\n",
            "X: 1\r\n Content-Length: 5\r\n",
            "X: 1\rContent-Length: 5\r\n",
            "no colon\r\n",
            ": 1\r\n",
        ] {
            assert!(of(headers).is_err(), "{headers:?}");
        }
        assert!(framing(b"CONNECT a:1 HTTP/1.1\r\n\r\n").is_err());
    }

    #[test]
    fn a_head_ends_with_its_empty_line_wherever_it_was_cut() {
        let bytes = b"\r\n\r\nGET / HTTP/1.1\r\nA: b\r\n\r\nrest";
        let whole = bytes.len() - 4;
        for from in 0..whole {
            assert_eq!(end(bytes, from), Some(whole), "{from}");
        }
        for cut in 0..whole {
            assert_eq!(end(&bytes[..cut], cut.saturating_sub(1)), None, "{cut}");
        }
        assert_eq!(end(b"GET / HTTP/1.1\nA: b\n\nrest", 0), Some(21));
    }
}
