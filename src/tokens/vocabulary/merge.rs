//! Byte-pair encoding of one piece: of all neighbours, those whose union has the lowest rank are joined first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ranks::{LONGEST, NONE, Rank, Ranks};

/// Most bytes for which looking through all neighbours is faster than a heap of them.
const SHORT: usize = 96;

/// Bytes of a long piece that are encoded at once.
const WINDOW: usize = 4_096;

/// Bytes that two windows have in common.
const OVERLAP: usize = 4 * LONGEST;

/// Counts the tokens of pieces. Its memory is used again from piece to piece.
pub(super) struct Merge<'a> {
    ranks: &'a Ranks,
    /// Starts of the tokens of a short piece.
    starts: Vec<u32>,
    /// Rank of the union of each of them with the next one.
    unions: Vec<Rank>,
    long: Vec<Long>,
    heap: BinaryHeap<Reverse<(Rank, u32)>>,
}

/// A token of a window, at the place of its first byte.
#[derive(Clone, Copy)]
struct Long {
    previous: u32,
    end: u32,
    /// Rank of the union with the next one. A byte that is inside of a token has none.
    rank: Rank,
}

impl<'a> Merge<'a> {
    pub(super) fn new(ranks: &'a Ranks) -> Self {
        Self {
            ranks,
            starts: Vec::new(),
            unions: Vec::new(),
            long: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Number of tokens of a piece.
    pub(super) fn count(&mut self, piece: &[u8]) -> usize {
        if piece.len() < 2 || self.ranks.rank(piece) != NONE {
            return usize::from(!piece.is_empty());
        }
        match piece.len() {
            length if length <= SHORT => self.count_short(piece),
            length if length <= WINDOW => self.encode(piece).count(),
            _ => self.count_long(piece),
        }
    }

    fn count_short(&mut self, piece: &[u8]) -> usize {
        let Self { ranks, starts, unions, .. } = self;
        starts.clear();
        starts.extend((0_u32..).zip(piece).map(|(start, _)| start));
        unions.clear();
        unions.extend(piece.windows(2).map(|pair| ranks.rank(pair)).chain([NONE]));
        // The minimum is found first and then its place, of equal ones the first: both are quick.
        while let Some(lowest) = unions.iter().min().copied().filter(|lowest| *lowest != NONE) {
            let Some(at) = unions.iter().position(|union| *union == lowest) else { break };
            starts.remove(at + 1);
            unions.remove(at + 1);
            for at in [Some(at), at.checked_sub(1)].into_iter().flatten() {
                let start = |at: usize| starts.get(at).map(|start| *start as usize);
                let end = |at: usize| start(at).unwrap_or(piece.len());
                let bytes = start(at + 1).and_then(|_| piece.get(start(at)?..end(at + 2)));
                if let Some(union) = unions.get_mut(at) {
                    *union = bytes.map_or(NONE, |bytes| ranks.rank(bytes));
                }
            }
        }
        starts.len()
    }

    /// Number of tokens of a piece of any length, in time that is linear in it.
    ///
    /// Tokens are the encoding of their bytes if each two neighbours are the encoding of theirs. So two encodings
    /// that overlap can be joined at any token that both have.
    fn count_long(&mut self, piece: &[u8]) -> usize {
        // Tokens before `from`, at which one begins.
        let (mut before, mut from) = (0, 0);
        // Tokens of the last window from there on, by their ends.
        let mut known: Vec<usize> = Vec::new();
        loop {
            let window = piece.get(from..).unwrap_or_default();
            let is_last = window.len() <= WINDOW;
            let window = window.get(..WINDOW).unwrap_or(window);
            let ends: Vec<usize> = self.encode(window).map(|end| from + end).collect();
            let joint = if known.is_empty() { Some((0, 0)) } else { joint(from, &known, &ends) };
            // No text is known whose windows have no token in common.
            let Some((of_known, of_own)) = joint else { return self.encode(piece).count() };
            before += of_known;
            let own = ends.get(of_own..).unwrap_or_default();
            if is_last {
                return before + own.len();
            }
            // The next window begins at a token of this one.
            let enough = from + WINDOW - OVERLAP;
            let kept = own.iter().take_while(|end| **end <= enough).count();
            let Some(end) = kept.checked_sub(1).and_then(|last| own.get(last)) else {
                return self.encode(piece).count();
            };
            before += kept;
            from = *end;
            known = own.get(kept..).unwrap_or_default().to_vec();
        }
    }

    /// Ends of the tokens of a text.
    fn encode(&mut self, text: &[u8]) -> impl Iterator<Item = usize> {
        let Self { ranks, long, heap, .. } = self;
        long.clear();
        heap.clear();
        let pairs = text.windows(2).map(|pair| ranks.rank(pair)).chain([NONE]);
        long.extend((0_u32..).zip(pairs).map(|(start, rank)| Long {
            previous: start.wrapping_sub(1),
            end: start + 1,
            rank,
        }));
        let known = (0_u32..).zip(long.iter()).filter(|(_, token)| token.rank != NONE);
        heap.extend(known.map(|(start, token)| Reverse((token.rank, start))));
        while let Some(Reverse((rank, start))) = heap.pop() {
            let Some(token) = get(long, start).filter(|token| token.rank == rank) else { continue };
            let Some(next) = get(long, token.end) else { continue };
            set(long, token.end, Long { rank: NONE, ..next });
            if let Some(behind) = get(long, next.end) {
                set(long, next.end, Long { previous: start, ..behind });
            }
            let union = |start: u32, next: u32| {
                let end = get(long, next).map(|next| next.end as usize)?;
                Some(ranks.rank(text.get(start as usize..end)?))
            };
            let rank = union(start, next.end).unwrap_or(NONE);
            let before = get(long, token.previous).map(|before| {
                let bytes = text.get(token.previous as usize..next.end as usize);
                Long { rank: bytes.map_or(NONE, |bytes| ranks.rank(bytes)), ..before }
            });
            set(long, start, Long { end: next.end, rank, ..token });
            if rank != NONE {
                heap.push(Reverse((rank, start)));
            }
            if let Some(before) = before {
                set(long, token.previous, before);
                if before.rank != NONE {
                    heap.push(Reverse((before.rank, token.previous)));
                }
            }
        }
        let end = |start: usize| long.get(start).map(|token| token.end as usize);
        std::iter::successors(end(0), move |start| end(*start))
    }
}

/// Tokens of two encodings up to the first token that both have. Both begin at `start`, and have the ends of their
/// tokens.
fn joint(start: usize, known: &[usize], own: &[usize]) -> Option<(usize, usize)> {
    // Where a token ends in both, as long as the next token may be the same.
    let mut common = Some(start);
    let mut rest = own.iter().enumerate().peekable();
    for (index, end) in known.iter().enumerate() {
        while rest.next_if(|(_, own)| *own < end).is_some() {
            common = None;
        }
        let same = rest.next_if(|(_, own)| *own == end);
        match same {
            Some((own, _)) if common.is_some() => return Some((index + 1, own + 1)),
            _ => common = same.map(|_| *end),
        }
    }
    None
}

fn get(tokens: &[Long], start: u32) -> Option<Long> {
    tokens.get(start as usize).copied()
}

fn set(tokens: &mut [Long], start: u32, token: Long) {
    if let Some(place) = tokens.get_mut(start as usize) {
        *place = token;
    }
}
