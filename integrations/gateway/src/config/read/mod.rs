//! A configuration from a file: everything that is wrong with it is listed, with its path.

mod limits;
mod memory;
mod mistakes;
mod models;
mod page;
mod policy;
mod secrets;
mod sources;
mod upstreams;

use std::path::Path as FilePath;

use cupel::config::{Fields, Format, Found, Path, Report as _, Tree, Value, read_file};

use super::{Config, PORT};
use crate::gateway::Unusable;
use mistakes::Mistakes;

/// A file of settings; what people write stays far below.
const FILE_BYTES: u64 = 1 << 20;

/// Where keys come from that are not in the file.
type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

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

    fn read(format: Format, text: &str, environment: Environment<'_>) -> Result<Self, Unusable> {
        let tree = format
            .parse(text, "")
            .map_err(|message| without_lines(&message))
            .map_err(|message| Unusable(vec![format!("not valid {}: {message}", format.name())]))?;
        let mut mistakes = Mistakes::default();
        let config = read(tree, environment, &mut mistakes);
        mistakes.add_others(config.iter().flat_map(Config::problems).collect());
        match config {
            Some(config) if mistakes.is_empty() => Ok(config),
            _ => Err(Unusable(mistakes.into_lines())),
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

fn read(tree: Tree, environment: Environment<'_>, mistakes: &mut Mistakes) -> Option<Config> {
    let root = Path::Root;
    let mut fields = Fields::open(tree, &root, mistakes, "a table")?;
    let listen: Option<String> = fields.maybe("listen");
    let hosts = fields.or("hosts", Vec::new());
    let at_most: Option<i64> = fields.maybe("at_most");
    let unknown_window: Option<i64> = fields.maybe("unknown_window");
    let exact_from: Option<f64> = fields.maybe("exact_from");
    let fail_closed = fields.or("fail_closed", false);
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

    let listen = listen.and_then(|listen| {
        let wrong = |_| {
            let expected = format!("expected one as in 127.0.0.1:{PORT}");
            let message = format!("{listen:?} is no address with a port, {expected}");
            mistakes.add(&root.key("listen"), message);
        };
        listen.parse().map_err(wrong).ok()
    });
    if let Some(share) = exact_from.filter(|share| !(0.0..=1.0).contains(share)) {
        let message = format!("is {share}, expected a share of the window from 0 to 1");
        mistakes.add(&root.key("exact_from"), message);
    }
    let upstreams = upstreams::read(upstreams, &root.key("upstreams"), environment, mistakes);
    let models = models::read(models, &root.key("models"), mistakes);
    let limits = limits::read(limits, &root.key("limits"), mistakes);
    let policy = policy.and_then(|tree| policy::read(tree, &root.key("policy"), mistakes));
    let keys_at = root.key("keys");
    let keys = secrets::list(keys, &keys_at, environment, mistakes);
    let page = page::read(page, &root.key("page"), mistakes);
    let sources = sources::read(sources, &root.key("sources"), environment, mistakes);
    let memory =
        archive.and_then(|tree| memory::read(tree, &root.key("archive"), environment, mistakes));
    let tenant_secret = tenant_secret
        .and_then(|tree| secrets::read(tree, &root.key("tenant_secret"), environment, mistakes));

    let mut config = Config::with(upstreams);
    config.listen = listen.unwrap_or(config.listen);
    config.policy = policy.unwrap_or(config.policy);
    Some(Config {
        hosts,
        at_most,
        unknown_window,
        exact_from,
        fail_closed,
        models,
        limits,
        keys,
        page,
        sources,
        memory,
        tenant_secret,
        ..config
    })
}

/// The entries of a list that may be left out.
fn list(tree: Option<Tree>, path: &Path<'_>, mistakes: &mut Mistakes) -> Vec<Tree> {
    match tree {
        None => Vec::new(),
        Some(Tree { value: Value::List(entries), .. }) => entries,
        Some(tree) => {
            mistakes.report(path, Found::Wrong { tree: &tree, expected: "a list" });
            Vec::new()
        }
    }
}
