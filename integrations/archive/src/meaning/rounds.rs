//! Rounds of embedding: some messages are read, the model is asked for what is not known, and kept.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cupel::gather::{EmbedAs, TextHash};

use super::embed::{EmbedFailure, embed};
use super::keys::{MOST_READ, VectorKey, embedded_pieces, key_of};
use super::queue::ConversationNames;
use super::state::MeaningState;
use crate::error::{ArchiveError, Result};
use crate::shared::ArchiveState;
use crate::store::{MessageVector, NewVectors, Store, Unembedded};

/// Conversations that are listed at once.
const LISTED: i64 = 256;

/// Vectors that are kept at once, in the main.
const MOST_KEPT: usize = 128;

/// A text that every model takes: if it takes this one and not another, it is the other's fault.
const PROBE: &str = "text";

/// Reason for a round that was not finished.
#[derive(Debug)]
pub(super) enum RoundFailure {
    Embedder(EmbedFailure),
    Database(ArchiveError),
}

impl RoundFailure {
    pub(super) fn report(&self, wait: Duration) {
        let (reason, problem) = match self {
            Self::Embedder(failure) => (failure.kind(), failure.to_string()),
            Self::Database(error @ ArchiveError::Argument { .. }) => {
                ("vectors of another length", error.to_string())
            }
            Self::Database(error) => ("database", error.to_string()),
        };
        tracing::warn!(target: "cupel", reason, ?wait, "messages wait for their vectors");
        tracing::debug!(target: "cupel", problem, "messages were not embedded");
    }
}

impl From<ArchiveError> for RoundFailure {
    fn from(error: ArchiveError) -> Self {
        Self::Database(error)
    }
}

type Vectors = HashMap<VectorKey, Arc<[f32]>>;

/// Messages of one conversation that are embedded together.
struct Share {
    unembedded: Unembedded,
    /// Number, piece, key and text.
    pieces: Vec<(i64, i64, VectorKey, String)>,
}

/// An archive and its embedder.
pub(super) struct Rounds<'a> {
    store: &'a Store,
    meaning: &'a MeaningState,
}

impl<'a> Rounds<'a> {
    pub(super) fn of(archive: &'a ArchiveState) -> Option<Self> {
        Some(Self { store: &archive.store, meaning: archive.meaning.as_ref()? })
    }

    /// Embeds what is missing in all conversations.
    pub(super) async fn all(&self) -> Result<(), RoundFailure> {
        self.store.look_for_pgvector().await?;
        let mut after = 0;
        loop {
            let model = self.meaning.model();
            let listed = self.store.conversations_to_embed(model, after, LISTED).await?;
            let Some((last, ..)) = listed.last() else { return Ok(()) };
            after = *last;
            let names =
                listed.into_iter().map(|(_, namespace, name)| (namespace.into(), name.into()));
            self.some(names).await?;
        }
    }

    /// Embeds what is missing in some conversations, a batch at a time: many conversations have few new
    /// messages, and a few have many.
    pub(super) async fn some(
        &self,
        conversations: impl IntoIterator<Item = ConversationNames>,
    ) -> Result<(), RoundFailure> {
        let mut shares: Vec<Share> = Vec::new();
        let batch = self.meaning.settings.batch;
        for names in conversations {
            while let Some(share) = self.share(&names).await? {
                let more = share.unembedded.more;
                shares.push(share);
                let pieces: usize = shares.iter().map(|share| share.pieces.len()).sum();
                // What follows in this conversation is known when these are kept.
                if more || pieces >= batch || shares.len() >= batch {
                    self.embed(&std::mem::take(&mut shares)).await?;
                }
                if !more {
                    break;
                }
            }
        }
        self.embed(&shares).await
    }

    /// Reads the next messages of a conversation.
    async fn share(&self, (namespace, name): &ConversationNames) -> Result<Option<Share>> {
        let batch = i64::try_from(self.meaning.settings.batch).unwrap_or(i64::MAX);
        let (model, read) = (self.meaning.model(), MOST_READ as i64);
        let found = self.store.unembedded(model, (namespace, name), batch, read).await?;
        Ok(found.map(|mut unembedded| {
            let mut pieces = Vec::new();
            let mut before = None;
            for message in std::mem::take(&mut unembedded.messages) {
                let of_message: Vec<&str> = embedded_pieces(&message.text).collect();
                // Short transactions: an append to a file waits for them.
                if let Some(before) = before.filter(|_| pieces.len() + of_message.len() > MOST_KEPT)
                {
                    (unembedded.upto, unembedded.more) = (before, true);
                    break;
                }
                for (at, piece) in (0..).zip(of_message) {
                    let key = key_of(namespace, &TextHash::of(piece));
                    pieces.push((message.number, at, key, piece.to_owned()));
                }
                before = Some(message.number);
            }
            Share { unembedded, pieces }
        }))
    }

    /// Embeds some messages and keeps their vectors, those of each conversation at once.
    async fn embed(&self, shares: &[Share]) -> Result<(), RoundFailure> {
        let (mut vectors, dimensions) = self.known(shares).await?;
        let mut asked: HashMap<VectorKey, &str> = HashMap::new();
        for (_, _, key, text) in shares.iter().flat_map(|share| &share.pieces) {
            if !vectors.contains_key(key) {
                asked.insert(*key, text);
            }
        }
        let mut asked: Vec<(VectorKey, &str)> = asked.into_iter().collect();
        // In the order of their lengths, as models like it; and in the same order every time.
        asked.sort_unstable_by_key(|(key, text)| (text.len(), *key));
        let mut refused = HashSet::new();
        for batch in asked.chunks(self.meaning.settings.batch) {
            self.ask(batch, &mut vectors, &mut refused).await?;
        }
        let mut length = vectors.values().next().map(|vector| vector.len()).or(dimensions);
        if length.is_none() && !shares.is_empty() {
            // Messages without a text: that they have been looked at is kept with the model, too.
            let probe = self.vectors(&[PROBE]).await.map_err(RoundFailure::Embedder)?;
            length = probe.first().map(Vec::len);
        }
        for share in shares {
            self.keep(share, length, &vectors, &refused).await?;
        }
        Ok(())
    }

    /// The vectors that the archive has of these texts, and the length of the model's.
    async fn known(&self, shares: &[Share]) -> Result<(Vectors, Option<usize>)> {
        let Some(model) = self.store.model(self.meaning.model()).await? else {
            return Ok((Vectors::new(), None));
        };
        let keys = shares.iter().flat_map(|share| &share.pieces).map(|piece| piece.2);
        let keys: Vec<VectorKey> = keys.collect::<HashSet<_>>().into_iter().collect();
        let found = self.store.vectors_of(model, &keys).await?;
        let known = keys.into_iter().zip(found);
        let known = known.filter_map(|(key, vector)| Some((key, vector?))).collect();
        Ok((known, usize::try_from(model.dimensions).ok()))
    }

    /// Asks the model for vectors. Where it fails with all of them, and is there, it is asked for each alone.
    async fn ask(
        &self,
        batch: &[(VectorKey, &str)],
        vectors: &mut Vectors,
        refused: &mut HashSet<VectorKey>,
    ) -> Result<(), RoundFailure> {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
        match self.vectors(&texts).await {
            Ok(found) => {
                let keys = batch.iter().map(|(key, _)| *key);
                vectors.extend(keys.zip(found.into_iter().map(Arc::from)));
                return Ok(());
            }
            Err(failure) => {
                self.meaning.counts.failures.fetch_add(1, Ordering::Relaxed);
                if self.vectors(&[PROBE]).await.is_err() {
                    return Err(RoundFailure::Embedder(failure));
                }
            }
        }
        for (key, text) in batch {
            match self.vectors(&[text]).await {
                Ok(found) => vectors.extend(found.into_iter().map(|it| (*key, Arc::from(it)))),
                // Unless it has gone away in the meantime.
                Err(failure) => match self.vectors(&[PROBE]).await {
                    Ok(_) => drop(refused.insert(*key)),
                    Err(_) => return Err(RoundFailure::Embedder(failure)),
                },
            }
        }
        Ok(())
    }

    async fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedFailure> {
        let settings = &self.meaning.settings;
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        embed(&settings.embedder, EmbedAs::Passage, texts, settings.timeout).await
    }

    /// Keeps the vectors of one conversation's messages. A message without a vector has none to wait for.
    async fn keep(
        &self,
        share: &Share,
        length: Option<usize>,
        vectors: &Vectors,
        refused: &HashSet<VectorKey>,
    ) -> Result<(), RoundFailure> {
        let Unembedded { conversation, model, after, upto, .. } = share.unembedded;
        let found = share.pieces.iter().filter_map(|(number, piece, key, _)| {
            let vector = vectors.get(key)?;
            Some(MessageVector { number: *number, piece: *piece, key: *key, vector })
        });
        let new = NewVectors { conversation, model, after, upto, vectors: found.collect() };
        self.store.save_vectors(self.meaning.model(), length, &new).await?;
        let numbers = |pieces: &mut dyn Iterator<Item = i64>| pieces.collect::<HashSet<_>>().len();
        let embedded = numbers(&mut new.vectors.iter().map(|vector| vector.number));
        let refused = share.pieces.iter().filter(|piece| refused.contains(&piece.2));
        let refused = numbers(&mut refused.map(|piece| piece.0));
        self.meaning.counts.embedded.fetch_add(embedded as u64, Ordering::Relaxed);
        if refused > 0 {
            self.meaning.counts.refused.fetch_add(refused as u64, Ordering::Relaxed);
            let messages = refused;
            tracing::warn!(target: "cupel", messages, "the model refuses messages: they get no vectors");
        }
        Ok(())
    }
}
