//! The block of summaries that a request carries: its text, its tokens, and one for each cut.

use std::collections::BTreeMap;

use super::quote::Quotation;
use super::summary::{CellPlace, PlacedSummary, is_usable};
use crate::tokens::TokenCounter;

/// Summaries as one text in its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SummaryBlock {
    pub(super) text: String,
    pub(super) tokens: i64,
    pub(super) placed: Vec<PlacedSummary>,
}

impl SummaryBlock {
    /// As many of the newest as fit into so many tokens beside the frame. They come newest first. None if
    /// there are none.
    pub(super) fn new<'a>(
        newest_first: impl Iterator<Item = (CellPlace, &'a str)>,
        share: i64,
        limit: i64,
        counter: &dyn TokenCounter,
    ) -> Option<Self> {
        let mut left = share;
        let mut kept: Vec<(CellPlace, &str, i64)> = Vec::new();
        for (place, text) in newest_first {
            if !is_usable(text, limit, counter) {
                continue;
            }
            let mut quotation = Quotation::unframed();
            quotation.summary(place, text);
            let tokens = quotation.tokens(counter);
            // An older one would leave a hole.
            if tokens > left {
                break;
            }
            left -= tokens;
            kept.push((place, text, tokens));
        }
        kept.reverse();
        let most = share.saturating_add(Quotation::frame_tokens(counter));
        while !kept.is_empty() {
            let mut quotation = Quotation::new();
            kept.iter().for_each(|(place, text, _)| quotation.summary(*place, text));
            let text = quotation.finish();
            // Two for the seams.
            let tokens = counter.count(&text).max(0).saturating_add(2);
            if tokens <= most {
                let placed = kept.iter().map(|((first, last), _, tokens)| PlacedSummary {
                    first: *first,
                    last: *last,
                    tokens: *tokens,
                });
                return Some(Self { text, tokens, placed: placed.collect() });
            }
            // Together they have more tokens than apart.
            kept.remove(0);
        }
        None
    }
}

/// Summaries that each cut of a request could carry.
#[derive(Debug, Clone, Default)]
pub(super) struct SummaryBlocks(BTreeMap<usize, SummaryBlock>);

impl SummaryBlocks {
    /// Tokens of the summaries at a cut, frame included.
    pub(super) fn tokens(&self, cut: usize) -> i64 {
        self.0.get(&cut).map_or(0, |block| block.tokens)
    }

    /// Returns true if no cut has a summary.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the block of a cut.
    pub(super) fn insert(&mut self, cut: usize, block: SummaryBlock) {
        self.0.insert(cut, block);
    }

    /// The block of a cut.
    pub(super) fn get(&self, cut: usize) -> Option<&SummaryBlock> {
        self.0.get(&cut)
    }

    /// Adds the tokens of the part that holds a block, where a message has none otherwise.
    pub(super) fn add_part(&mut self, tokens: i64) {
        self.0.values_mut().for_each(|block| block.tokens = block.tokens.saturating_add(tokens));
    }
}
