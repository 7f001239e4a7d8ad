//! Messages of 60 words that are all different, with words as common and as rare as in a language.

use cupel_dev::random::Random;

/// Makes one message after another.
pub(crate) struct Texts {
    random: Random,
    words: Vec<String>,
}

const SYLLABLES: [&str; 24] = [
    "ta", "re", "con", "in", "mo", "pla", "ser", "vi", "de", "lo", "ment", "tion", "er", "pre",
    "sto", "ca", "lu", "ring", "ed", "ble", "fi", "na", "or", "stre",
];

impl Texts {
    pub(crate) fn new() -> Self {
        let mut random = Random(42);
        let word = |_| {
            let syllables = 1 + random.below(4);
            (0..syllables).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect()
        };
        let words = (0..8_000).map(word).collect();
        Self { random, words }
    }

    /// Eight words, common and rare ones.
    pub(crate) fn question(&self) -> String {
        let places = [3, 17, 60, 200, 900, 2_500, 5_000, 7_000];
        places.map(|place| self.words[place].as_str()).join(" ")
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.text()).collect()
    }

    fn text(&mut self) -> String {
        let words: Vec<&str> = (0..60)
            .map(|_| {
                // About as often as by its rank.
                let place = (self.words.len() as f64).powf(self.random.unit()) as usize - 1;
                self.words[place].as_str()
            })
            .collect();
        words.join(" ")
    }
}
