//! What an image costs, by OpenAI's published rules.
//!
//! The rules: <https://platform.openai.com/docs/guides/images-vision#calculating-costs>. An image
//! whose size is not known (a link, a file on the server) counts as the largest one its detail
//! level allows, so that the count is never too low.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How a model turns an image into tokens.
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

/// How closely a model looks at an image.
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
}
