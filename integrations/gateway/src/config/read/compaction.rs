//! The model for summaries in configuration files.

use cupel::config::{Fields, Path, Tree, read_file};

use super::ConfigReader;
use crate::config::SummaryModel;

/// Largest file with a prompt.
const PROMPT_BYTES: u64 = 64 << 10;

impl ConfigReader<'_> {
    pub(super) fn compaction(&mut self, tree: Tree, path: &Path<'_>) -> Option<SummaryModel> {
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let upstream: Option<String> = fields.needed("upstream", "the name of an upstream");
        let model: Option<String> = fields.needed("model", "the name of a model");
        let mut summaries = SummaryModel::new("", "");
        let prompt: Option<String> = fields.maybe("prompt_file");
        summaries.share = fields.maybe("share");
        summaries.limit = fields.maybe("limit");
        summaries.budget = fields.or("budget", summaries.budget);
        summaries.input_price = fields.or("input_price", summaries.input_price);
        summaries.output_price = fields.or("output_price", summaries.output_price);
        summaries.deadline = fields.or("deadline_seconds", summaries.deadline);
        summaries.at_once = fields.or("at_once", summaries.at_once);
        let key = fields.take("key");
        fields.close();
        if let Some(key) = key {
            summaries.key = Some(self.secret(key, &path.key("key"))?);
        }
        if let Some(file) = prompt {
            let read = read_file(std::path::Path::new(&file), PROMPT_BYTES);
            let text = read
                .map_err(|error| error.to_string())
                .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned()));
            match text {
                Ok(text) if text.trim().is_empty() => {
                    self.add(&path.key("prompt_file"), format!("{file:?} is empty"));
                }
                Ok(text) => summaries.prompt = Some(text.into()),
                Err(why) => self.add(&path.key("prompt_file"), format!("{file:?}: {why}")),
            }
        }
        (summaries.upstream, summaries.model) = (upstream?, model?);
        Some(summaries)
    }
}
