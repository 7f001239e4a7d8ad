//! Attacks the library with random cases for as long as asked:
//! `cargo run --release --example soak -- --minutes 10`.
//!
//! `--seed <number>` starts elsewhere; without it every run starts from the time of day. A broken
//! promise is printed with its seed and ends the run; `--only <seed>` runs that case alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::print_stdout, missing_docs)]

mod targets;

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use targets::TARGETS;

fn main() -> ExitCode {
    let options = match Options::read() {
        Ok(options) => options,
        Err(problem) => {
            println!(
                "{problem}\nusage: soak [--minutes <number>] [--seed <number>] [--only <seed>]"
            );
            return ExitCode::from(2);
        }
    };
    targets::hide_expected_panics();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(broken) => {
            println!("{broken}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    if let Some(seed) = options.only {
        for (name, case, _) in TARGETS {
            case(seed).map_err(|promise| format!("{name}, --only {seed}: {promise}"))?;
        }
        println!("seed {seed}: every promise holds");
        return Ok(());
    }
    let started = Instant::now();
    let length = Duration::from_secs_f64(options.minutes * 60.0);
    let (mut seed, mut cases) = (options.seed, [0_u64; TARGETS.len()]);
    let mut shown = started;
    println!("from seed {seed}, for {} minutes", options.minutes);
    while started.elapsed() < length {
        for (number, (name, case, share)) in TARGETS.into_iter().enumerate() {
            // About a tenth of a second for each target in turn.
            for _ in 0..share {
                seed = seed.wrapping_add(1);
                case(seed).map_err(|promise| format!("{name}, --only {seed}: {promise}"))?;
            }
            cases[number] += share;
        }
        if shown.elapsed() > Duration::from_secs(60) {
            shown = Instant::now();
            show(started, &cases);
        }
    }
    show(started, &cases);
    Ok(())
}

fn show(started: Instant, cases: &[u64]) {
    let counts = TARGETS.iter().zip(cases).map(|((name, ..), count)| format!("{count} {name}"));
    let counts: Vec<String> = counts.collect();
    println!(
        "{:>5.1} min: {}, every promise held",
        started.elapsed().as_secs_f64() / 60.0,
        counts.join(", ")
    );
}

struct Options {
    minutes: f64,
    seed: u64,
    only: Option<u64>,
}

impl Options {
    fn read() -> Result<Self, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut options = Self { minutes: 1.0, seed: now.as_secs() << 24, only: None };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name}: the value is missing"))?;
            let bad = |expected: &str| format!("{name}: got {value:?}, expected {expected}");
            let number = || value.parse::<u64>().map_err(|_| bad("a number"));
            match name.as_str() {
                "--minutes" => {
                    let minutes = value.parse().ok().filter(|m: &f64| m.is_finite() && *m > 0.0);
                    options.minutes = minutes.ok_or_else(|| bad("a number above 0"))?;
                }
                "--seed" => options.seed = number()?,
                "--only" => options.only = Some(number()?),
                _ => return Err(format!("{name}: no such option")),
            }
        }
        Ok(options)
    }
}
