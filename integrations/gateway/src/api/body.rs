//! Request bodies: read within limits, and decompressed.

use std::io::Read;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use cupel::layer::off_executor;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::Refusal;
use crate::gateway_state::GatewayState;

/// Byte order mark, with which some clients begin a text. JSON has no place for it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Largest number of bytes that a byte of deflate or gzip decompresses to.
const DEFLATE_RATIO: usize = 1_032;

/// Nanoseconds for decompressing to one byte.
const DECODED_BYTE: u64 = 4;

/// Body, with the memory permit that it needs.
#[derive(Debug, Default)]
pub(super) struct HeldBody {
    /// Bytes as the client sent them.
    pub(super) original: Bytes,
    /// Decompressed bytes, without a byte order mark; `original` if they cannot be read.
    pub(super) bytes: Bytes,
    /// Set unless the encoding is unknown.
    pub(super) is_readable: bool,
    room: Option<OwnedSemaphorePermit>,
}

impl HeldBody {
    /// Extends the permit to `length` bytes.
    fn grow(&mut self, length: usize, room: &Arc<Semaphore>) -> Result<(), Refusal> {
        let held = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = u32::try_from(length.div_ceil(1024).saturating_sub(held)).unwrap_or(u32::MAX);
        let more = Arc::clone(room).try_acquire_many_owned(missing).map_err(|_| busy())?;
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        Ok(())
    }
}

/// Reads and decompresses a body.
///
/// # Errors
///
/// Refuses a body that is too large, too slow, cut off, or not encoded as announced; also if too many others
/// are being read.
pub(super) async fn read(
    shared: &GatewayState,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<HeldBody, Refusal> {
    let limits = &shared.config.limits;
    let hint = body.size_hint();
    let announced = usize::try_from(hint.exact().unwrap_or(hint.lower())).unwrap_or(usize::MAX);
    if announced > limits.body_bytes {
        return Err(too_large(limits.body_bytes));
    }
    let Ok(held) = tokio::time::timeout(limits.body_time, collect(shared, body)).await else {
        let limit = limits.body_time.as_secs_f64();
        return Err(Refusal::new(408, "body_time", format!("the body took longer than {limit} s")));
    };
    let held = held?;
    let (original, is_partial) = (held.original.clone(), shared.config.rollout.is_partial());
    match decompress(shared, headers, held).await {
        // A request that may be sent unchanged is not refused for its encoding.
        Err(_) if is_partial => {
            Ok(HeldBody { bytes: original.clone(), original, ..HeldBody::default() })
        }
        read => read,
    }
}

/// Reads all of a body. The permit grows with what has arrived, not with the announced length: a client that
/// only announces could keep all others out.
async fn collect(shared: &GatewayState, mut body: Incoming) -> Result<HeldBody, Refusal> {
    let most = shared.config.limits.body_bytes;
    let mut held = HeldBody::default();
    // Most bodies come in one piece, which is then not copied.
    let (mut first, mut all) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let broken = |_| Refusal::new(400, "broken_body", "the body was cut off");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let length = first.len().saturating_add(all.len()).saturating_add(data.len());
        if length > most {
            return Err(too_large(most));
        }
        held.grow(length, &shared.room)?;
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    held.original = if all.is_empty() { first } else { all.freeze() };
    held.bytes = held.original.clone();
    Ok(held)
}

/// Decompresses a body and removes a byte order mark.
async fn decompress(
    shared: &GatewayState,
    headers: &HeaderMap,
    mut held: HeldBody,
) -> Result<HeldBody, Refusal> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    let (encoding, None) = (encodings.next().unwrap_or(b"identity"), encodings.next()) else {
        return Ok(held);
    };
    let is_gzip = match encoding.trim_ascii().to_ascii_lowercase().as_slice() {
        b"identity" => None,
        b"gzip" | b"x-gzip" => Some(true),
        b"deflate" => Some(false),
        _ => return Ok(held),
    };
    if let Some(is_gzip) = is_gzip {
        let (room, most) = (Arc::clone(&shared.room), shared.config.limits.body_bytes);
        // A few kilobytes may become many megabytes.
        let decoded_bytes = held.original.len().saturating_mul(DEFLATE_RATIO).min(most);
        let steps = DECODED_BYTE.saturating_mul(decoded_bytes as u64);
        let decoded = off_executor(steps, move || decode(held, is_gzip, &room, most)).await;
        held = decoded.unwrap_or_else(|_| Err(broken_encoding()))?;
    }
    if held.bytes.starts_with(BYTE_ORDER_MARK) {
        held.bytes = held.bytes.slice(BYTE_ORDER_MARK.len()..);
    }
    held.is_readable = true;
    Ok(held)
}

fn decode(
    mut held: HeldBody,
    is_gzip: bool,
    room: &Arc<Semaphore>,
    most: usize,
) -> Result<HeldBody, Refusal> {
    let encoded = held.original.clone();
    let mut decoder: Box<dyn Read> = match is_gzip {
        true => Box::new(MultiGzDecoder::new(&*encoded)),
        false => Box::new(ZlibDecoder::new(&*encoded)),
    };
    let (mut decoded, mut piece) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let read = decoder.read(&mut piece).map_err(|_| broken_encoding())?;
        if read == 0 {
            break;
        }
        decoded.extend_from_slice(piece.get(..read).unwrap_or_default());
        if decoded.len() > most {
            return Err(too_large(most));
        }
        held.grow(encoded.len().saturating_add(decoded.len()), room)?;
    }
    held.bytes = decoded.into();
    Ok(held)
}

/// Refuses a body that cannot be read but would have to be, to find the upstream of its model.
pub(super) fn unknown_encoding() -> Refusal {
    let message = "the body's Content-Encoding is unknown, and the gateway needs the model in it to find the \
                   upstream; expected gzip, deflate or none";
    Refusal::new(415, "unknown_encoding", message)
}

fn broken_encoding() -> Refusal {
    Refusal::new(400, "broken_encoding", "the body is not encoded as Content-Encoding says")
}

fn too_large(most: usize) -> Refusal {
    Refusal::new(413, "body_too_large", format!("the body is larger than {most} bytes"))
}

fn busy() -> Refusal {
    Refusal::new(503, "busy", "too many requests are being read; try again").retry_after()
}

/// Refuses bodies that are not JSON. A form on another site can send other types without a CORS preflight.
pub(super) fn must_be_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let is_json = |value: &HeaderValue| {
        let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        let kind = kind.trim().to_ascii_lowercase();
        kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
    };
    if types.next().is_some_and(is_json) && types.next().is_none() {
        return Ok(());
    }
    Err(Refusal::new(415, "not_json", "expected Content-Type: application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_json_and_nothing_else_is() {
        let ok = |value: &str| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]);
            must_be_json(&headers).is_ok()
        };
        assert!(ok("application/json") && ok("Application/JSON; charset=utf-8"));
        assert!(ok("application/problem+json"));
        for other in ["text/plain", "application/x-www-form-urlencoded", "text/json", "", "json"] {
            assert!(!ok(other), "{other}");
        }
        assert!(must_be_json(&HeaderMap::new()).is_err());
    }
}
