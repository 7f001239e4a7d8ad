//! The cases, and the table they make.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use cupel::contract::{ContractCache, ContractFolder};
use cupel::tokens::{BpeCounter, CachedCounter, Encoding, HeuristicCounter, TokenCounter};

/// Required speed-up of the second turn.
const REQUIRED: f64 = 50.0;

/// Texts of several kinds, from which messages are cut.
pub(crate) const SOURCES: [&str; 6] = [
    include_str!("../../tests/corpus/english.txt"),
    include_str!("../../tests/corpus/chat.txt"),
    include_str!("../../tests/corpus/rust.txt"),
    include_str!("../../tests/corpus/json.txt"),
    include_str!("../../tests/corpus/logs.txt"),
    include_str!("../../tests/corpus/markdown.txt"),
];

pub(crate) fn run(is_bench: bool) -> ExitCode {
    let (messages, rounds) = if is_bench { (messages(1_000), 15) } else { (messages(20), 1) };
    let bytes: usize = messages.iter().map(String::len).sum();
    println!("{} messages, {bytes} bytes, medians of {rounds} rounds\n", messages.len());

    let exact = BpeCounter::new(Encoding::O200k);
    let unpacking = timed(|| exact.count("first"));
    println!("{:44} {unpacking:>10.3} ms, once in a process", "unpacking the o200k vocabulary");

    let [estimate, counted, first, second] = turns(&messages, exact, rounds);
    println!("{:44} {estimate:>10.3} ms", "estimating all messages");
    println!("{:44} {counted:>10.3} ms", "counting all messages, no cache");
    println!("{:44} {first:>10.3} ms", "first turn, empty cache");
    println!("{:44} {second:>10.3} ms", "second turn, same messages");
    let faster = first / second;
    println!(
        "{:44} {faster:>10.1} x (at least {REQUIRED} x required)\n",
        "the second turn is faster by"
    );

    #[cfg(feature = "tokenizers")]
    let is_slow = crate::tokenizer::compare(&messages, exact, rounds) && is_bench;
    #[cfg(not(feature = "tokenizers"))]
    let is_slow = false;

    for (name, folder) in
        [("the example's contract", example()), ("8 steps, prompts of 4 KB", large())]
    {
        let [loaded, reused] = contract(&folder, exact, rounds);
        println!("{name}");
        println!("{:44} {loaded:>10.3} ms", "  read and checked");
        println!("{:44} {reused:>10.3} ms", "  reused, its files unchanged");
        println!("{:44} {:>10.1} x", "  reuse is faster by", loaded / reused);
    }

    if is_bench && faster < REQUIRED {
        eprintln!("the second turn is not {REQUIRED} times faster than the first");
        return ExitCode::FAILURE;
    }
    if is_slow { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Estimate, count without a cache, and both turns with one, which is empty in every round.
fn turns(messages: &[String], exact: BpeCounter, rounds: usize) -> [f64; 4] {
    let all = |counter: &dyn TokenCounter| {
        timed(|| messages.iter().map(|message| counter.count(message)).sum::<i64>())
    };
    medians(rounds, || {
        let cached = CachedCounter::new(exact);
        [all(&HeuristicCounter), all(&exact), all(&cached), all(&cached)]
    })
}

/// A contract read and checked anew, and one whose files have not changed.
fn contract(folder: &ContractFolder, exact: BpeCounter, rounds: usize) -> [f64; 2] {
    let cache = ContractCache::new(folder.clone(), exact);
    cache.get("chat").unwrap();
    let repeated = |work: &dyn Fn()| timed(|| (0..100).for_each(|_| work())) / 100.0;
    medians(rounds, || {
        let check = || drop(black_box(folder.load("chat").unwrap().check(&exact).unwrap()));
        let reuse = || drop(black_box(cache.get("chat").unwrap()));
        [repeated(&check), repeated(&reuse)]
    })
}

fn example() -> ContractFolder {
    ContractFolder::open(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/contract/good")).unwrap()
}

fn large() -> ContractFolder {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tokens-bench");
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("config.json", r#"{"model_context_window": 128000, "model_max_tokens": 2000}"#);
    let mut pipeline = "settings: { max_context_tokens: 90000 }\nsteps:\n".to_owned();
    for (number, prompt) in messages(32).chunks(4).enumerate() {
        write(&format!("prompts/step{number}.txt"), &prompt.concat());
        pipeline +=
            &format!("- {{ id: s{number}, action: call_model, prompt_key: step{number} }}\n");
    }
    write("pipelines/chat.yaml", &pipeline);
    ContractFolder::open(root).unwrap()
}

/// Messages of about a kilobyte, no two alike.
fn messages(count: usize) -> Vec<String> {
    let all: Vec<char> = SOURCES.concat().chars().collect();
    let message = |number: usize| {
        let text = all.iter().cycle().skip(number * 397 % all.len()).take(1_000);
        format!("{number}: {}", text.collect::<String>())
    };
    (0..count).map(message).collect()
}

pub(crate) fn medians<const N: usize>(
    rounds: usize,
    mut round: impl FnMut() -> [f64; N],
) -> [f64; N] {
    let samples: Vec<[f64; N]> = (0..rounds).map(|_| round()).collect();
    std::array::from_fn(|case| {
        let mut times: Vec<f64> = samples.iter().filter_map(|s| s.get(case).copied()).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    })
}

/// Duration of `work` in milliseconds.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64() * 1_000.0
}
