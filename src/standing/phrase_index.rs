//! Phrases of the lists of forms by their first words, so that a sentence is read once.

use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt};

use super::forms::{ALL, Forms};

/// List that a phrase is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum List {
    Addresses = 1,
    Wishes = 1 << 1,
    Asked = 1 << 2,
    Henceforth = 1 << 3,
    General = 1 << 4,
    Once = 1 << 5,
    Openings = 1 << 6,
    Preferences = 1 << 7,
    NoPreferences = 1 << 8,
    Retractions = 1 << 9,
    Permissions = 1 << 10,
    Again = 1 << 11,
    Scopes = 1 << 12,
    Requests = 1 << 13,
    Asides = 1 << 14,
}

/// One language.
pub(super) struct Language {
    pub(super) forms: &'static Forms,
    /// Phrases by their first words: the list, and the other words.
    phrases: HashMap<&'static str, Vec<(List, Vec<&'static str>)>>,
}

static LANGUAGES: LazyLock<[Language; 4]> = LazyLock::new(|| ALL.map(Language::new));

/// Languages that have a function word, as bits.
static FUNCTION_WORDS: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (number, forms) in ALL.iter().enumerate() {
        for word in forms.function_words {
            *words.entry(*word).or_default() |= 1_u8 << number;
        }
    }
    words
});

/// The languages that a sentence may be in: those with most of its words.
pub(super) fn languages_of(words: &[&str]) -> impl Iterator<Item = &'static Language> {
    let mut counts = [0_usize; 4];
    for bits in words.iter().filter_map(|word| FUNCTION_WORDS.get(word)) {
        for (number, count) in counts.iter_mut().enumerate() {
            *count += usize::from(bits >> number & 1);
        }
    }
    let most = counts.into_iter().max().unwrap_or_default();
    LANGUAGES.iter().zip(counts).filter(move |(_, count)| *count == most).map(|(it, _)| it)
}

impl Language {
    fn new(forms: &'static Forms) -> Self {
        let lists = [
            (List::Addresses, forms.addresses),
            (List::Wishes, forms.wishes),
            (List::Asked, forms.asked),
            (List::Henceforth, forms.henceforth),
            (List::General, forms.general),
            (List::Once, forms.once),
            (List::Openings, forms.openings),
            (List::Preferences, forms.preferences),
            (List::NoPreferences, forms.no_preferences),
            (List::Retractions, forms.retractions),
            (List::Permissions, forms.permissions),
            (List::Again, forms.again),
            (List::Scopes, forms.scopes),
            (List::Requests, forms.requests),
            (List::Asides, forms.asides),
        ];
        let mut phrases: HashMap<&str, Vec<(List, Vec<&str>)>> = HashMap::new();
        for (list, all) in lists {
            for phrase in all {
                let mut words = phrase.split(' ');
                let first = words.next().unwrap_or_default();
                phrases.entry(first).or_default().push((list, words.collect()));
            }
        }
        Self { forms, phrases }
    }

    /// Phrases that these words begin with: the list of each, and its number of words.
    pub(super) fn phrases_at<'a>(
        &'a self,
        words: &'a [&'a str],
    ) -> impl Iterator<Item = (List, usize)> {
        let first = words.first().and_then(|first| self.phrases.get(first));
        let rest = words.get(1..).unwrap_or_default();
        let here = first.into_iter().flatten();
        let here = here.filter(move |(_, phrase)| rest.starts_with(phrase));
        here.map(|(list, phrase)| (*list, phrase.len() + 1))
    }

    /// Lists of all phrases in a sentence, as bits.
    pub(super) fn lists_in(&self, words: &[&str]) -> u16 {
        let rests = (0..words.len()).filter_map(|at| words.get(at..));
        let lists = rests.flat_map(|rest| self.phrases_at(rest).map(|(list, _)| list as u16));
        lists.fold(0, |bits, list| bits | list)
    }
}
