//! Ranks of byte sequences: which are tokens, and which of two tokens is made first.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Place of a token in the order in which tokens are made. Lower ranks are made first.
pub(super) type Rank = u32;

/// Rank of what is not a token.
pub(super) const NONE: Rank = Rank::MAX;

/// Most bytes of a token, in both encodings.
pub(super) const LONGEST: usize = 128;

/// Bytes of a token to its rank.
pub(super) struct Ranks {
    /// The tokens in order, each after its length. A token's rank is where it stands in here.
    file: &'static [u8],
    /// Tokens of three bytes and more, and of one.
    table: HashTable<Rank>,
    /// Ranks of all pairs of bytes: each merge begins with them.
    pairs: Vec<Rank>,
    /// With a seed of its own, so that nobody can prepare texts that collide.
    hasher: RandomState,
}

impl Ranks {
    /// Indexes the tokens of a file.
    pub(super) fn index(file: &'static [u8]) -> Self {
        let hasher = RandomState::default();
        let starts = || {
            let next = |start: &usize| Some(start + 1 + usize::from(*file.get(*start)?));
            std::iter::successors(Some(0_usize), next).take_while(|start| *start < file.len())
        };
        let mut table = HashTable::with_capacity(starts().count());
        let mut pairs = vec![NONE; 1 << 16];
        for start in starts() {
            let Ok(rank) = Rank::try_from(start) else { break };
            let token = token(file, rank);
            match pair(token).and_then(|pair| pairs.get_mut(pair)) {
                Some(known) => *known = rank,
                None => {
                    let hash = |rank: &Rank| hasher.hash_one(self::token(file, *rank));
                    table.insert_unique(hasher.hash_one(token), rank, hash);
                }
            }
        }
        Self { file, table, pairs, hasher }
    }

    /// Rank of a token with these bytes, or [`NONE`].
    pub(super) fn rank(&self, bytes: &[u8]) -> Rank {
        if bytes.len() > LONGEST {
            return NONE;
        }
        let known = match pair(bytes) {
            Some(pair) => self.pairs.get(pair),
            None => {
                let is_it = |rank: &Rank| token(self.file, *rank) == bytes;
                self.table.find(self.hasher.hash_one(bytes), is_it)
            }
        };
        known.copied().unwrap_or(NONE)
    }
}

/// Bytes of a token.
fn token(file: &'static [u8], rank: Rank) -> &'static [u8] {
    let length = |rest: &&[u8]| rest.first().map(|length| usize::from(*length));
    let rest = file.get(rank as usize..).unwrap_or_default();
    let end = length(&rest).map_or(0, |length| length + 1);
    rest.get(1..end).unwrap_or_default()
}

/// Number of a pair of bytes.
fn pair(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [first, second] => Some(usize::from(*first) << 8 | usize::from(*second)),
        _ => None,
    }
}
