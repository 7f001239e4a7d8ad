//! The entries of a configuration's lists, the archive, and keys.

use cupel::config::{Fields, Found, Path, Report as _, Tree, Value, read_file};
use cupel::tokens::Encoding;
use cupel_json::CacheRule;

use super::{Reader, one_of};
use crate::config::{Count, Memory, ModelRule, Protocol, Retriever, Upstream, UpstreamKey};
use crate::secret::Secret;

const EXPECTED: &str = "a table with env or file: keys do not belong into this file";

impl Reader<'_> {
    pub(super) fn upstreams(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Vec<Upstream> {
        self.list(tree, path, Self::upstream, |upstream| &upstream.name)
    }

    pub(super) fn models(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Vec<ModelRule> {
        self.list(tree, path, Self::model, |rule| &rule.name)
    }

    pub(super) fn sources(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Vec<Retriever> {
        self.list(tree, path, Self::source, |retriever| &retriever.name)
    }

    /// The entries of a list that may be left out, each with a name of its own.
    fn list<T>(
        &mut self,
        tree: Option<Tree>,
        path: &Path<'_>,
        read: fn(&mut Self, Tree, &Path<'_>) -> Option<T>,
        name: fn(&T) -> &String,
    ) -> Vec<T> {
        let entries = match tree {
            None => return Vec::new(),
            Some(Tree { value: Value::List(entries), .. }) => entries,
            Some(tree) => {
                self.report(path, Found::Wrong { tree: &tree, expected: "a list" });
                return Vec::new();
            }
        };
        let mut all: Vec<T> = Vec::new();
        for (index, tree) in entries.into_iter().enumerate() {
            let at = path.index(index);
            let Some(one) = read(self, tree, &at) else { continue };
            if all.iter().any(|other| name(other) == name(&one)) {
                let message =
                    format!("there is another {:?}, expected a name of its own", name(&one));
                self.add(&at.key("name"), message);
            }
            all.push(one);
        }
        all
    }

    fn upstream(&mut self, tree: Tree, path: &Path<'_>) -> Option<Upstream> {
        const PROTOCOLS: [(&str, Protocol); 2] =
            [("openai", Protocol::OpenAi), ("anthropic", Protocol::Anthropic)];
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let name: Option<String> = fields.maybe("name");
        let url: Option<String> = fields.needed("url", "the address of an API");
        let models: Vec<String> = fields.or("models", Vec::new());
        let protocol: Option<String> = fields.maybe("protocol");
        let key = fields.take("key");
        fields.close();
        let protocol =
            protocol.and_then(|it| self.choice(&it, &PROTOCOLS, &path.key("protocol"), ""));
        let key = match key {
            None => Some(UpstreamKey::Client),
            Some(tree) => self.upstream_key(tree, &path.key("key")),
        };
        let mut upstream = self.address(&url?, path)?.key(key?).models(models);
        upstream.protocol = protocol.or(upstream.protocol);
        Some(match name {
            Some(name) => upstream.name(name),
            None => upstream,
        })
    }

    fn address(&mut self, url: &str, path: &Path<'_>) -> Option<Upstream> {
        Upstream::new(url).map_err(|why| self.add(&path.key("url"), why)).ok()
    }

    fn upstream_key(&mut self, tree: Tree, path: &Path<'_>) -> Option<UpstreamKey> {
        match tree.text() {
            Some("client") => Some(UpstreamKey::Client),
            Some("none") => Some(UpstreamKey::None),
            Some(_) => {
                // It may be a key: it is not shown.
                let known = one_of("", &["client", "none"]);
                self.add(path, format!("{known}, or a table with env or file"));
                None
            }
            None => self.secret(tree, path).map(UpstreamKey::Own),
        }
    }

    fn model(&mut self, tree: Tree, path: &Path<'_>) -> Option<ModelRule> {
        const COUNTS: [(&str, Count); 3] = [
            ("o200k", Count::Exactly(Encoding::O200k)),
            ("cl100k", Count::Exactly(Encoding::Cl100k)),
            ("estimate", Count::Estimate),
        ];
        const CACHES: [(&str, CacheRule); 2] =
            [("prefix", CacheRule::Prefix), ("breakpoints", CacheRule::Breakpoints)];
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let name: Option<String> =
            fields.needed("name", "a model's name, or the beginning of it and *");
        let window: Option<i64> = fields.maybe("window");
        let at_most: Option<i64> = fields.maybe("at_most");
        let encoding: Option<String> = fields.maybe("encoding");
        let factor = fields.or("factor", 1.0);
        let cache: Option<String> = fields.maybe("prompt_cache");
        let policy = fields.take("policy");
        fields.close();
        self.positive(&path.key("window"), window);
        self.positive(&path.key("at_most"), at_most);
        if !(0.1..=10.0).contains(&factor) {
            self.add(&path.key("factor"), format!("must be between 0.1 and 10, got {factor}"));
        }
        let count = encoding.and_then(|it| self.choice(&it, &COUNTS, &path.key("encoding"), ""));
        let cache = cache.and_then(|it| self.choice(&it, &CACHES, &path.key("prompt_cache"), ""));
        let policy = policy.and_then(|tree| self.policy(tree, &path.key("policy")));
        let rule = ModelRule::new(name?);
        Some(ModelRule { window, at_most, count, factor, policy, cache, ..rule })
    }

    fn source(&mut self, tree: Tree, path: &Path<'_>) -> Option<Retriever> {
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
        // Addresses of retrievers are held to the same rules.
        self.address(&retriever.url, path);
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
            // A password does not belong into this file.
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

    /// A list of keys that may be left out.
    pub(super) fn keys(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Vec<Secret> {
        let trees = match tree {
            None => return Vec::new(),
            Some(Tree { value: Value::List(trees), .. }) => trees,
            Some(_) => {
                // Whatever it is, it is not shown.
                self.add(path, format!("must be a list, each of it {EXPECTED}"));
                return Vec::new();
            }
        };
        let read = |(index, tree)| self.secret(tree, &path.index(index));
        trees.into_iter().enumerate().filter_map(read).collect()
    }

    /// A key in the environment or in a file, and never in the configuration itself.
    pub(super) fn secret(&mut self, tree: Tree, path: &Path<'_>) -> Option<Secret> {
        if tree.text().is_some() {
            // Whatever it is, it is not shown.
            self.add(path, format!("must be {EXPECTED}"));
            return None;
        }
        let mut fields = Fields::open(tree, path, self, EXPECTED)?;
        let env: Option<String> = fields.maybe("env");
        let file: Option<String> = fields.maybe("file");
        fields.close();
        let is_name =
            |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let (found, from) = match (env, file) {
            (Some(name), None) if !is_name(&name) => {
                // It may be the key itself: it is not shown.
                self.add(&path.key("env"), "expected the name of a variable, as in GATEWAY_KEY");
                return None;
            }
            (Some(name), None) => {
                let found = (self.environment)(&name).ok_or_else(|| "is not set".to_owned());
                (found, format!("the variable {name}"))
            }
            (None, Some(file)) => {
                let read = read_file(std::path::Path::new(&file), 64 * 1024)
                    .map_err(|error| error.to_string());
                let text = read.and_then(|bytes| {
                    String::from_utf8(bytes).map_err(|_| "is no text".to_owned())
                });
                (text.map(|text| text.trim().to_owned()), format!("the file {file:?}"))
            }
            _ => {
                self.add(path, "expected either env or file");
                return None;
            }
        };
        let wrong = match found {
            Ok(key) if key.is_empty() => " is empty".to_owned(),
            Ok(key) if key.chars().any(char::is_control) => " has more than one line".to_owned(),
            Ok(key) => return Some(Secret::new(key)),
            Err(why) => format!(": {why}"),
        };
        self.add(path, format!("{from}{wrong}, expected a key"));
        None
    }
}
