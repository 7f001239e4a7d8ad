//! Makes random cases from a seed, and the smallest one that still fails.

use std::fmt::Debug;

/// A small generator whose numbers are the same everywhere (SplitMix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A number in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// A case that can lose single items.
pub(crate) trait Case: Clone + Debug {
    fn len(&self) -> usize;
    fn without(&self, index: usize) -> Self;
}

fn seed() -> u64 {
    match std::env::var("CUPEL_SEED") {
        Ok(text) => text.parse().expect("CUPEL_SEED must be a number"),
        Err(_) => 0x00c0_ffee,
    }
}

/// Checks `cases` random cases; fails with the seed and the smallest case that fails.
pub(crate) fn run<C: Case>(
    name: &str,
    cases: usize,
    generate: impl Fn(&mut Rng) -> C,
    mut check: impl FnMut(&C) -> Result<(), String>,
) {
    let seed = seed();
    // Every group has numbers of its own, so that a new group does not change the others.
    let own = name
        .bytes()
        .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    for number in 0..cases {
        let mut rng = Rng::new(own.wrapping_add((number as u64) << 32));
        let case = generate(&mut rng);
        if let Err(problem) = check(&case) {
            let (case, problem) = smallest(case, problem, &mut check);
            panic!("{name}, case {number}, CUPEL_SEED={seed}: {problem}\n{case:#?}");
        }
    }
}

fn smallest<C: Case>(
    mut case: C,
    mut problem: String,
    check: &mut impl FnMut(&C) -> Result<(), String>,
) -> (C, String) {
    let mut index = 0;
    while index < case.len() {
        let smaller = case.without(index);
        match check(&smaller) {
            Err(found) => (case, problem, index) = (smaller, found, 0),
            Ok(()) => index += 1,
        }
    }
    (case, problem)
}
