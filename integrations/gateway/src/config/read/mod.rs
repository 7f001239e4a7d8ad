//! A configuration from a file: everything that is wrong with it is listed, with its path.

mod entries;

use std::path::Path as FilePath;

use cupel::config::{Fields, Format, Found, Path, Report, Tree, Value, meant, read_file};
use cupel::{Policy, PolicySpec, ScorerRegistry, SystemTimeProvider};

use super::{Config, Limits, PORT, Page};
use crate::gateway::Unusable;

/// A file of settings; what people write stays far below.
const FILE_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads a file in TOML, JSON or YAML, as its extension says.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its path.
    pub fn from_file(file: impl AsRef<FilePath>) -> Result<Self, Unusable> {
        let file = file.as_ref();
        let name = file.display();
        let failed = |error: &dyn std::fmt::Display| Unusable(vec![format!("{name}: {error}")]);
        let format = Format::of(file.extension())
            .ok_or_else(|| failed(&"expected a file named .toml, .json, .yaml or .yml"))?;
        let bytes = read_file(file, FILE_BYTES).map_err(|error| failed(&error))?;
        let text = String::from_utf8(bytes).map_err(|error| failed(&error))?;
        let environment = |name: &str| std::env::var(name).ok();
        Self::read(format, &text, &environment)
    }

    /// Reads TOML; keys that are in the environment are asked of a function.
    ///
    /// ```
    /// use cupel_gateway::Config;
    ///
    /// let text = r#"
    ///     at_most = 32_000
    ///     [[upstreams]]
    ///     url = "https://api.openai.com/v1"
    ///     key = { env = "OPENAI_API_KEY" }
    /// "#;
    /// let config = Config::from_toml(text, &|_| Some("sk-1".to_owned()))?;
    /// assert_eq!(config.at_most, Some(32_000));
    ///
    /// let error = Config::from_toml("at_mots = 32_000\nupstreams = []", &|_| None).unwrap_err();
    /// assert_eq!(error.0.len(), 2);
    /// assert!(error.0[0].starts_with("at_mots: unknown key, expected one of"));
    /// # Ok::<(), cupel_gateway::Unusable>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_file`](Self::from_file).
    pub fn from_toml(
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Unusable> {
        Self::read(Format::Toml, text, environment)
    }

    fn read(
        format: Format,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Unusable> {
        let tree = format
            .parse(text, "")
            .map_err(|message| without_lines(&message))
            .map_err(|message| Unusable(vec![format!("not valid {}: {message}", format.name())]))?;
        let mut reader = Reader { environment, mistakes: Vec::new() };
        let config = reader.config(tree);
        // What is known to be wrong with a key is not said again.
        let about = |line: &str| line.split([':', '[', '.']).next().unwrap_or_default().to_owned();
        let known: Vec<String> = reader.mistakes.iter().map(|line| about(line)).collect();
        let mut others: Vec<String> = config.iter().flat_map(Config::problems).collect();
        others.retain(|line| !known.contains(&about(line)));
        reader.mistakes.append(&mut others);
        match config {
            Some(config) if reader.mistakes.is_empty() => Ok(config),
            _ => Err(Unusable(reader.mistakes)),
        }
    }
}

/// What a parser says, without the lines of the file that it shows: there may be a key in one.
fn without_lines(message: &str) -> String {
    let is_shown = |line: &&str| {
        line.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            .starts_with('|')
    };
    let said: Vec<&str> = message.lines().filter(|line| !is_shown(line)).collect();
    said.join(": ")
}

type Preset = (&'static str, fn() -> Policy);

/// Reads a configuration, and notes every mistake in it.
struct Reader<'e> {
    /// The keys that are not in the file, by the names of their variables.
    environment: &'e dyn Fn(&str) -> Option<String>,
    mistakes: Vec<String>,
}

impl Reader<'_> {
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
                    let expected = format!("expected one as in 127.0.0.1:{PORT}");
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
        config.upstreams = self.upstreams(upstreams, &root.key("upstreams"));
        config.models = self.models(models, &root.key("models"));
        config.limits = self.limits(limits, &root.key("limits"));
        config.keys = self.keys(keys, &root.key("keys"));
        config.page = self.page(page, &root.key("page"));
        config.sources = self.sources(sources, &root.key("sources"));
        config.memory = archive.and_then(|tree| self.memory(tree, &root.key("archive")));
        config.tenant_secret =
            tenant_secret.and_then(|tree| self.secret(tree, &root.key("tenant_secret")));
        if let Some(policy) = policy.and_then(|tree| self.policy(tree, &root.key("policy"))) {
            config.policy = policy;
        }
        Some(config)
    }

    fn limits(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Limits {
        let mut limits = Limits::default();
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
        let Limits { body_bytes, waiting_bytes, .. } = limits;
        if waiting_bytes < body_bytes {
            let message =
                format!("must be at least body_bytes, which is {body_bytes}, got {waiting_bytes}");
            self.add(&path.key("waiting_bytes"), message);
        }
        limits
    }

    fn page(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Page {
        let mut page = Page::default();
        if let Some(mut fields) = tree.and_then(|tree| Fields::open(tree, path, self, "a table")) {
            page.bytes = fields.or("bytes", page.bytes);
            page.token_file = fields.maybe::<String>("token_file").map(Into::into);
            fields.close();
        }
        page
    }

    /// A preset by name, or a table as in policy files.
    fn policy(&mut self, tree: Tree, path: &Path<'_>) -> Option<Policy> {
        if let Some(name) = tree.text() {
            let presets: [Preset; 4] = [
                ("chat", Policy::chat),
                ("document_qa", Policy::document_qa),
                ("rag", Policy::rag),
                ("tool_use", Policy::tool_use),
            ];
            return self.choice(name, &presets, path, ", or a table").map(|policy| policy());
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

    fn add(&mut self, path: &Path<'_>, message: impl AsRef<str>) {
        self.mistakes.push(format!("{path}: {}", message.as_ref()));
    }

    /// Notes tokens that are given and less than one.
    fn positive(&mut self, path: &Path<'_>, tokens: Option<i64>) {
        if let Some(tokens @ ..=0) = tokens {
            self.add(path, format!("must be at least 1, got {tokens}"));
        }
    }

    /// The value with this name.
    fn choice<T: Copy>(
        &mut self,
        name: &str,
        known: &[(&str, T)],
        path: &Path<'_>,
        or: &str,
    ) -> Option<T> {
        let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.add(path, format!("got {name:?}, {}{or}", one_of(name, &names)));
        }
        found
    }
}

impl Report for Reader<'_> {
    fn report(&mut self, path: &Path<'_>, found: Found<'_>) {
        let message = match found {
            Found::Missing { expected, .. } => format!("missing, expected {expected}"),
            Found::Wrong { tree, expected } => format!("must be {expected}, got {tree}"),
            Found::NoSuchPart { name, known, .. } => {
                format!("got {name:?}, {}", one_of(name, known))
            }
            Found::Unknown { key, known, .. } => format!("unknown key, {}", one_of(key, known)),
            Found::Twice { note, .. } => format!("the key is given twice, expected once{note}"),
        };
        self.add(path, message);
    }
}

/// The valid words, with the one that was probably meant.
fn one_of(word: &str, known: &[&str]) -> String {
    let meant = meant(word, known).map(|meant| format!("; did you mean {meant}?"));
    format!("expected one of {}{}", known.join(", "), meant.unwrap_or_default())
}
