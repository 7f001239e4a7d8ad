//! A namespace as a store of vectors, for judges that embed.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::Utc;
use cupel::gather::{BoxError, TextHash, VectorStore};

use super::keys::{VectorKey, key_of};
use super::vector::checked;
use crate::error::ArchiveError;
use crate::names;
use crate::namespace::Namespace;

/// Texts that are asked for at once.
const AT_ONCE: usize = 512;

/// A namespace keeps the vectors of its tenant's texts: those of archived messages, and up to 10,000 of
/// other texts.
///
/// Vectors of a message go with it. Those of other texts cannot be told from parts of what was erased, so
/// that they all go whenever messages of the tenant are erased or expire.
#[async_trait]
impl VectorStore for Namespace {
    async fn load(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<Option<Arc<[f32]>>>, BoxError> {
        let store = &self.shared.store;
        let load = async {
            let Some(known) = store.model(model).await? else { return Ok(vec![None; texts.len()]) };
            let keys: Vec<VectorKey> = texts.iter().map(|text| key_of(&self.name, text)).collect();
            let mut found = Vec::with_capacity(keys.len());
            for keys in keys.chunks(AT_ONCE) {
                found.extend(store.vectors_of(known, keys).await?);
            }
            Ok(found)
        };
        Ok(self.shared.within("load vectors", load).await?)
    }

    async fn save(&self, model: &str, vectors: &[(TextHash, Arc<[f32]>)]) -> Result<(), BoxError> {
        names::checked("model", model)?;
        if vectors.is_empty() {
            return Ok(());
        }
        let all: Vec<&[f32]> = vectors.iter().map(|(_, vector)| &**vector).collect();
        let dimensions = checked(&all, all.len())
            .map_err(|problem| ArchiveError::argument("vectors", problem))?;
        let keyed =
            vectors.iter().map(|(text, vector)| (key_of(&self.name, text), Arc::clone(vector)));
        let keyed: Vec<(VectorKey, Arc<[f32]>)> = keyed.collect();
        let (store, now) = (&self.shared.store, Utc::now().timestamp_micros());
        let save = async {
            for vectors in keyed.chunks(AT_ONCE) {
                store.save_texts(model, &self.name, dimensions, now, vectors).await?;
            }
            Ok(())
        };
        Ok(self.shared.within("keep vectors", save).await?)
    }
}
