//! Keys of clients, the access log, the metrics and the receipts in configuration files.

use std::net::{IpAddr, SocketAddr};

use cupel::config::{Fields, Path, Tree};
use ipnet::IpNet;

use super::ConfigReader;
use crate::config::client_key::hash_of;
use crate::config::{AccessLog, ClientKey, ReceiptConfig};

impl ConfigReader<'_> {
    /// Reads a list of keys. It may be missing.
    pub(super) fn keys(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Vec<ClientKey> {
        let mut keys: Vec<ClientKey> = Vec::new();
        for (index, tree) in self.entries(tree, path).into_iter().enumerate() {
            let at = path.index(index);
            let Some(key) = self.client_key(tree, &at, index) else { continue };
            if keys.iter().any(|other| other.name == key.name) {
                let message =
                    format!("there is another {:?}, expected a name of its own", key.name);
                self.add(&at.key("name"), message);
            }
            keys.push(key);
        }
        keys
    }

    fn client_key(&mut self, tree: Tree, path: &Path<'_>, index: usize) -> Option<ClientKey> {
        const EXPECTED: &str = "a table with env, file or hash: keys do not belong into this file";
        if tree.text().is_some() {
            // The value may be a key, so it is not shown.
            self.add(path, format!("must be {EXPECTED}"));
            return None;
        }
        let mut fields = Fields::open(tree, path, self, EXPECTED)?;
        let name: Option<String> = fields.maybe("name");
        let env: Option<String> = fields.maybe("env");
        let file: Option<String> = fields.maybe("file");
        let hash: Option<String> = fields.maybe("hash");
        let models: Vec<String> = fields.or("models", Vec::new());
        let routes: Vec<String> = fields.or("routes", Vec::new());
        let requests: Option<i64> = fields.maybe("requests_per_minute");
        let tokens: Option<i64> = fields.maybe("tokens_per_minute");
        fields.close();
        self.positive(&path.key("requests_per_minute"), requests);
        self.positive(&path.key("tokens_per_minute"), tokens);
        let name = name.unwrap_or_else(|| format!("key-{}", index + 1));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_name) {
            let expected = "expected 1 to 64 letters, digits, or - _ . @";
            self.add(&path.key("name"), expected);
        }
        let mut key = match hash {
            Some(hash) if env.is_none() && file.is_none() => match hash_of(&hash) {
                Some(hash) => ClientKey::from_hash(name, hash),
                None => {
                    // The value may be the key itself, so it is not shown.
                    let expected =
                        "expected sha256: and the 64 hexadecimal digits of the key's SHA-256";
                    self.add(&path.key("hash"), expected);
                    return None;
                }
            },
            None => ClientKey::new(name, self.secret_in(env, file, path)?),
            Some(_) => {
                self.add(path, "expected one of env, file and hash");
                return None;
            }
        };
        (key.models, key.routes) = (models, routes);
        key.requests_per_minute = requests.and_then(|number| u64::try_from(number).ok());
        key.tokens_per_minute = tokens.and_then(|number| u64::try_from(number).ok());
        Some(key)
    }

    pub(super) fn access_log(&mut self, tree: Option<Tree>, path: &Path<'_>) -> AccessLog {
        let mut log = AccessLog::default();
        let Some(mut fields) = tree.and_then(|tree| Fields::open(tree, path, self, "a table"))
        else {
            return log;
        };
        log.enabled = fields.or("enabled", log.enabled);
        let trusted: Vec<String> = fields.or("trusted_proxies", Vec::new());
        fields.close();
        for (index, range) in trusted.iter().enumerate() {
            let parsed =
                range.parse::<IpNet>().or_else(|_| range.parse::<IpAddr>().map(IpNet::from));
            match parsed {
                Ok(range) => log.trusted_proxies.push(range),
                Err(_) => {
                    let expected = "expected an address or a range, such as 10.0.0.0/8";
                    let at = path.key("trusted_proxies");
                    self.add(&at.index(index), format!("{range:?} is none, {expected}"));
                }
            }
        }
        log
    }

    pub(super) fn receipts(
        &mut self,
        tree: Option<Tree>,
        path: &Path<'_>,
    ) -> Option<ReceiptConfig> {
        let mut fields = tree.and_then(|tree| Fields::open(tree, path, self, "a table"))?;
        let folder: Option<String> =
            fields.needed("folder", "a folder such as /var/lib/cupel/receipts");
        let calls: Option<String> = fields.maybe("calls");
        let secret = fields.take("secret");
        fields.close();
        let every = [("asked", false), ("all", true)];
        let every = self.choice(calls.as_deref(), &every, &path.key("calls"), "");
        let secret = secret.and_then(|tree| self.secret(tree, &path.key("secret")));
        let mut receipts = ReceiptConfig::new(folder?);
        (receipts.secret, receipts.every_call) = (secret, every.unwrap_or(false));
        Some(receipts)
    }

    pub(super) fn metrics(&mut self, tree: Option<Tree>, path: &Path<'_>) -> Option<SocketAddr> {
        let mut fields = tree.and_then(|tree| Fields::open(tree, path, self, "a table"))?;
        let listen: Option<String> = fields.needed("listen", "an address such as 127.0.0.1:9464");
        fields.close();
        let parsed = listen.as_deref().map(str::parse);
        if let (Some(listen), Some(Err(_))) = (&listen, &parsed) {
            let expected = "expected one such as 127.0.0.1:9464";
            self.add(
                &path.key("listen"),
                format!("{listen:?} is no address with a port, {expected}"),
            );
        }
        parsed?.ok()
    }
}
