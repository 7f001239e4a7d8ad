//! Configuration files. Every mistake in a file is listed, with its path.

use std::fmt::Display;
use std::path::Path as FilePath;

use cupel::config::{Fields, Finding, Format, Path, Report, Tree, Value, meant, read_file};
use cupel::policy::spec::ScorerRegistry;
use cupel::scorer::SystemTimeProvider;
use cupel::tokens::Encoding;
use cupel::{Policy, PolicySpec};
use cupel_json::CacheRule;

use super::{
    Config, CountMethod, GatewayConfigError, GatewayLimits, Memory, ModelRule, PORT, PageConfig,
    Protocol, Retriever, Upstream, UpstreamKey,
};
use crate::credentials::Secret;

/// Largest file that is read.
const FILE_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads a file in TOML, JSON or YAML, as its extension says.
    ///
    /// # Errors
    /// Returns everything that is wrong with it, each with its path.
    pub fn from_file(file: impl AsRef<FilePath>) -> Result<Self, GatewayConfigError> {
        let file = file.as_ref();
        let failed =
            |error: &dyn Display| GatewayConfigError(vec![format!("{}: {error}", file.display())]);
        let format = Format::of(file.extension())
            .ok_or_else(|| failed(&"expected a file named .toml, .json, .yaml or .yml"))?;
        let bytes = read_file(file, FILE_BYTES).map_err(|error| failed(&error))?;
        let text = String::from_utf8(bytes).map_err(|error| failed(&error))?;
        Self::read(format, &text, &|name: &str| std::env::var(name).ok())
    }

    /// Reads TOML. The function `environment` gives the keys that are in variables.
    ///
    /// ```
    /// # use cupel_gateway::Config;
    /// let text = r#"
    ///     at_most = 32_000
    ///     [[upstreams]]
    ///     url = "https://api.openai.com/v1"
    ///     key = { env = "OPENAI_API_KEY" }
    /// "#;
    /// let config = Config::from_toml(text, &|_| Some("sk-1".to_owned()))?;
    /// assert_eq!(config.at_most, Some(32_000));
    /// assert!(Config::from_toml("at_mots = 32_000", &|_| None).is_err());
    /// # Ok::<(), cupel_gateway::GatewayConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_file`](Self::from_file).
    pub fn from_toml(
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, GatewayConfigError> {
        Self::read(Format::Toml, text, environment)
    }

    fn read(
        format: Format,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, GatewayConfigError> {
        let tree = format.parse(text, "").map_err(|message| without_lines(&message)).map_err(
            |message| GatewayConfigError(vec![format!("not valid {}: {message}", format.name())]),
        )?;
        let mut reader = ConfigReader { environment, mistakes: Vec::new() };
        let config = reader.config(tree);
        // A problem is left out if the same key is already listed.
        let about = |line: &str| line.split([':', '[', '.']).next().unwrap_or_default().to_owned();
        let known: Vec<String> = reader.mistakes.iter().map(|line| about(line)).collect();
        let mut others: Vec<String> = config.iter().flat_map(Config::problems).collect();
        others.retain(|line| !known.contains(&about(line)));
        reader.mistakes.append(&mut others);
        match config {
            Some(config) if reader.mistakes.is_empty() => Ok(config),
            _ => Err(GatewayConfigError(reader.mistakes)),
        }
    }
}

/// Removes the lines of the file from a parser's message: there may be a key in them.
fn without_lines(message: &str) -> String {
    let is_number = |character: char| character == ' ' || character.is_ascii_digit();
    let is_shown = |line: &&str| line.trim_start_matches(is_number).starts_with('|');
    let said: Vec<&str> = message.lines().filter(|line| !is_shown(line)).collect();
    said.join(": ")
}

type Preset = (&'static str, fn() -> Policy);

/// Expected form of a key.
const EXPECTED: &str = "a table with env or file: keys do not belong into this file";

/// Reads a configuration and lists every mistake in it.
struct ConfigReader<'e> {
    /// Looks up a variable.
    environment: &'e dyn Fn(&str) -> Option<String>,
    mistakes: Vec<String>,
}

impl ConfigReader<'_> {
    fn config(&mut self, tree: Tree) -> Option<Config> {
        let root = Path::Root;
        let mut fields = Fields::open(tree, &root, self, "a table")?;
        let mut config = Config::with(Vec::new());
        let listen: Option<String> = fields.maybe("listen");
        config.hosts = fields.or("hosts", Vec::new());
        config.at_most = fields.maybe("at_most");
        config.unknown_window = fields.maybe("unknown_window");
        config.exact_from = fields.maybe("exact_from");
        config.fail_closed = fields.or("fail_closed", false);
        config.routes = fields.or("routes", Vec::new());
        config.anonymous_memory = fields.or("anonymous_memory", false);
        let upstreams = fields.take("upstreams");
        let models = fields.take("models");
        let policy = fields.take("policy");
        let limits = fields.take("limits");
        let keys = fields.take("keys");
        let page = fields.take("page");
        let sources = fields.take("sources");
        let archive = fields.take("archive");
        let tenant_secret = fields.take("tenant_secret");
        fields.close();

        if let Some(listen) = listen {
            match listen.parse() {
                Ok(listen) => config.listen = listen,
                Err(_) => {
                    let expected = format!("expected one such as 127.0.0.1:{PORT}");
                    let message = format!("{listen:?} is no address with a port, {expected}");
                    self.add(&root.key("listen"), message);
                }
            }
        }
        if let Some(share) = config.exact_from.filter(|share| !(0.0..=1.0).contains(share)) {
            let message = format!("is {share}, expected a share of the window from 0 to 1");
            self.add(&root.key("exact_from"), message);
        }
        if upstreams
            .as_ref()
            .is_none_or(|tree| matches!(&tree.value, Value::List(l) if l.is_empty()))
        {
            self.add(&root.key("upstreams"), "missing, expected at least one, with its url");
        }
        config.upstreams =
            self.list(upstreams, &root.key("upstreams"), Self::upstream, |one| &one.name);
        config.models = self.list(models, &root.key("models"), Self::model, |one| &one.name);
        config.limits = self.limits(limits, &root.key("limits"));
        config.keys = self.keys(keys, &root.key("keys"));
        config.page = self.page(page, &root.key("page"));
        config.sources = self.list(sources, &root.key("sources"), Self::source, |one| &one.name);
        config.memory = archive.and_then(|tree| self.memory(tree, &root.key("archive")));
        config.tenant_secret =
            tenant_secret.and_then(|tree| self.secret(tree, &root.key("tenant_secret")));
        if let Some(policy) = policy.and_then(|tree| self.policy(tree, &root.key("policy"))) {
            config.policy = policy;
        }
        Some(config)
    }

    fn limits(&mut self, tree: Option<Tree>, path: &Path<'_>) -> GatewayLimits {
        let mut limits = GatewayLimits::default();
        let Some(mut fields) = tree.and_then(|tree| Fields::open(tree, path, self, "a table"))
        else {
            return limits;
        };
        let mut wrong = Vec::new();
        for (key, limit) in [
            ("body_bytes", &mut limits.body_bytes),
            ("depth", &mut limits.depth),
            ("messages", &mut limits.messages),
            ("connections", &mut limits.connections),
        ] {
            *limit = fields.or(key, *limit);
            wrong.extend((*limit == 0).then_some((key, "must be at least 1, got 0")));
        }
        for (key, limit) in [
            ("body_seconds", &mut limits.body_time),
            ("selection_seconds", &mut limits.selection_time),
            ("answer_seconds", &mut limits.answer_time),
            ("stall_seconds", &mut limits.stall_time),
        ] {
            *limit = fields.or(key, *limit);
            wrong.extend(limit.is_zero().then_some((key, "must be more than 0, got 0")));
        }
        limits.waiting_bytes = fields.or("waiting_bytes", limits.waiting_bytes);
        limits.shutdown_time = fields.or("shutdown_seconds", limits.shutdown_time);
        fields.close();
        for (key, message) in wrong {
            self.add(&path.key(key), message);
        }
        let GatewayLimits { body_bytes, waiting_bytes, .. } = limits;
        if waiting_bytes < body_bytes {
            let message =
                format!("must be at least body_bytes, which is {body_bytes}, got {waiting_bytes}");
            self.add(&path.key("waiting_bytes"), message);
        }
        limits
    }

    fn page(&mut self, tree: Option<Tree>, path: &Path<'_>) -> PageConfig {
        let mut page = PageConfig::default();
        if let Some(mut fields) = tree.and_then(|tree| Fields::open(tree, path, self, "a table")) {
            page.bytes = fields.or("bytes", page.bytes);
            page.token_file = fields.maybe::<String>("token_file").map(Into::into);
            fields.close();
        }
        page
    }

    /// Reads a preset's name, or a table as in policy files.
    fn policy(&mut self, tree: Tree, path: &Path<'_>) -> Option<Policy> {
        if let Some(name) = tree.text() {
            let presets: [Preset; 4] = [
                ("chat", Policy::chat),
                ("document_qa", Policy::document_qa),
                ("rag", Policy::rag),
                ("tool_use", Policy::tool_use),
            ];
            let preset = self.choice(Some(name), &presets, path, ", or a table");
            return preset.map(|preset| preset());
        }
        let registry = ScorerRegistry::new(SystemTimeProvider);
        let error = match PolicySpec::read(tree).and_then(|spec| spec.to_policy(&registry)) {
            Ok(policy) => return Some(policy),
            Err(error) => error,
        };
        if error.problems().is_empty() {
            self.add(path, error.to_string());
        }
        for problem in error.problems() {
            self.mistakes.push(format!("{}: {}", path.join(&problem.path), problem.message));
        }
        None
    }

    /// Returns the entries of a list. The list may be missing.
    fn entries(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Vec<Tree> {
        match tree {
            None => Vec::new(),
            Some(Tree { value: Value::List(entries), .. }) => entries,
            Some(_) => {
                // The value may be a key, so it is not shown.
                self.add(path, "must be a list");
                Vec::new()
            }
        }
    }

    /// Reads a list whose entries have different names.
    fn list<T>(
        &mut self,
        tree: Option<Tree>,
        path: &Path<'_>,
        read: fn(&mut Self, Tree, &Path<'_>) -> Option<T>,
        name: fn(&T) -> &String,
    ) -> Vec<T> {
        let mut all: Vec<T> = Vec::new();
        for (index, tree) in self.entries(tree, path).into_iter().enumerate() {
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
        let protocol = self.choice(protocol.as_deref(), &PROTOCOLS, &path.key("protocol"), "");
        let key = match key {
            None => Some(UpstreamKey::Client),
            Some(tree) => self.upstream_key(tree, &path.key("key")),
        };
        let upstream = Upstream::new(url?).map_err(|why| self.add(&path.key("url"), why));
        let mut upstream = upstream.ok()?.key(key?).models(models);
        upstream.protocol = protocol.or(upstream.protocol);
        upstream.name = name.unwrap_or(upstream.name);
        Some(upstream)
    }

    fn upstream_key(&mut self, tree: Tree, path: &Path<'_>) -> Option<UpstreamKey> {
        match tree.text() {
            Some("client") => Some(UpstreamKey::Client),
            Some("none") => Some(UpstreamKey::None),
            Some(_) => {
                // The value may be a key, so it is not shown.
                let known = one_of("", &["client", "none"]);
                self.add(path, format!("{known}, or a table with env or file"));
                None
            }
            None => self.secret(tree, path).map(UpstreamKey::Own),
        }
    }

    fn model(&mut self, tree: Tree, path: &Path<'_>) -> Option<ModelRule> {
        const COUNTS: [(&str, CountMethod); 3] = [
            ("o200k", CountMethod::Exactly(Encoding::O200k)),
            ("cl100k", CountMethod::Exactly(Encoding::Cl100k)),
            ("estimate", CountMethod::Estimate),
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
        let count = self.choice(encoding.as_deref(), &COUNTS, &path.key("encoding"), "");
        let cache = self.choice(cache.as_deref(), &CACHES, &path.key("prompt_cache"), "");
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
        // The same rules as for upstreams.
        if let Err(why) = Upstream::new(retriever.url.as_str()) {
            self.add(&path.key("url"), why);
        }
        Some(retriever)
    }

    fn memory(&mut self, tree: Tree, path: &Path<'_>) -> Option<Memory> {
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

    /// Reads a list of keys. It may be missing.
    fn keys(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Vec<Secret> {
        let trees = self.entries(tree, path);
        let read = |(index, tree)| self.secret(tree, &path.index(index));
        trees.into_iter().enumerate().filter_map(read).collect()
    }

    /// Reads a key from the environment or from a file. The configuration itself never has keys.
    fn secret(&mut self, tree: Tree, path: &Path<'_>) -> Option<Secret> {
        if tree.text().is_some() {
            // The value may be a key, so it is not shown.
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
                // The value may be the key itself, so it is not shown.
                self.add(&path.key("env"), "expected the name of a variable, such as GATEWAY_KEY");
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
                    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
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

    fn add(&mut self, path: &Path<'_>, message: impl AsRef<str>) {
        self.mistakes.push(format!("{path}: {}", message.as_ref()));
    }

    /// Adds a mistake for a number of tokens below 1.
    fn positive(&mut self, path: &Path<'_>, tokens: Option<i64>) {
        if let Some(tokens @ ..=0) = tokens {
            self.add(path, format!("must be at least 1, got {tokens}"));
        }
    }

    /// Finds the value with a name, if there is a name.
    fn choice<T: Copy>(
        &mut self,
        name: Option<&str>,
        known: &[(&str, T)],
        path: &Path<'_>,
        or: &str,
    ) -> Option<T> {
        let name = name?;
        let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.add(path, format!("got {name:?}, {}{or}", one_of(name, &names)));
        }
        found
    }
}

impl Report for ConfigReader<'_> {
    fn report(&mut self, path: &Path<'_>, found: Finding<'_>) {
        let message = match found {
            Finding::Missing { expected, .. } => format!("missing, expected {expected}"),
            Finding::Wrong { tree, expected } => format!("must be {expected}, got {tree}"),
            Finding::NoSuchPart { name, known, .. } => {
                format!("got {name:?}, {}", one_of(name, known))
            }
            Finding::Unknown { key, known, .. } => {
                format!("unknown key, {}", one_of(key, known))
            }
            Finding::Twice { note, .. } => {
                format!("the key appears twice, expected once{note}")
            }
        };
        self.add(path, message);
    }
}

/// Lists the valid words, with the one that was probably meant.
fn one_of(word: &str, known: &[&str]) -> String {
    let meant = meant(word, known).map(|meant| format!("; did you mean {meant}?"));
    format!("expected one of {}{}", known.join(", "), meant.unwrap_or_default())
}
