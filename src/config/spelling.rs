//! Tells a misspelt word from another word.

/// The word among `known` that `word` was probably meant to be.
pub fn meant<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    known.iter().copied().find(|known| is_slip(word, known))
}

/// Returns `true` if two words are so alike that one is probably meant to be the other.
fn is_slip(word: &str, known: &str) -> bool {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let allowed = match known.len() {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    };
    // No slip makes a word that much longer, and to compare very long ones is costly.
    word.len() <= known.len() + 16 && strsim::osa_distance(&plain(word), &plain(known)) <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_other_words() {
        assert!(is_slip("max_contex_tokens", "max_context_tokens"));
        assert!(is_slip("max_ouptut", "max_output"));
        assert!(is_slip("Use-History", "use_history"));
        assert!(!is_slip("max_content_length", "max_context_tokens"));
        assert!(!is_slip("top_k", "steps"));
        assert!(!is_slip("ids", "id"));
    }
}
