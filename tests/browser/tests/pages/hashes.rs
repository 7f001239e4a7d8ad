//! The hashes that the page's policy allows are those of its style and its script.

use base64::Engine as _;
use cupel::explain::{SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH};
use sha2::{Digest as _, Sha256};

#[test]
fn the_policy_allows_what_is_there() {
    for (name, text, hash) in
        [("STYLE_HASH", STYLE, STYLE_HASH), ("SCRIPT_HASH", SCRIPT, SCRIPT_HASH)]
    {
        // As a browser reads it, whatever a checkout has made of the line ends.
        let digest = Sha256::digest(text.replace("\r\n", "\n"));
        let expected = base64::engine::general_purpose::STANDARD.encode(digest);
        assert_eq!(hash, format!("sha256-{expected}"), "{name} in src/explain/page/mod.rs is old");
    }
}
