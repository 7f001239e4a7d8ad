//! Tokens of images, sounds and files, by OpenAI's published rules.
//!
//! Images: <https://platform.openai.com/docs/guides/images-vision#calculating-costs>. An image whose size
//! is not known (a link, a file on the server) counts as the largest one that its detail level allows, so
//! that the count is never too low.
//!
//! Sounds: one token for 100 ms of a user's speech, by
//! <https://platform.openai.com/docs/guides/realtime-costs>. The duration of a WAV is in its header. Other
//! formats count as if they had 32 kbit/s. That is less than speech usually has, so the estimate is high.
//!
//! Files: <https://platform.openai.com/docs/guides/pdf-files>. The text of a PDF and an image of each page
//! go into the context. The text of a PDF is compressed, so each page counts as a full one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Rule by which a model turns an image into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageRule {
    /// A base price, and a price for each 512-pixel tile of the image scaled to fit 2,048 pixels
    /// and then to 768 on its shorter side. Low detail costs the base alone.
    Tiles {
        /// Tokens for any image.
        base: i64,
        /// Tokens for each tile.
        tile: i64,
    },
    /// A price for each 32-pixel patch of the image, scaled down to no more than so many patches.
    /// The rule knows no cheaper level for low detail.
    Patches {
        /// Hundredths of a token for each patch.
        hundredths: i64,
        /// The most patches an image has.
        most: i64,
        /// The most patches at detail `original`; also for `auto`, which may become it.
        most_original: i64,
    },
}

/// Detail level at which a model looks at an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Detail {
    /// A small version of it.
    Low,
    /// The usual one.
    High,
    /// All of it.
    Original,
    /// The model decides; counted as the dearest it may decide on.
    #[default]
    Auto,
}

impl Detail {
    pub(crate) fn named(name: Option<&str>) -> Self {
        match name {
            Some("low") => Self::Low,
            Some("high") => Self::High,
            Some("original") => Self::Original,
            _ => Self::Auto,
        }
    }
}

/// Four tiles by two: 2,048 pixels by 768.
const MOST_TILES: i64 = 8;

impl ImageRule {
    /// The tokens of an image with this width and height in pixels; of the largest one when they
    /// are not known.
    ///
    /// ```
    /// use cupel_json::{Detail, ImageRule};
    ///
    /// let gpt_4o = ImageRule::Tiles { base: 85, tile: 170 };
    /// assert_eq!(gpt_4o.tokens(Some((2_048, 4_096)), Detail::High), 1_105);
    /// assert_eq!(gpt_4o.tokens(None, Detail::Low), 85);
    /// ```
    #[must_use]
    pub fn tokens(self, size: Option<(u32, u32)>, detail: Detail) -> i64 {
        match self {
            Self::Tiles { base, .. } if detail == Detail::Low => base,
            Self::Tiles { base, tile } => {
                let count = size.map_or(MOST_TILES, tiles);
                base.saturating_add(tile.saturating_mul(count))
            }
            Self::Patches { hundredths, most, most_original } => {
                let most = match detail {
                    Detail::Low | Detail::High => most,
                    Detail::Original | Detail::Auto => most_original.max(most),
                };
                let count = size.map_or(most, |size| patches(size, most));
                count.saturating_mul(hundredths).saturating_add(99) / 100
            }
        }
    }
}

fn tiles((width, height): (u32, u32)) -> i64 {
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let fit = (2_048.0 / width.max(height)).min(1.0);
    let shorten = (768.0 / (width.min(height) * fit)).min(1.0);
    let side = |length: f64| (length * fit * shorten / 512.0).ceil().max(1.0) as i64;
    side(width).saturating_mul(side(height))
}

fn patches((width, height): (u32, u32), most: i64) -> i64 {
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let side = |length: f64| (length / 32.0).ceil().max(1.0) as i64;
    let raw = side(width).saturating_mul(side(height));
    if raw <= most {
        return raw;
    }
    // Scaled to the area, then once more so that one side is a whole number of patches.
    let scale = (32.0 * 32.0 * most as f64 / (width * height)).sqrt();
    let whole = |length: f64| {
        let patches = length * scale / 32.0;
        patches.floor().max(1.0) / patches
    };
    let scale = scale * whole(width).min(whole(height));
    // What rounding leaves above a whole patch is no patch.
    let side = |length: f64| (length * scale / 32.0 - 1e-9).ceil().max(1.0) as i64;
    side(width).saturating_mul(side(height)).min(most)
}

/// An image's size, read from the head of a `data:` URL; none for links and unknown formats.
pub(crate) fn size_of_data_url(url: &str) -> Option<(u32, u32)> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    if kind.ends_with(";base64") { image_size(data) } else { None }
}

/// The width and height of an image in base64.
pub(crate) fn image_size(data: &str) -> Option<(u32, u32)> {
    // PNG, GIF and WEBP say it at once; a JPEG may carry a thumbnail and a profile before it.
    [1 << 10, 1 << 19].into_iter().find_map(|most| size_of(&head(data, most)?))
}

fn size_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let size = imagesize::blob_size(bytes).ok()?;
    Some((u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?))
}

/// The first bytes of base64 text; at most `most`.
pub(crate) fn head(data: &str, most: usize) -> Option<Vec<u8>> {
    let data = data.get(..data.len().min(most.div_ceil(3) * 4))?;
    // What stands after the padding is no part of it.
    let data = data.split('=').next()?;
    STANDARD.decode(data.get(..data.len() / 4 * 4)?).ok()
}

const TOKENS_A_SECOND: u64 = 10;
const COMPRESSED_BYTES_A_SECOND: u64 = 32_000 / 8;

/// The tokens of sound in base64.
pub(crate) fn audio_tokens(data: &str) -> i64 {
    let bytes = data.len() as u64 / 4 * 3;
    let rate = head(data, 64).and_then(|head| wav_bytes_a_second(&head));
    let rate = rate.unwrap_or(COMPRESSED_BYTES_A_SECOND);
    let tokens = bytes.saturating_mul(TOKENS_A_SECOND).div_ceil(rate);
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn wav_bytes_a_second(head: &[u8]) -> Option<u64> {
    let is_wav = head.starts_with(b"RIFF") && head.get(8..16)? == b"WAVEfmt ";
    let rate = u32::from_le_bytes(head.get(28..32)?.try_into().ok()?);
    (is_wav && rate > 0).then_some(u64::from(rate))
}

/// A page of dense print.
const PAGE_TEXT: i64 = 1_200;

/// A PDF whose pages cannot be seen has one for each so many bytes: a page of text takes more.
const PAGE_BYTES: usize = 2_048;

/// The tokens of a file in base64, with or without the head of a `data:` URL.
pub(crate) fn file_tokens(data: &str, images: ImageRule, count: impl Fn(&str) -> i64) -> i64 {
    let data = data.split_once(',').map_or(data, |(_, data)| data);
    let Ok(bytes) = STANDARD.decode(data) else {
        // Whatever it is, a token has at least one byte in it.
        return i64::try_from(data.len()).unwrap_or(i64::MAX);
    };
    if bytes.starts_with(b"%PDF") {
        let pages = pages(&bytes);
        let page = images.tokens(None, Detail::High).saturating_add(PAGE_TEXT);
        return page.saturating_mul(i64::try_from(pages).unwrap_or(i64::MAX));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => count(text),
        // A document in some binary format: its text is no longer than its bytes.
        Err(_) => i64::try_from(bytes.len() / 2).unwrap_or(i64::MAX),
    }
}

/// The pages of a PDF, as far as they can be seen.
pub(crate) fn pages(bytes: &[u8]) -> usize {
    match times(bytes, b"/Type /Page") + times(bytes, b"/Type/Page") {
        0 => bytes.len().div_ceil(PAGE_BYTES),
        pages => pages,
    }
}

/// Number of places where `name` stands in `bytes` and does not go on: `/Pages` is no page.
fn times(bytes: &[u8], name: &[u8]) -> usize {
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

    const GPT_4O: ImageRule = ImageRule::Tiles { base: 85, tile: 170 };
    const ONE_EACH: ImageRule =
        ImageRule::Patches { hundredths: 100, most: 1_536, most_original: 1_536 };

    #[test]
    fn tiles_as_the_published_examples_have_them() {
        assert_eq!(GPT_4O.tokens(Some((1_024, 1_024)), Detail::High), 765);
        assert_eq!(GPT_4O.tokens(Some((2_048, 4_096)), Detail::High), 1_105);
        assert_eq!(GPT_4O.tokens(Some((4_096, 8_192)), Detail::Low), 85);
        assert_eq!(GPT_4O.tokens(Some((128, 64)), Detail::Auto), 255);
    }

    #[test]
    fn patches_as_the_published_examples_have_them() {
        assert_eq!(ONE_EACH.tokens(Some((1_024, 1_024)), Detail::High), 1_024);
        assert_eq!(ONE_EACH.tokens(Some((1_800, 2_400)), Detail::High), 1_452);
        let mini = ImageRule::Patches { hundredths: 162, most: 1_536, most_original: 1_536 };
        assert_eq!(mini.tokens(Some((1_024, 1_024)), Detail::Low), 1_659);
    }

    #[test]
    fn an_unknown_size_counts_as_the_largest() {
        for rule in [GPT_4O, ONE_EACH] {
            let largest = rule.tokens(None, Detail::High);
            for size in [(1, 1), (768, 2_048), (9_999, 9_999), (1, u32::MAX), (4_000, 1_474)] {
                let tokens = rule.tokens(Some(size), Detail::High);
                assert!((1..=largest).contains(&tokens), "{size:?}: {tokens} > {largest}");
            }
        }
    }

    #[test]
    fn the_size_is_read_from_the_head_of_the_data() {
        let png = [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
            &640_u32.to_be_bytes(),
            &480_u32.to_be_bytes(),
            &[0; 4_000],
        ]
        .concat();
        let gif = [b"GIF89a".as_slice(), &[32, 0, 16, 0], &[0; 60]].concat();
        // A JPEG with 40 kB of profile before its frame header.
        let mut jpeg = vec![0xFF, 0xD8, 0xFF, 0xE1, 0x9C, 0x42];
        jpeg.extend([0; 0x9C40]);
        jpeg.extend([0xFF, 0xC0, 0, 17, 8, 0x03, 0x00, 0x04, 0x00, 3]);
        jpeg.extend([0; 64]);
        for (bytes, size) in [(png, (640, 480)), (gif, (32, 16)), (jpeg, (1_024, 768))] {
            let url = format!("data:image/any;base64,{}", STANDARD.encode(bytes));
            assert_eq!(size_of_data_url(&url), Some(size));
        }
        for url in ["https://example.com/a.png", "data:image/png;base64,!!!!", "data:,x", ""] {
            assert_eq!(size_of_data_url(url), None, "{url}");
        }
    }

    #[test]
    fn ten_tokens_for_a_second_of_wav() {
        let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        wav.extend(16_000_u32.to_le_bytes());
        wav.extend(32_000_u32.to_le_bytes());
        wav.extend([2, 0, 16, 0]);
        wav.extend(b"data\0\0\0\0");
        wav.extend(vec![0; 3 * 32_000]);
        assert_eq!(audio_tokens(&STANDARD.encode(wav)), 31); // 30 and the header
    }

    #[test]
    fn other_formats_are_estimated_from_their_size() {
        let second = vec![0xFF; 3_999];
        assert_eq!(audio_tokens(&STANDARD.encode(second)), 10);
        assert_eq!(audio_tokens(""), 0);
        assert_eq!(audio_tokens("not base64 at all"), 1);
    }

    fn tokens_of(bytes: &[u8]) -> i64 {
        file(&format!("data:x;base64,{}", STANDARD.encode(bytes)))
    }

    fn file(data: &str) -> i64 {
        file_tokens(data, GPT_4O, |text| text.split_whitespace().count() as i64)
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
        assert_eq!(file("%%%%"), 4);
    }
}
