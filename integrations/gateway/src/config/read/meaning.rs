//! The embedding model in configuration files.

use cupel::config::{Fields, Path, Tree};

use super::ConfigReader;
use crate::config::Meaning;

impl ConfigReader<'_> {
    pub(super) fn meaning(&mut self, tree: Tree, path: &Path<'_>) -> Option<Meaning> {
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let url: Option<String> = fields.needed("url", "the address of a server of embeddings");
        let model: Option<String> = fields.needed("model", "the name of a model");
        let mut meaning = Meaning::new("", "");
        meaning.weight = fields.or("weight", meaning.weight);
        meaning.deadline = fields.or("deadline_seconds", meaning.deadline);
        meaning.dimensions = fields.maybe("dimensions");
        meaning.question_prefix = fields.or("question_prefix", String::new());
        meaning.passage_prefix = fields.or("passage_prefix", String::new());
        let range: Option<Vec<f64>> = fields.maybe("range");
        meaning.batch = fields.or("batch", meaning.batch);
        meaning.bytes = fields.or("bytes", meaning.bytes);
        let key = fields.take("key");
        fields.close();
        meaning.key = key.and_then(|tree| self.secret(tree, &path.key("key")));
        match range.as_deref() {
            None => {}
            Some([floor, ceiling]) => meaning.range = (*floor, *ceiling),
            Some(other) => {
                let got = other.len();
                self.add(
                    &path.key("range"),
                    format!("has {got} numbers, expected two cosines, the smaller one first"),
                );
            }
        }
        meaning.url = url?;
        meaning.model = model?;
        Some(meaning)
    }
}
