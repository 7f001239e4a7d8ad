//! Token counts of media.

use cupel::tokens::ClaudeTokenizer;
use rig_core::message::{Audio, Document, DocumentSourceKind, Image, ImageDetail, Video};

/// Tokens of images, audio, video and files.
///
/// Providers count media by their content, not by the characters that carry them, and each in its
/// own way; these are estimates that lean to the high side. Data at hand (base64 or bytes) is
/// judged by its size; of a link or an uploaded file nothing is known, so it counts as
/// [`unseen`](Self::unseen) tokens. A document given as text is counted as text.
///
/// ```
/// use cupel_rig::{MediaTokens, RigAdapter};
///
/// let mut media = MediaTokens::default();
/// media.image = 800; // this model's own number
/// let adapter = RigAdapter::new().media(media);
/// # let _ = adapter;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaTokens {
    /// An image; 1,600 unless set, the most that large providers charge for one of usual size. Claude
    /// Opus 4.7 and later models look at larger ones: 5,000.
    pub image: i64,
    /// An image sent in low detail; 85 unless set.
    pub image_low: i64,
    /// Bytes of audio to a token; 500 unless set: 32 tokens a second at 128 kbit/s.
    pub audio_bytes: u64,
    /// Bytes of video to a token; 500 unless set: 260 tokens a second at 1 Mbit/s.
    pub video_bytes: u64,
    /// Bytes of a file, such as a PDF, to a token; 25 unless set: 4,000 tokens for a page of
    /// 100 kB.
    pub file_bytes: u64,
    /// Audio, video or a file whose data is not in the request; 5,000 unless set.
    pub unseen: i64,
}

impl Default for MediaTokens {
    fn default() -> Self {
        Self {
            image: 1_600,
            image_low: 85,
            audio_bytes: 500,
            video_bytes: 500,
            file_bytes: 25,
            unseen: 5_000,
        }
    }
}

impl MediaTokens {
    /// Default token counts of media.
    pub(super) fn of(claude: Option<ClaudeTokenizer>) -> Self {
        let media = Self::default();
        let image = claude.map_or(media.image, ClaudeTokenizer::image_tokens);
        Self { image, ..media }
    }

    pub(super) fn image(&self, image: &Image) -> i64 {
        match image.detail {
            Some(ImageDetail::Low) => self.image_low,
            _ => self.image,
        }
    }

    pub(super) fn audio(&self, audio: &Audio) -> i64 {
        self.by_size(&audio.data, self.audio_bytes)
    }

    pub(super) fn video(&self, video: &Video) -> i64 {
        self.by_size(&video.data, self.video_bytes)
    }

    /// A document that is not text.
    pub(super) fn file(&self, document: &Document) -> i64 {
        self.by_size(&document.data, self.file_bytes)
    }

    fn by_size(&self, data: &DocumentSourceKind, bytes_per_token: u64) -> i64 {
        let bytes = match data {
            // Four characters carry three bytes.
            DocumentSourceKind::Base64(text) => text.len() as u64 / 4 * 3,
            DocumentSourceKind::Raw(bytes) => bytes.len() as u64,
            _ => return self.unseen,
        };
        i64::try_from(bytes.div_ceil(bytes_per_token.max(1))).unwrap_or(i64::MAX)
    }
}
