//! Upstreams and rules for models in configuration files.

use cupel::config::{Fields, Path, Tree};
use cupel::tokens::Encoding;
use cupel_json::CacheRule;

use super::{ConfigReader, one_of};
use crate::config::{
    CountMethod, ModelRule, Protocol, TlsRoots, ToolCount, Upstream, UpstreamConnection,
    UpstreamKey,
};

impl ConfigReader<'_> {
    pub(super) fn upstream(&mut self, tree: Tree, path: &Path<'_>) -> Option<Upstream> {
        const PROTOCOLS: [(&str, Protocol); 2] =
            [("openai", Protocol::OpenAi), ("anthropic", Protocol::Anthropic)];
        const ROOTS: [(&str, TlsRoots); 2] =
            [("system", TlsRoots::System), ("webpki", TlsRoots::Webpki)];
        const PROXIES: [(&str, bool); 2] = [("none", true), ("environment", false)];
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let name: Option<String> = fields.maybe("name");
        let url: Option<String> = fields.needed("url", "the address of an API");
        let models: Vec<String> = fields.or("models", Vec::new());
        let protocol: Option<String> = fields.maybe("protocol");
        let key = fields.take("key");
        let roots: Option<String> = fields.maybe("roots");
        let proxy: Option<String> = fields.maybe("proxy");
        let mut connection = UpstreamConnection::default();
        for (key, file) in [
            ("ca_file", &mut connection.ca_file),
            ("client_cert", &mut connection.client_cert),
            ("client_key", &mut connection.client_key),
        ] {
            *file = fields.maybe::<String>(key).map(Into::into);
        }
        connection.http2 = fields.or("http2", false);
        fields.close();
        let proxy = self.choice(proxy.as_deref(), &PROXIES, &path.key("proxy"), "");
        connection.is_direct = proxy.unwrap_or_default();
        connection.roots = self.choice(roots.as_deref(), &ROOTS, &path.key("roots"), "");
        let protocol = self.choice(protocol.as_deref(), &PROTOCOLS, &path.key("protocol"), "");
        let key = match key {
            None => Some(UpstreamKey::Client),
            Some(tree) => self.upstream_key(tree, &path.key("key")),
        };
        let upstream = Upstream::new(url?).map_err(|why| self.add(&path.key("url"), why));
        let mut upstream = upstream.ok()?.key(key?).models(models).connection(connection);
        upstream.protocol = protocol.or(upstream.protocol);
        upstream.name = name.unwrap_or(upstream.name);
        Some(upstream)
    }

    pub(super) fn upstream_key(&mut self, tree: Tree, path: &Path<'_>) -> Option<UpstreamKey> {
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

    pub(super) fn model(&mut self, tree: Tree, path: &Path<'_>) -> Option<ModelRule> {
        const COUNTS: [(&str, CountMethod); 3] = [
            ("o200k", CountMethod::Exactly(Encoding::O200k)),
            ("cl100k", CountMethod::Exactly(Encoding::Cl100k)),
            ("estimate", CountMethod::Estimate),
        ];
        const DIGITS: [(&str, bool); 2] = [("single", true), ("grouped", false)];
        const TOOLS: [(&str, ToolCount); 2] =
            [("json", ToolCount::Json), ("openai", ToolCount::OpenAi)];
        const CACHES: [(&str, CacheRule); 2] =
            [("prefix", CacheRule::Prefix), ("breakpoints", CacheRule::Breakpoints)];
        let mut fields = Fields::open(tree, path, self, "a table")?;
        let name: Option<String> =
            fields.needed("name", "a model's name, or the beginning of it and *");
        let window: Option<i64> = fields.maybe("window");
        let at_most: Option<i64> = fields.maybe("at_most");
        let encoding: Option<String> = fields.maybe("encoding");
        let tokenizer: Option<String> = fields.maybe("tokenizer");
        let chat_template: Option<String> = fields.maybe("chat_template");
        let digits: Option<String> = fields.maybe("digits");
        let tools: Option<String> = fields.maybe("tools");
        let tokens_per_message: Option<i64> = fields.maybe("tokens_per_message");
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
        let single_digits = self.choice(digits.as_deref(), &DIGITS, &path.key("digits"), "");
        let tools = self.choice(tools.as_deref(), &TOOLS, &path.key("tools"), "");
        if let Some(tokens @ ..=-1) = tokens_per_message {
            let message = format!("must not be negative, got {tokens}");
            self.add(&path.key("tokens_per_message"), message);
        }
        if tokenizer.is_some() {
            let others = [("encoding", encoding.is_some()), ("digits", digits.is_some())];
            for (key, _) in others.into_iter().filter(|(_, is_set)| *is_set) {
                self.add(&path.key(key), "the tokenizer says it, expected either of them");
            }
            if cfg!(not(feature = "tokenizers")) {
                let message = "this binary was built without the feature `tokenizers`";
                self.add(&path.key("tokenizer"), message);
            }
        } else if chat_template.is_some() {
            let message = "needs a tokenizer, expected the file of one in `tokenizer`";
            self.add(&path.key("chat_template"), message);
        }
        let rule = ModelRule::new(name?);
        Some(ModelRule {
            window,
            at_most,
            count,
            tokenizer: tokenizer.map(Into::into),
            chat_template: chat_template.map(Into::into),
            single_digits,
            tools,
            tokens_per_message,
            factor,
            policy,
            cache,
            ..rule
        })
    }
}
