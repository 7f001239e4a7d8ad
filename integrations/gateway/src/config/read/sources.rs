//! Sources and the archive in configuration files.

use cupel::config::{Fields, Path, Tree};

use super::ConfigReader;
use crate::config::{Memory, Retriever, Upstream};
use crate::credentials::Secret;

impl ConfigReader<'_> {
    pub(super) fn source(&mut self, tree: Tree, path: &Path<'_>) -> Option<Retriever> {
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let name: Option<String> = fields.needed("name", "a name for reports");
        let url: Option<String> = fields.needed("url", "the address of a retriever");
        let mut retriever = Retriever::new(name.unwrap_or_default(), "");
        retriever.deadline = fields.or("deadline_seconds", retriever.deadline);
        retriever.items = fields.or("items", retriever.items);
        retriever.bytes = fields.or("bytes", retriever.bytes);
        retriever.required = fields.or("required", false);
        let key = fields.take("key");
        fields.close();
        for (key, limit) in [("items", retriever.items), ("bytes", retriever.bytes)] {
            if limit == 0 {
                self.add(&path.key(key), "must be at least 1, got 0");
            }
        }
        retriever.key = key.and_then(|tree| self.secret(tree, &path.key("key")));
        retriever.url = url?;
        // The same rules as for upstreams.
        if let Err(why) = Upstream::new(retriever.url.as_str()) {
            self.add(&path.key("url"), why);
        }
        Some(retriever)
    }

    pub(super) fn memory(&mut self, tree: Tree, path: &Path<'_>) -> Option<Memory> {
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let mut memory = Memory::new(Secret::new(""));
        memory.items = fields.or("items", memory.items);
        memory.deadline = fields.or("deadline_seconds", memory.deadline);
        memory.waiting_bytes = fields.or("waiting_bytes", memory.waiting_bytes);
        memory.required = fields.or("required", false);
        let url = fields.take("url");
        fields.close();
        let at = path.key("url");
        memory.url = match url {
            // Only SQLite: the address of another database has a password, which does not belong here.
            Some(tree) if tree.text().is_some_and(|text| text.starts_with("sqlite:")) => {
                Secret::new(tree.text().unwrap_or_default())
            }
            Some(tree) if tree.text().is_none() => self.secret(tree, &at)?,
            _ => {
                let expected = "expected sqlite://file, or a table with env or file that holds \
                                postgres://user:password@host/database";
                self.add(&at, expected);
                return None;
            }
        };
        Some(memory)
    }
}
