//! The model for summaries in configuration files.

use std::sync::Arc;

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
        summaries.share = fields.maybe("share");
        summaries.limit = fields.maybe("limit");
        summaries.budget = fields.or("budget", summaries.budget);
        summaries.input_price = fields.or("input_price", summaries.input_price);
        summaries.output_price = fields.or("output_price", summaries.output_price);
        summaries.deadline = fields.or("deadline_seconds", summaries.deadline);
        summaries.at_once = fields.or("at_once", summaries.at_once);
        let key = fields.take("key");
        let prompt = fields.take("prompt");
        fields.close();
        if let Some(key) = key {
            summaries.key = Some(self.secret(key, &path.key("key"))?);
        }
        if let Some(tree) = prompt {
            summaries.prompt = self.prompt(tree, &path.key("prompt"));
        }
        (summaries.upstream, summaries.model) = (upstream?, model?);
        Some(summaries)
    }

    /// Reads instructions: a text, or a table with the name of a file.
    fn prompt(&mut self, tree: Tree, path: &Path<'_>) -> Option<Arc<str>> {
        if let Some(text) = tree.text() {
            return Some(text.into());
        }
        let mut fields = Fields::open(tree, path, self, "a text, or a table with file")?;
        let file: Option<String> = fields.needed("file", "the name of a file");
        fields.close();
        let file = file?;
        let read = read_file(std::path::Path::new(&file), PROMPT_BYTES);
        let text = read
            .map_err(|error| error.to_string())
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned()));
        match text {
            Ok(text) if !text.trim().is_empty() => return Some(text.into()),
            Ok(_) => self.add(&path.key("file"), format!("{file:?} is empty")),
            Err(why) => self.add(&path.key("file"), format!("{file:?}: {why}")),
        }
        None
    }
}
