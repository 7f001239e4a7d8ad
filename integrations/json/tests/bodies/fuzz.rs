//! Mutated requests of the three protocols: whatever comes in, what is sent is sound.
//!
//! 20,000 cases run with the suite. `CUPEL_FUZZ=<cases>` runs more, and `CUPEL_SEED=<number>` others.

use std::cell::RefCell;
use std::collections::HashMap;

use cupel::Policy;
use cupel::layer::ContextError;
use cupel_json::{Endpoint, JsonBody};
use serde_json::Value;

use crate::support::{Fitter, Settings};
use cupel_dev_servers::fuzz::mutation::{Mutant, Random, mutate};
use cupel_dev_servers::fuzz::recorded::requests;
use cupel_dev_servers::fuzz::soundness::{OtherTokenizer, check_sent};

const CASES: u64 = 20_000;

#[test]
fn whatever_comes_in_what_is_sent_is_sound() {
    let number =
        |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let first = number("CUPEL_SEED").unwrap_or(1).wrapping_mul(1 << 32);
    let cases = number("CUPEL_FUZZ").unwrap_or(CASES);
    let recorded = requests();
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let recorded = &recorded;
            scope.spawn(move || {
                let fuzz = Fuzz::new(recorded);
                let seeds = (thread..cases).step_by(2).map(|case| first.wrapping_add(case));
                seeds.for_each(|seed| fuzz.case(seed));
                if cases >= CASES {
                    fuzz.check_mix();
                }
            });
        }
    });
}

struct Fuzz<'a> {
    recorded: &'a [(Endpoint, Value)],
    fitters: Vec<Fitter>,
    tokenizer: RefCell<OtherTokenizer>,
    /// Number of requests by outcome.
    mix: RefCell<HashMap<&'static str, usize>>,
}

impl<'a> Fuzz<'a> {
    fn new(recorded: &'a [(Endpoint, Value)]) -> Self {
        let policies = [Policy::chat(), Policy::chat(), Policy::tool_use(), Policy::rag()];
        let windows = [600, 1_000, 2_000, 100_000];
        let settings = policies.into_iter().zip(windows);
        let fitters = settings.map(|(policy, window)| Settings::new(policy, window).build());
        let (tokenizer, mix) = (RefCell::default(), RefCell::default());
        Self { recorded, fitters: fitters.collect(), tokenizer, mix }
    }

    fn case(&self, seed: u64) {
        let mut random = Random::new(seed);
        let (endpoint, request) = random.pick(self.recorded).clone();
        let mutant = mutate(endpoint, request, &mut random);
        let fitter = random.pick(&self.fitters);
        if let Err(problem) = self.check(endpoint, &mutant, fitter) {
            panic!("seed {seed}, {endpoint:?}: {problem}\n{}", mutant.json);
        }
    }

    fn note(&self, what: &'static str) {
        *self.mix.borrow_mut().entry(what).or_default() += 1;
    }

    /// Enough of the cases got as far as the checks.
    fn check_mix(&self) {
        let mix = self.mix.borrow();
        let count = |what| mix.get(what).copied().unwrap_or(0);
        assert!(count("cut") > 1_000 && count("whole") > 1_000, "{mix:?}");
        assert!(count("counted") > 2_000 && count("asked") > 2_000, "{mix:?}");
    }

    fn check(&self, endpoint: Endpoint, mutant: &Mutant, fitter: &Fitter) -> Result<(), String> {
        let Some(body) = JsonBody::parse(endpoint, mutant.json.as_str()) else {
            self.note("unreadable");
            return Ok(());
        };
        let (sent, selection) = match fitter.select(body) {
            Ok(sent) => sent,
            Err(ContextError::Panicked { message }) => return Err(format!("panicked: {message}")),
            Err(_) => {
                self.note("refused");
                return Ok(());
            }
        };
        self.note(if sent == mutant.json { "whole" } else { "cut" });
        let after = check_sent(endpoint, &mutant.json, &sent)?;
        if after.is_asked {
            self.note("asked");
        }
        if mutant.is_text && endpoint != Endpoint::Messages {
            self.note("counted");
            let ours = selection.sent.tokens + selection.fixed_tokens;
            self.tokenizer.borrow_mut().check(endpoint, &after.request, ours)?;
        }
        Ok(())
    }
}
