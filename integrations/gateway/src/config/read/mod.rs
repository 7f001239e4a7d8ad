//! Configuration files. Every mistake in a file is listed, with its path.

mod compaction;
mod keys;
mod meaning;
mod policy;
mod secrets;
mod sources;
mod upstreams;

use std::fmt::Display;
use std::path::Path as FilePath;

use cupel::config::{Fields, Finding, Format, Path, Report, Tree, Value, meant, read_file};

use super::{Config, GatewayConfigError, GatewayLimits, GatewayMode, PORT, PageConfig};

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
        config.window = fields.maybe("window");
        config.at_most = fields.maybe("at_most");
        config.unknown_window = fields.maybe("unknown_window");
        config.exact_from = fields.maybe("exact_from");
        config.fail_closed = fields.or("fail_closed", false);
        config.rollout.fit = fields.or("fit", config.rollout.fit);
        config.rollout.salt = fields.or("fit_salt", String::new());
        let mode: Option<String> = fields.maybe("mode");
        config.routes = fields.or("routes", Vec::new());
        config.anonymous_memory = fields.or("anonymous_memory", false);
        config.count_repeats = fields.or("count_repeats", config.count_repeats);
        config.conversation_names = fields.or("conversation_names", false);
        let upstreams = fields.take("upstreams");
        let models = fields.take("models");
        let policy = fields.take("policy");
        let plan = fields.take("plan");
        let limits = fields.take("limits");
        let keys = fields.take("keys");
        let page = fields.take("page");
        let sources = fields.take("sources");
        let archive = fields.take("archive");
        let meaning = fields.take("meaning");
        let compaction = fields.take("compaction");
        let tenant_secret = fields.take("tenant_secret");
        let access_log = fields.take("access_log");
        let metrics = fields.take("metrics");
        let receipts = fields.take("receipts");
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
        let modes = [("fit", GatewayMode::Fit), ("shadow", GatewayMode::Shadow)];
        if let Some(mode) = self.choice(mode.as_deref(), &modes, &root.key("mode"), "") {
            config.rollout.mode = mode;
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
        config.access_log = self.access_log(access_log, &root.key("access_log"));
        config.metrics_listen = self.metrics(metrics, &root.key("metrics"));
        config.receipts = self.receipts(receipts, &root.key("receipts"));
        config.page = self.page(page, &root.key("page"));
        config.sources = self.list(sources, &root.key("sources"), Self::source, |one| &one.name);
        config.meaning = meaning.and_then(|tree| self.meaning(tree, &root.key("meaning")));
        config.memory = archive.and_then(|tree| self.memory(tree, &root.key("archive")));
        config.compaction =
            compaction.and_then(|tree| self.compaction(tree, &root.key("compaction")));
        config.tenant_secret =
            tenant_secret.and_then(|tree| self.secret(tree, &root.key("tenant_secret")));
        if let Some(policy) = self.policy_and_plan(policy, plan, &root) {
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
            ("count_seconds", &mut limits.count_time),
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
