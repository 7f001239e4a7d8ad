//! What a file costs: its text, and for a PDF an image of each page as well.
//!
//! <https://platform.openai.com/docs/guides/pdf-files>: of a PDF, both the extracted text and an
//! image of each page go into the context. The text is packed away in a PDF, so a page counts as
//! a full one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Detail, Meter};

/// A page of dense print.
const PAGE_TEXT: i64 = 1_200;

/// A PDF whose pages cannot be seen has one for each so many bytes: a page of text takes more.
const PAGE_BYTES: usize = 2_048;

/// The tokens of a file in base64, with or without the head of a `data:` URL.
pub(crate) fn tokens(meter: &Meter, data: &str) -> i64 {
    let data = data.split_once(',').map_or(data, |(_, data)| data);
    let Ok(bytes) = STANDARD.decode(data) else {
        // Whatever it is, a token has at least one byte in it.
        return i64::try_from(data.len()).unwrap_or(i64::MAX);
    };
    if bytes.starts_with(b"%PDF") {
        let pages = pages(&bytes);
        let page = meter.model.images.tokens(None, Detail::High).saturating_add(PAGE_TEXT);
        return page.saturating_mul(i64::try_from(pages).unwrap_or(i64::MAX));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => meter.text(text),
        // A document in some binary format: its text is no longer than its bytes.
        Err(_) => i64::try_from(bytes.len() / 2).unwrap_or(i64::MAX),
    }
}

/// The pages of a PDF, as far as they can be seen.
pub(crate) fn pages(bytes: &[u8]) -> usize {
    match count(bytes, b"/Type /Page") + count(bytes, b"/Type/Page") {
        0 => bytes.len().div_ceil(PAGE_BYTES),
        pages => pages,
    }
}

/// How often `name` stands in `bytes` and does not go on: `/Pages` is no page.
fn count(bytes: &[u8], name: &[u8]) -> usize {
    bytes
        .windows(name.len() + 1)
        .filter(|window| {
            window.starts_with(name) && !window.last().is_some_and(u8::is_ascii_alphanumeric)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Models;

    fn tokens_of(bytes: &[u8]) -> i64 {
        let meter = Meter::new(Models::new().get("gpt-4o").unwrap(), None);
        tokens(&meter, &format!("data:x;base64,{}", STANDARD.encode(bytes)))
    }

    #[test]
    fn text_is_counted_as_text() {
        assert_eq!(tokens_of(b"hello world"), 2);
        assert_eq!(tokens_of(b""), 0);
    }

    #[test]
    fn a_pdf_costs_text_and_image_of_each_page() {
        let page = 85 + 8 * 170 + PAGE_TEXT;
        assert_eq!(tokens_of(b"%PDF-1.7 /Type /Pages /Type /Page\n/Type/Page>>"), 2 * page);
        assert_eq!(tokens_of(b"%PDF-1.7 packed away"), page);
    }

    #[test]
    fn what_cannot_be_read_counts_high() {
        assert_eq!(tokens_of(&[0xFF; 10]), 5);
        let meter = Meter::new(Models::new().get("gpt-4o").unwrap(), None);
        assert_eq!(tokens(&meter, "%%%%"), 4);
    }
}
