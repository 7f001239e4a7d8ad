//! Counting by a tokenizer file, compared with OpenAI's encoding and the estimates.

use cupel::tokens::{
    BpeCounter, CachedCounter, HeuristicCounter, LocalEstimate, TokenCounter, TokenizerFile,
};
use tokenizers::Tokenizer;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use crate::cases::{SOURCES, medians, timed};

/// Longest time of a warm turn, compared with OpenAI's encoding.
const ALLOWED: f64 = 1.1;

/// Warm turns that are timed together: one alone takes less than a millisecond.
const TURNS: usize = 20;

/// Prints the times of each counter. Returns true if the warm turn is too slow.
pub(crate) fn compare(messages: &[String], exact: BpeCounter, rounds: usize) -> bool {
    let mut file = None;
    let loading = timed(|| file = Some(load()));
    let Some(file) = file else { return true };
    println!("{:44} {loading:>10.3} ms, once in a process", "reading a tokenizer file");
    let (bpe, own) = (CachedCounter::new(exact), CachedCounter::new(file));
    let all = |counter: &dyn TokenCounter| {
        messages.iter().map(|message| counter.count(message)).sum::<i64>()
    };
    let warm = |counter: &dyn TokenCounter| {
        timed(|| (0..TURNS).map(|_| all(counter)).sum::<i64>()) / TURNS as f64
    };
    // A tokenizer file takes seconds in a debug build.
    let [estimate, local, cold_bpe, cold_file] = medians(rounds.min(3), || {
        [
            timed(|| all(&HeuristicCounter)),
            timed(|| all(&LocalEstimate)),
            timed(|| all(&exact)),
            timed(|| all(own.inner())),
        ]
    });
    all(&bpe);
    all(&own);
    let [warm_bpe, warm_file] = medians(rounds * 5, || [warm(&bpe), warm(&own)]);
    println!("{:44} {estimate:>10.3} ms", "counting without a cache: the estimate");
    println!("{:44} {local:>10.3} ms", "  the estimate for local models");
    println!("{:44} {cold_bpe:>10.3} ms", "  OpenAI's encoding");
    println!("{:44} {cold_file:>10.3} ms", "  the tokenizer file");
    println!("{:44} {warm_bpe:>10.3} ms", "warm turn: OpenAI's encoding");
    println!("{:44} {warm_file:>10.3} ms", "  the tokenizer file");
    let ratio = warm_file / warm_bpe;
    println!(
        "{:44} {ratio:>10.2} (at most {ALLOWED} required)\n",
        "  compared with OpenAI's encoding"
    );
    ratio > ALLOWED
}

fn load() -> TokenizerFile {
    match std::env::var_os("CUPEL_TOKENIZER").filter(|path| !path.is_empty()) {
        Some(path) => TokenizerFile::open(path).unwrap(),
        None => TokenizerFile::from_json("trained", trained().as_bytes()).unwrap(),
    }
}

/// A tokenizer of byte pairs with 8,000 tokens, trained on the texts.
fn trained() -> String {
    let bytes = ByteLevel::alphabet().into_iter().collect();
    let trainer = BpeTrainer::builder().vocab_size(8_000).initial_alphabet(bytes);
    let mut tokenizer = Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    let mut trainer = TrainerWrapper::from(trainer.show_progress(false).build());
    tokenizer.train(&mut trainer, SOURCES.iter().map(|text| (*text).to_owned())).unwrap();
    tokenizer.to_string(false).unwrap()
}
