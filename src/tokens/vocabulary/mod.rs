//! OpenAI's encodings: the tokens of each, and the pieces into which a text is cut first.

mod merge;
mod pieces;
mod ranks;

use std::sync::LazyLock;

use pieces::Pieces;
use ranks::Ranks;

/// One encoding, ready to count.
pub(super) struct Vocabulary {
    pieces: Pieces,
    ranks: Ranks,
}

// The files have the tokens in the order of their ranks, each after a byte with its length. They are part of the
// binary and are read where they are: only an index of them is made.
#[cfg(feature = "o200k")]
pub(super) static O200K: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    pieces: Pieces::new(pieces::O200K),
    ranks: Ranks::index(include_bytes!("o200k_base.bin")),
});

#[cfg(feature = "cl100k")]
pub(super) static CL100K: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    pieces: Pieces::new(pieces::CL100K),
    ranks: Ranks::index(include_bytes!("cl100k_base.bin")),
});

impl Vocabulary {
    /// Number of tokens of a text.
    pub(super) fn count(&self, text: &str) -> usize {
        let mut merge = merge::Merge::new(&self.ranks);
        self.pieces.of(text).map(|piece| merge.count(piece.as_bytes())).sum()
    }
}
