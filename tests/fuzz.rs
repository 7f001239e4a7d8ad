//! Some thousand random cases of everything that `--example soak` attacks for longer.
//!
//! The cases come from a fixed seed; `CUPEL_SEED=<number>` tries others.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "../examples/soak/targets/mod.rs"]
mod targets;

#[test]
fn every_promise_holds() {
    targets::hide_expected_panics();
    let seed = std::env::var("CUPEL_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let first = seed.unwrap_or(1).wrapping_mul(1 << 32);
    for (name, case, cases) in targets::TARGETS {
        for seed in (0..cases).map(|number| first.wrapping_add(number)) {
            if let Err(promise) = case(seed) {
                panic!("{name}, seed {seed}: {promise}");
            }
        }
    }
}
