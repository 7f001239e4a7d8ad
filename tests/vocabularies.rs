//! Exact counts beside another implementation of the encodings, and the vocabularies beside its own.
//!
//! `CUPEL_BLESS=1 cargo test --features tiktoken --test vocabularies` writes the files of the vocabularies again.

#![cfg(feature = "tiktoken")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::path::{Path, PathBuf};

use bpe_openai::Tokenizer;
use cupel::tokens::{BpeCounter, Encoding, TokenCounter};
use proptest::prelude::*;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const ENCODINGS: [Encoding; 2] = [Encoding::O200k, Encoding::Cl100k];

fn oracle(encoding: Encoding) -> &'static Tokenizer {
    match encoding {
        Encoding::O200k => bpe_openai::o200k_base(),
        _ => bpe_openai::cl100k_base(),
    }
}

fn tokens(encoding: Encoding) -> impl Iterator<Item = &'static [u8]> {
    let bpe = &oracle(encoding).bpe;
    (0..u32::try_from(bpe.num_tokens()).unwrap()).map(|token| bpe.token_bytes(token))
}

/// Both counts of a text, in each encoding.
fn counts(text: &str) -> [(i64, i64); 2] {
    let both = |encoding| {
        let expected = i64::try_from(oracle(encoding).count(text)).unwrap();
        (BpeCounter::new(encoding).count(text), expected)
    };
    ENCODINGS.map(both)
}

#[track_caller]
fn check(name: &str, text: &str) {
    for (encoding, (count, expected)) in ENCODINGS.into_iter().zip(counts(text)) {
        assert_eq!(count, expected, "{name} in {encoding}: {:?}", text.get(..200).unwrap_or(text));
    }
}

#[test]
fn the_files_have_the_published_tokens_in_their_order() {
    for encoding in ENCODINGS {
        let file = format!("{ROOT}/src/tokens/vocabulary/{encoding}.bin");
        let mut expected = Vec::new();
        for token in tokens(encoding) {
            expected.push(u8::try_from(token.len()).unwrap());
            expected.extend_from_slice(token);
        }
        if std::env::var_os("CUPEL_BLESS").is_some() {
            std::fs::write(&file, &expected).unwrap();
        }
        assert!(std::fs::read(&file).unwrap() == expected, "{file} differs");
    }
}

#[test]
fn every_token_counts_alike_alone_and_between_its_neighbours() {
    for encoding in ENCODINGS {
        let texts: Vec<&str> =
            tokens(encoding).filter_map(|token| std::str::from_utf8(token).ok()).collect();
        // Neighbours in the list have nothing to do with each other.
        for part in texts.chunks(4) {
            let text = part.concat();
            let expected = i64::try_from(oracle(encoding).count(&text)).unwrap();
            assert_eq!(BpeCounter::new(encoding).count(&text), expected, "{encoding}: {text:?}");
        }
    }
}

#[test]
fn the_corpus_and_the_sources_count_alike() {
    for folder in ["tests/corpus", "src", "docs"] {
        let mut folders = vec![Path::new(ROOT).join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path: PathBuf = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(text) = std::fs::read_to_string(&path) {
                    check(&path.display().to_string(), &text);
                }
            }
        }
    }
}

/// Pieces that are longer than what is encoded at once.
#[test]
fn long_runs_count_alike() {
    let folder = Path::new(ROOT).join("tests/corpus");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let letters = |name: &str| -> String {
        read(name).chars().filter(|letter| letter.is_alphabetic()).collect()
    };
    for name in ["english", "german", "finnish", "chinese", "japanese", "thai", "hindi", "base64"] {
        let run = letters(&format!("{name}.txt")).to_lowercase();
        check(name, &run.repeat(1 + 40_000 / run.len()));
    }
    for unit in [
        "a",
        "ab",
        "aab",
        "ha",
        "lol",
        "z",
        "é",
        "的",
        "한",
        "😀",
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "\u{301}",
        " ",
        "\n",
        "\r\n",
        "\t",
        " \t",
        "\u{a0}",
        "\u{3000}",
        "=",
        "-",
        "=-",
        "//",
        "!",
        "_",
        "0",
        "1234567",
        "'s",
        "'",
        "\u{0}",
        "\u{fffd}",
        "ſ",
        "İ",
        "Aa",
        "aA",
        "A",
        "<|endoftext|>",
    ] {
        for length in [4_095, 4_097, 12_000] {
            check(unit, &unit.repeat(1 + length / unit.len()));
        }
    }
}

#[test]
fn a_megabyte_without_a_space_is_counted() {
    let text = "a".repeat(1 << 20);
    assert_eq!(BpeCounter::new(Encoding::O200k).count(&text), 1 << 17);
}

/// Parts that meet the expressions and the merges at their edges.
fn part() -> impl Strategy<Value = String> {
    let chosen = [
        "'s",
        "'S",
        "'ll",
        "'LL",
        "'re",
        "'",
        "’s",
        "don't",
        "DON'T",
        "ſ",
        " ",
        "  ",
        "   ",
        "\n",
        "\r\n",
        "\n\n ",
        " \n",
        "\t",
        "\u{a0}",
        "\u{2003}",
        "\u{85}",
        "/",
        "//",
        "\\",
        "_",
        "__init__",
        "{\"a\":",
        "}",
        "=>",
        "0",
        "12",
        "123",
        "1234",
        "٣",
        "½",
        "Ⅷ",
        "的",
        "中文",
        "日本語",
        "한국어",
        "สวัสดี",
        "हिन्दी",
        "e\u{301}",
        "\u{301}",
        "ǅ",
        "ʰ",
        "ª",
        "😀",
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "\u{200d}",
        "\u{fe0f}",
        "\u{0}",
        "\u{7f}",
        "\u{feff}",
        "CamelCase",
        "UPPER",
        "lower",
        "ÄÖÜ",
        "fn main() {\n    let x = 1;\n}\n",
        "<|endoftext|>",
        "https://example.org/a?b=c",
        "ZGVhZGJlZWY=",
    ];
    prop_oneof![
        4 => proptest::sample::select(chosen.to_vec()).prop_map(str::to_owned),
        2 => any::<char>().prop_map(String::from),
        1 => "[a-z]{1,300}",
        1 => "[0-9]{1,20}",
        1 => "\\PC{1,20}",
        1 => "[ \\n\\t\\r]{1,140}",
        1 => "[\\u{4e00}-\\u{9fff}]{1,100}",
        1 => "[!-/:-@\\[-`{-~]{1,60}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_of_any_parts_count_alike(parts in proptest::collection::vec(part(), 0..40)) {
        let text = parts.concat();
        for (count, expected) in counts(&text) {
            prop_assert_eq!(count, expected, "{:?}", text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    /// One piece, longer than what is encoded at once.
    #[test]
    fn long_words_of_any_parts_count_alike(parts in proptest::collection::vec("[a-z]{1,12}", 1..40)) {
        let text: String = parts.iter().cycle().take(1_500).map(String::as_str).collect();
        for (count, expected) in counts(&text) {
            prop_assert_eq!(count, expected, "{:?}", parts);
        }
    }
}
