//! Token counting as a user sees it: estimates, exact counts, models, and the cache.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::tokens::{CachedCounter, Encoding, HeuristicCounter, TokenCounter, counter_fn};
use cupel::{ContextItem, CupelError};

/// Every text of the corpus by name.
fn corpus() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut texts: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    texts.sort();
    texts
}

/// Counts its calls.
fn counting(calls: &Arc<AtomicUsize>) -> impl TokenCounter + use<> {
    let calls = Arc::clone(calls);
    counter_fn("counting", move |text| {
        calls.fetch_add(1, Ordering::Relaxed);
        text.len() as i64
    })
}

#[test]
fn an_estimate_never_exceeds_the_bytes_and_never_fails() {
    let odd = ["", " ", "\n", "\0", "=", "a", "é", "\u{10FFFF}", "\u{FEFF}", "a\u{301}", "🏳️‍🌈"];
    for text in odd.into_iter().map(str::to_owned).chain(corpus().into_iter().map(|(_, t)| t)) {
        let estimate = HeuristicCounter.count(&text);
        assert!((0..=text.len() as i64).contains(&estimate), "{text:?}: {estimate}");
        assert_eq!(estimate == 0, text.is_empty(), "{text:?}: {estimate}");
    }
}

#[test]
fn an_estimate_takes_one_pass_over_any_text() {
    // Runs that are looked at for noise and are none: a second look at each would be quadratic.
    for text in ["aB".repeat(1 << 20), "word/".repeat(1 << 18), "=".repeat(1 << 20)] {
        let start = std::time::Instant::now();
        HeuristicCounter.count(&text);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
}

#[test]
fn model_names_lead_to_encodings() {
    for (model, encoding) in [
        ("gpt-4o", Encoding::O200k),
        ("gpt-4o-2024-08-06", Encoding::O200k),
        ("openai/gpt-4.1-mini", Encoding::O200k),
        ("chatgpt-4o-latest", Encoding::O200k),
        ("gpt-5", Encoding::O200k),
        ("o3-mini", Encoding::O200k),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", Encoding::O200k),
        ("gpt-4", Encoding::Cl100k),
        ("gpt-4-turbo", Encoding::Cl100k),
        ("gpt-3.5-turbo-16k", Encoding::Cl100k),
        ("text-embedding-3-large", Encoding::Cl100k),
    ] {
        assert_eq!(Encoding::for_model(model), Ok(encoding), "{model}");
    }
}

#[test]
fn an_unknown_model_is_an_error_that_lists_the_known_ones() {
    for model in ["", "gpt", "gpt-4x", "gpt-6", "o1mini", "claude-sonnet", "GPT-4o", "ft:llama"] {
        let error = Encoding::for_model(model).unwrap_err();
        assert!(matches!(&error, CupelError::UnknownModel { model: m, .. } if m == model));
        let text = error.to_string();
        assert!(text.contains(&format!("{model:?}")) && text.contains("gpt-4o"), "{text}");
    }
}

#[test]
fn the_cache_counts_each_text_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = CachedCounter::new(counting(&calls));
    let texts: Vec<String> = (0..100).map(|n| format!("message {n}")).collect();
    for turn in 0..3 {
        for text in &texts {
            assert_eq!(counter.count(text), text.len() as i64, "turn {turn}");
        }
    }
    assert_eq!(calls.load(Ordering::Relaxed), 100);
    assert_eq!(counter.len(), 100);
    assert_eq!(counter.name(), "counting");
}

#[test]
fn threads_that_ask_at_once_share_one_count() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = CachedCounter::new(counting(&calls));
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                for n in 0..200 {
                    counter.count(&format!("message {n}"));
                }
            });
        }
    });
    assert_eq!(calls.load(Ordering::Relaxed), 200);
}

#[test]
fn the_cache_stays_within_its_bytes() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = CachedCounter::with_capacity(counting(&calls), 1 << 20);
    for n in 0..10_000 {
        counter.count(&format!("{n:01000}"));
    }
    assert!(counter.bytes() <= 1 << 20, "{} bytes", counter.bytes());
    assert!(counter.len() > 500, "{} texts", counter.len());
}

#[test]
fn a_cache_without_room_still_counts() {
    for bytes in [0, 1] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = CachedCounter::with_capacity(counting(&calls), bytes);
        assert_eq!((counter.count("abc"), counter.count("abc"), counter.count("")), (3, 3, 0));
        assert!(counter.is_empty());
    }
}

#[test]
fn a_text_of_any_size_is_counted_once() {
    for bytes in [2 << 20, 12 << 20, 40 << 20] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = CachedCounter::new(counting(&calls));
        let book = "x".repeat(bytes);
        counter.count(&book);
        counter.count(&book);
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{bytes} bytes");
    }
}

#[test]
fn an_item_counts_its_own_text() {
    let shared: Arc<dyn TokenCounter> = Arc::new(counter_fn("bytes", |text| text.len() as i64));
    for counter in [&*shared, &shared as &dyn TokenCounter] {
        assert_eq!(ContextItem::counted("four", counter).unwrap().tokens(), 4);
    }
    assert_eq!(ContextItem::counted("four", &shared), ContextItem::new("four", 4));
    assert!(ContextItem::counted("", &HeuristicCounter).is_err());
}

#[cfg(feature = "tiktoken")]
mod exact {
    use super::*;
    use cupel::tokens::BpeCounter;

    /// By other implementations of the encodings, which agree.
    const O200K_AND_CL100K: [(&str, i64, i64); 41] = [
        ("amharic", 364, 479),
        ("arabic", 80, 209),
        ("armenian", 47, 290),
        ("base64", 640, 681),
        ("chat", 204, 214),
        ("chinese", 95, 149),
        ("csv", 183, 183),
        ("czech", 115, 163),
        ("dutch", 84, 121),
        ("emoji", 110, 142),
        ("english", 207, 208),
        ("finnish", 89, 125),
        ("french", 129, 154),
        ("german", 140, 190),
        ("greek", 108, 256),
        ("hebrew", 80, 207),
        ("hex", 465, 468),
        ("hexdump", 492, 492),
        ("hindi", 77, 282),
        ("html", 236, 235),
        ("indonesian", 70, 95),
        ("italian", 83, 102),
        ("japanese", 125, 167),
        ("json", 232, 231),
        ("korean", 82, 155),
        ("logs", 263, 262),
        ("markdown", 183, 181),
        ("polish", 153, 189),
        ("portuguese", 67, 91),
        ("python", 220, 216),
        ("russian", 128, 223),
        ("rust", 290, 289),
        ("spanish", 119, 139),
        ("sql", 139, 138),
        ("swahili", 123, 162),
        ("table", 235, 240),
        ("thai", 79, 178),
        ("turkish", 77, 117),
        ("ukrainian", 109, 188),
        ("urls", 171, 169),
        ("vietnamese", 81, 139),
    ];

    #[test]
    fn counts_are_those_of_the_published_encodings() {
        let (new, old) = (BpeCounter::new(Encoding::O200k), BpeCounter::new(Encoding::Cl100k));
        let counted: Vec<_> =
            corpus().into_iter().map(|(n, t)| (n, new.count(&t), old.count(&t))).collect();
        let expected = O200K_AND_CL100K.map(|(name, o, c)| (name.to_owned(), o, c));
        assert_eq!(counted, expected);
    }

    #[test]
    fn hostile_text_is_counted_like_any_other() {
        let counter = BpeCounter::new(Encoding::O200k);
        for (unit, times, tokens) in [
            (" ", 100_000, 782),
            ("a", 100_000, 12_500),
            ("\n", 100_000, 6_250),
            ("😀", 25_000, 25_000),
            ("<|endoftext|>", 1_000, 6_001),
        ] {
            assert_eq!(counter.count(&unit.repeat(times)), tokens, "{unit:?}");
        }
        assert_eq!(counter.count(""), 0);
    }

    #[test]
    fn a_model_decides_how_its_text_is_counted() {
        let (_, text) = corpus().into_iter().find(|(name, _)| name == "hindi").unwrap();
        assert_eq!(BpeCounter::for_model("gpt-4o").unwrap().count(&text), 77);
        assert_eq!(BpeCounter::for_model("gpt-4").unwrap().count(&text), 282);
        assert!(BpeCounter::for_model("my-own-model").is_err());
    }

    /// The bound that the documentation of `HeuristicCounter` promises.
    #[test]
    fn the_estimate_keeps_its_bound() {
        let (new, old) = (BpeCounter::new(Encoding::O200k), BpeCounter::new(Encoding::Cl100k));
        let mut broken = Vec::new();
        for (name, text) in corpus().into_iter().chain(own_sources()) {
            for part in parts(&text) {
                let exact = new.count(part).max(old.count(part)) as f64;
                let ratio = HeuristicCounter.count(part) as f64 / exact;
                if !(0.85..=1.40).contains(&ratio) {
                    broken.push(format!("{name} ({} bytes): {ratio:.2}", part.len()));
                }
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }

    /// An indentation is one token; this is none.
    #[test]
    fn spaces_that_take_turns_with_tabs_are_counted_one_by_one() {
        let text = " \t".repeat(400);
        let exact = BpeCounter::new(Encoding::O200k).count(&text) as f64;
        let ratio = HeuristicCounter.count(&text) as f64 / exact;
        assert!((0.85..=1.40).contains(&ratio), "{ratio:.2}");
    }

    /// Files that played no part in finding the prices.
    fn own_sources() -> Vec<(String, String)> {
        let mut folders = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/src").into()];
        let mut texts = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir::<std::path::PathBuf>(folder).unwrap() {
                let path = entry.unwrap().path();
                // Lists of word forms and vocabularies are no text.
                if path.ends_with("standing/forms") || path.ends_with("tokens/vocabulary") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    texts.push((path.display().to_string(), text));
                }
            }
        }
        texts
    }

    /// The text and its halves, if they are long enough for the bound to speak about them.
    fn parts(text: &str) -> impl Iterator<Item = &str> {
        let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (first, second) = text.split_at(middle);
        [text, first, second].into_iter().filter(|part| part.len() >= 250)
    }
}
