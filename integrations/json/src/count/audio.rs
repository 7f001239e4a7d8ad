//! What a piece of sound costs: ten tokens a second.
//!
//! One token for 100 ms of a user's speech is the published rate:
//! <https://platform.openai.com/docs/guides/realtime-costs>. The duration of a WAV is in its
//! header. That of anything else is taken from its size as if it had been pressed to 32 kbit/s,
//! which is less than speech is usually given, so the estimate is high rather than low.

use super::image::head;

const TOKENS_A_SECOND: u64 = 10;
const COMPRESSED_BYTES_A_SECOND: u64 = 32_000 / 8;

/// The tokens of sound in base64.
pub(crate) fn tokens(data: &str) -> i64 {
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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn ten_tokens_for_a_second_of_wav() {
        let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        wav.extend(16_000_u32.to_le_bytes());
        wav.extend(32_000_u32.to_le_bytes());
        wav.extend([2, 0, 16, 0]);
        wav.extend(b"data\0\0\0\0");
        wav.extend(vec![0; 3 * 32_000]);
        assert_eq!(tokens(&STANDARD.encode(wav)), 31); // 30 and the header
    }

    #[test]
    fn other_formats_are_estimated_from_their_size() {
        let second = vec![0xFF; 3_999];
        assert_eq!(tokens(&STANDARD.encode(second)), 10);
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("not base64 at all"), 1);
    }
}
