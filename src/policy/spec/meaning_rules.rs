//! Rules of the models that judge by meaning, and their opening.

use std::time::Duration;

use super::conversion::Conversion;
use super::meaning::{EmbeddingsSpec, MeaningModel, MeaningSpec};
use crate::config::Path;

impl EmbeddingsSpec {
    fn check(&self, path: &Path<'_>, convert: &mut Conversion<'_>) {
        let is_address = ["http://", "https://"].iter().any(|scheme| {
            self.url
                .strip_prefix(scheme)
                .is_some_and(|rest| !rest.is_empty() && !rest.contains('@'))
        });
        if !is_address {
            // It may hold a password, so it is not shown.
            let message = "is no address, expected http:// or https:// and a host, without a user; \
                           a key goes into `key`";
            convert.add(path.key("url"), message);
        }
        if self.model.trim().is_empty() {
            convert.add(path.key("model"), "is blank, expected the name of a model");
        }
        let seconds = self.deadline_seconds;
        let is_time = Duration::try_from_secs_f64(seconds).is_ok_and(|time| !time.is_zero());
        if !is_time {
            let message = format!("must be more than 0, got {seconds}");
            convert.add(path.key("deadline_seconds"), message);
        }
        if self.dimensions == Some(0) {
            convert.add(path.key("dimensions"), "must be at least 1, got 0");
        }
        if self.batch == 0 {
            convert.add(path.key("batch"), "must be at least 1, got 0");
        }
        let is_cosine = |value: &f64| (-1.0..=1.0).contains(value);
        let is_range = matches!(self.range.as_slice(), [floor, ceiling]
            if is_cosine(floor) && is_cosine(ceiling) && floor < ceiling);
        if !is_range {
            let got = &self.range;
            let message =
                format!("is {got:?}, expected two cosines from -1 to 1, the smaller one first");
            convert.add(path.key("range"), message);
        }
        if let Some(key) = &self.key {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if key.env.is_empty() || !key.env.bytes().all(is_name) {
                // The value may be the key itself, so it is not shown.
                let message = "expected the name of a variable, such as OPENAI_API_KEY";
                convert.add(path.key("key").key("env"), message);
            }
        }
    }
}

impl MeaningSpec {
    pub(super) fn check(&self, path: &Path<'_>, convert: &mut Conversion<'_>) {
        match self {
            Self::Model2Vec { path: folder } if folder.trim().is_empty() => {
                convert.add(path.key("path"), "is blank, expected the folder of a model");
            }
            Self::Model2Vec { .. } => {}
            Self::Embeddings(spec) => spec.check(path, convert),
        }
    }

    /// The model, opened by the registry. None after a problem is recorded, or without a registry.
    pub(super) fn open(
        &self,
        path: &Path<'_>,
        convert: &mut Conversion<'_>,
    ) -> Option<MeaningModel> {
        let registry = convert.registry?;
        match registry.open_model(self) {
            Some(Ok(model)) => return Some(model),
            Some(Err(problem)) => convert.add(path, problem),
            None => {
                let name = self.name();
                let crates = match self {
                    Self::Model2Vec { .. } => "cupel_model2vec::register",
                    Self::Embeddings(_) => "cupel_async_openai::register",
                };
                convert.add(path, format!("nothing opens models of type {name:?}; call {crates}"));
            }
        }
        None
    }
}
