//! Finds the whole text of an excerpt.
//!
//! Where a planned turn left out most of a large tool result, the mark can name the whole by a key: a
//! hash of its text. [`Namespace::original`](crate::Namespace::original) finds the whole by it, and a model can ask for it
//! itself: [`definition`] is the tool in OpenAI's form, and [`answer`] what it answers. With feature
//! `rig`, `RigOriginals` is the same tool for an agent.
//!
//! ```
//! use cupel_archive::{Archive, ArchiveMessage, original};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), cupel_archive::ArchiveError> {
//! let tenant = Archive::open("sqlite::memory:").await?.namespace("acme")?;
//! let log = "line 1\nline 2\n".repeat(1_000);
//! tenant.conversation("thread-1")?.append([ArchiveMessage::tool(log.as_str())]).await?;
//!
//! let key = original::key(&log); // what the mark of an excerpt names
//! assert_eq!(tenant.original(&key).await?.as_deref(), Some(log.as_str()));
//!
//! // The model asks for it, a part at a time.
//! let arguments = format!(r#"{{"key":"{key}","offset":7,"length":6}}"#);
//! let answer = original::answer(&tenant, &arguments).await?;
//! assert!(answer.starts_with("line 2"));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "rig")]
mod rig;
mod tool;

#[cfg(feature = "rig")]
pub use rig::RigOriginals;
pub use tool::{NAME, ReadArguments, answer, definition};

/// The key of a text: the hash that the mark of an excerpt names, as 32 hexadecimal digits.
///
/// It is 128-bit FNV-1a: the same on every machine and in every version, but no secret, and a text
/// can be made to have another one's key. Keys are looked up in one namespace only.
#[must_use]
pub fn key(text: &str) -> String {
    format!("{:032x}", hash(text))
}

fn hash(text: &str) -> u128 {
    let mix = |hash: u128, byte: u8| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    };
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, mix)
}

/// The key as the database holds it.
pub(crate) fn digest(text: &str) -> [u8; 16] {
    hash(text).to_be_bytes()
}

/// Parses a key into the digest that the database stores. Returns `None` for invalid keys.
pub(crate) fn digest_of_key(key: &str) -> Option<[u8; 16]> {
    let key = key.trim();
    let is_key = key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_key.then(|| u128::from_str_radix(key, 16).ok()).flatten().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_published_hash() {
        // From the reference of FNV: http://www.isthe.com/chongo/tech/comp/fnv/.
        for (text, expected) in [
            ("", "6c62272e07bb014262b821756295c58d"),
            ("a", "d228cb696f1a8caf78912b704e4a8964"),
            ("foobar", "343e1662793c64bf6f0d3597ba446f18"),
        ] {
            assert_eq!(key(text), expected);
            assert_eq!(digest_of_key(expected), Some(digest(text)));
        }
    }
}
