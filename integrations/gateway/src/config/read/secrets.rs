//! Keys in configuration files: names of variables and of files, never the keys themselves.

use cupel::config::{Fields, Path, Tree, read_file};

use super::ConfigReader;
use crate::credentials::Secret;

/// Expected form of a key.
const EXPECTED: &str = "a table with env or file: keys do not belong into this file";

impl ConfigReader<'_> {
    /// Reads a key from the environment or from a file. The configuration itself never has keys.
    pub(super) fn secret(&mut self, tree: Tree, path: &Path<'_>) -> Option<Secret> {
        if tree.text().is_some() {
            // The value may be a key, so it is not shown.
            self.add(path, format!("must be {EXPECTED}"));
            return None;
        }
        let mut fields = Fields::open(tree, path, self, EXPECTED)?;
        let env: Option<String> = fields.maybe("env");
        let file: Option<String> = fields.maybe("file");
        fields.close();
        self.secret_in(env, file, path)
    }

    /// Reads a key from the variable or the file that is given.
    pub(super) fn secret_in(
        &mut self,
        env: Option<String>,
        file: Option<String>,
        path: &Path<'_>,
    ) -> Option<Secret> {
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
}
