//! Counts everything of one request; Claude's tokenizer is not public, so another one is scaled.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cupel::tokens::FormatOverhead;
use serde_json::Value;

use crate::count::{Meter, image_size, pages};
use crate::models::ClaudeModel;
use crate::read::Object;

/// What the format adds to a message, to a block in it, to tools, and before the answer.
pub(super) const FORMAT: FormatOverhead = FormatOverhead::CLAUDE;
/// Pixels for each token of an image.
const PIXELS: u64 = 750;

/// A counter that is scaled to a model's tokenizer, and the model's rules.
pub(super) type ClaudeMeter = Meter<ClaudeModel>;

impl ClaudeMeter {
    /// What only the provider can read: base64 takes four characters for three bytes, and a token is
    /// about four bytes of text.
    pub(super) fn sealed(&self, data: &str) -> i64 {
        let tokens = (data.len() / 4 * 3).div_ceil(4);
        i64::try_from(tokens).unwrap_or(i64::MAX).saturating_mul(self.model.text_percent()) / 100
    }

    /// JSON whose encrypted parts are not text.
    pub(super) fn json(&self, json: &str) -> i64 {
        match serde_json::from_str::<Value>(json) {
            Ok(value) if json.contains("\"encrypted_") => self.value(&value),
            _ => self.text(json),
        }
    }

    fn value(&self, value: &Value) -> i64 {
        match value {
            Value::Object(fields) => fields.iter().fold(0, |sum, (name, field)| {
                let own = match field {
                    Value::String(data) if name.starts_with("encrypted_") => self.sealed(data),
                    field => self.value(field),
                };
                sum.saturating_add(self.text(name)).saturating_add(own)
            }),
            Value::Array(items) => {
                items.iter().fold(0, |sum, item| self.value(item).saturating_add(sum))
            }
            Value::String(text) => self.text(text),
            other => self.text(&other.to_string()),
        }
    }

    /// An image by its source; as large as they get when its size is not known.
    pub(super) fn image(&self, source: &Object<'_>) -> i64 {
        let most = self.model.image_tokens;
        let size = source.text("data").and_then(|data| image_size(&data));
        size.map_or(most, |(width, height)| {
            let pixels = u64::from(width).saturating_mul(u64::from(height));
            i64::try_from(pixels.div_ceil(PIXELS)).unwrap_or(most).clamp(1, most)
        })
    }

    /// A document in base64.
    pub(super) fn document(&self, data: &str) -> i64 {
        let Ok(bytes) = STANDARD.decode(data) else {
            return i64::try_from(data.len()).unwrap_or(i64::MAX);
        };
        let pages = i64::try_from(pages(&bytes)).unwrap_or(i64::MAX);
        pages.saturating_mul(self.model.page_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_tokenizer_counts_more() {
        let text = "The migration window opened at two in the morning."; // o200k: 10
        let count = |model| ClaudeMeter::new(model, None).text(text);
        assert_eq!(count(ClaudeModel::new(1_000)), 13);
        assert_eq!(count(ClaudeModel::new(1_000).newer_tokenizer()), 17);
        assert_eq!(ClaudeMeter::new(ClaudeModel::new(1_000), None).text(""), 0);
    }

    #[test]
    fn what_is_sealed_is_not_counted_as_text() {
        let meter = ClaudeMeter::new(ClaudeModel::new(1_000).with_text_percent(100), None);
        assert_eq!(meter.sealed(&"A".repeat(1_600)), 300);
        let sealed = format!(r#"{{"title":"T","encrypted_content":"{}"}}"#, "Q9z".repeat(1_000));
        assert!(meter.json(&sealed) < 650, "{}", meter.json(&sealed));
    }

    #[test]
    fn a_page_and_an_image_have_their_price() {
        let meter = ClaudeMeter::new(ClaudeModel::new(1_000), None);
        let pdf = STANDARD.encode(b"%PDF-1.7 /Type /Page /Type /Page>>");
        assert_eq!(meter.document(&pdf), 6_000);
        let unknown = Object::parse(r#"{"type":"url","url":"https://x"}"#).unwrap();
        assert_eq!(meter.image(&unknown), 1_600);
    }
}
