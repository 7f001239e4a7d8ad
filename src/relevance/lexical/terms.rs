//! The terms of a text: folded, without endings, as numbers, computed once.
//!
//! On its next turn a long conversation has the same texts in the same order. Looked up one by one
//! their terms lie all over the memory, and fetching them takes most of the time. A `ScriptRun` has them in
//! a row, as they were read last. What does not follow on is looked up.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex};

use foldhash::fast::FixedState;
use unicode_normalization::UnicodeNormalization;

use super::words::{Language, WordPiece, pieces};
use crate::text_cache::{TextCache, TextKey};

/// A term as a number: equal ones are the same term, but for one pair in four billion.
pub(super) type Term = u32;

/// Terms in the order of the text.
pub(super) type Terms = Arc<[Term]>;

/// Bytes that are read from each end of a text; larger texts do not fit a window.
pub(super) const MOST_BYTES: usize = 512 << 10;

/// About 150,000 messages of 60 words.
const CACHE_BYTES: u64 = 64 << 20;

/// Identity of a text and the language it is read in.
pub(super) type TermKey = TextKey<Language>;

static CACHE: LazyLock<TextCache<Terms, Language>> =
    LazyLock::new(|| TextCache::new(CACHE_BYTES, 400, |terms| size_of_val(&**terms)));

/// Number of cached texts, and their bytes.
pub(super) fn remembered() -> (usize, u64) {
    (CACHE.len(), CACHE.bytes())
}

/// The terms of a text, from memory if it was seen before.
pub(super) fn terms_of(text: &str, language: Language) -> Terms {
    terms_by_key(&key_of(text, language), text)
}

pub(super) fn key_of(text: &str, language: Language) -> TermKey {
    CACHE.key(text, language)
}

/// Returns true if the terms of a text are cached.
pub(super) fn is_known(key: &TermKey) -> bool {
    CACHE.contains(key)
}

/// As [`terms_of`], for a text whose key is known.
pub(super) fn terms_by_key(key: &TermKey, text: &str) -> Terms {
    CACHE.get_or_insert(key, || read(text, key.tag))
}

fn read(text: &str, language: Language) -> Terms {
    let mut terms = Vec::with_capacity(text.len().min(2 * MOST_BYTES) / 5);
    each_term(text, language, &mut |term, _, _| terms.push(term));
    terms.into()
}

/// Calls `found` for each term, with its word and its place in the text.
pub(super) fn each_term(
    text: &str,
    language: Language,
    found: &mut dyn FnMut(Term, &str, Range<usize>),
) {
    let folding = CaseFold::new(language);
    each_piece(text, &mut |piece, word, at| found(folding.term(&piece), word, at));
}

/// Calls `found` for each term as a text, with its word: for what must mean the same elsewhere.
pub(super) fn each_folded(text: &str, language: Language, found: &mut dyn FnMut(String, &str)) {
    let folding = CaseFold::new(language);
    each_piece(text, &mut |piece, word, _| found(folding.folded(&piece), word));
}

fn each_piece(text: &str, found: &mut dyn FnMut(WordPiece<'_>, &str, Range<usize>)) {
    let mut part = |range: Range<usize>| {
        let Some(part) = text.get(range.clone()) else { return };
        pieces(part, &mut |piece, at| {
            let at = range.start + at.start..range.start + at.end;
            let word = text.get(at.clone()).unwrap_or_default();
            found(piece, word, at);
        });
    };
    if text.len() <= 2 * MOST_BYTES {
        part(0..text.len());
    } else {
        part(0..text.floor_char_boundary_below(MOST_BYTES));
        part(text.floor_char_boundary_below(text.len() - MOST_BYTES)..text.len());
    }
}

/// The standard library's own is newer than the compiler that is asked for.
trait FloorCharBoundary {
    fn floor_char_boundary_below(&self, at: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_below(&self, at: usize) -> usize {
        (0..=at).rev().find(|at| self.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// Number of words whose term a thread caches.
const REMEMBERED_WORDS: usize = 1 << 13;

thread_local! {
    /// The word's hash and its term, at the place that the hash says: most words of a text are
    /// among few, and finding an ending takes ten times as long as looking here.
    static WORDS: RefCell<Vec<(u64, Term)>> = RefCell::new(vec![(0, 0); REMEMBERED_WORDS]);
}

struct CaseFold {
    language: Language,
    hasher: FixedState,
}

impl CaseFold {
    fn new(language: Language) -> Self {
        Self { language, hasher: FixedState::default() }
    }

    fn term(&self, piece: &WordPiece<'_>) -> Term {
        match piece {
            // Words are looked up, since finding their endings takes long.
            WordPiece::Word(word) => self.word(word),
            WordPiece::Whole(_) | WordPiece::Signs(_) => self.hash(&self.folded(piece)),
        }
    }

    fn word(&self, word: &str) -> Term {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(self.language as u8);
        let mut buffer = [0_u8; 32];
        match buffer.get_mut(..word.len()).filter(|_| word.is_ascii()) {
            Some(folded) => {
                folded.copy_from_slice(word.as_bytes());
                folded.make_ascii_lowercase();
                hasher.write(folded);
            }
            None => hasher.write(word.as_bytes()),
        }
        // Never zero, which stands for a place that is free.
        let hash = hasher.finish() | 1;
        let place = (hash >> 32) as usize % REMEMBERED_WORDS;
        WORDS.with_borrow_mut(|words| {
            let Some(slot) = words.get_mut(place) else { return self.stem(word) };
            if slot.0 != hash {
                *slot = (hash, self.stem(word));
            }
            slot.1
        })
    }

    fn stem(&self, word: &str) -> Term {
        self.hash(&self.stem_text(word))
    }

    fn stem_text(&self, word: &str) -> String {
        let folded = lower(word);
        match self.language.stemmer() {
            Some(stemmer) => unmarked(&stemmer.stem(&folded)),
            None => unmarked(&folded),
        }
    }

    fn folded(&self, piece: &WordPiece<'_>) -> String {
        match piece {
            WordPiece::Word(word) => self.stem_text(word),
            // Folded like words, but with their endings: a stem of a name is no name.
            WordPiece::Whole(word) => unmarked(&lower(word)),
            WordPiece::Signs(signs) => unmarked(&lower(signs)),
        }
    }

    fn hash(&self, folded: &str) -> Term {
        let hash = self.hasher.hash_one(folded.as_bytes());
        (hash ^ (hash >> 32)) as Term
    }
}

/// In lower case, and in one form of those that look alike.
pub(super) fn lower(word: &str) -> String {
    if word.is_ascii() {
        word.to_ascii_lowercase()
    } else {
        // The one letter whose two spellings no normal form joins.
        word.nfkc().collect::<String>().to_lowercase().replace('ß', "ss")
    }
}

/// Without accents, points and joiners: some write them and some do not.
fn unmarked(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let is_mark = |sign: char| {
        matches!(u32::from(sign),
            0x00AD | 0x0300..=0x036F | 0x0591..=0x05C7 | 0x0640 | 0x064B..=0x065F | 0x0670
            | 0x200B..=0x200F | 0x2060 | 0xFE00..=0xFE0F | 0xFEFF)
    };
    word.nfkd().filter(|sign| !is_mark(*sign)).collect()
}

/// Shorter conversations are fast either way.
const LEAST_TEXTS: usize = 1_000;
/// Most terms of a conversation in a row: 8 MiB.
const MOST_TERMS: usize = 2 << 20;
/// Most conversations that are cached this way.
const MOST_RUNS: usize = 4;

static RUNS: Mutex<Vec<ScriptRun>> = Mutex::new(Vec::new());

/// Texts in their order, and their terms in a row.
#[derive(Debug, Default)]
struct ScriptRun {
    keys: Vec<TermKey>,
    /// End of each text's terms.
    ends: Vec<usize>,
    terms: Vec<Term>,
}

impl ScriptRun {
    /// The remembered run that begins with this text, which is nobody else's meanwhile.
    fn beginning_with(key: &TermKey) -> Self {
        let mut runs = RUNS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = runs.iter().position(|run| run.keys.first() == Some(key));
        found.map(|at| runs.remove(at)).unwrap_or_default()
    }

    fn remember(self) {
        let mut runs = RUNS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Two calls of one conversation at once: the later one is the longer one.
        runs.retain(|run| run.keys.first() != self.keys.first());
        if runs.len() >= MOST_RUNS {
            runs.remove(0);
        }
        runs.push(self);
    }

    fn terms_at(&self, position: usize) -> &[Term] {
        let before = position.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(position).copied().unwrap_or(0);
        self.terms.get(before.copied().unwrap_or(0)..end).unwrap_or_default()
    }

    fn truncate(&mut self, texts: usize) {
        self.keys.truncate(texts);
        self.ends.truncate(texts);
        self.terms.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

/// Reads one text of a conversation after another.
pub(super) struct TermReader {
    language: Language,
    /// None where a conversation is short.
    run: Option<ScriptRun>,
    position: usize,
    /// True if everything so far was as cached.
    in_step: bool,
}

impl TermReader {
    pub(super) fn new(language: Language, texts: usize) -> Self {
        let run = (texts >= LEAST_TEXTS).then(ScriptRun::default);
        Self { language, run, position: 0, in_step: true }
    }

    /// Hands out the terms of the next text.
    pub(super) fn with<R>(&mut self, text: &str, read: impl FnOnce(&[Term]) -> R) -> R {
        let key = key_of(text, self.language);
        let Some(run) = &mut self.run else { return read(&terms_by_key(&key, text)) };
        if self.position == 0 {
            *run = ScriptRun::beginning_with(&key);
        }
        let position = self.position;
        self.position += 1;
        if self.in_step && run.keys.get(position) == Some(&key) {
            return read(run.terms_at(position));
        }
        if self.in_step {
            run.truncate(position);
            self.in_step = false;
        }
        let terms = terms_by_key(&key, text);
        // Only while there is no gap: what follows one could not be found again.
        if run.keys.len() == position && run.terms.len() + terms.len() <= MOST_TERMS {
            run.keys.push(key);
            run.terms.extend_from_slice(&terms);
            run.ends.push(run.terms.len());
        }
        read(&terms)
    }

    /// Remembers what was read for the next turn.
    pub(super) fn finish(self) {
        if let Some(run) = self.run.filter(|run| !run.keys.is_empty()) {
            run.remember();
        }
    }
}
