//! Keys: in the environment or in a file, and never in the configuration itself.

use cupel::config::{Fields, Path, Tree, Value, read_file};

use super::Environment;
use super::mistakes::Mistakes;
use crate::config::Secret;

const EXPECTED: &str = "a table with env or file: keys do not belong into this file";

/// A list of keys that may be left out.
pub(super) fn list(
    tree: Option<Tree>,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Vec<Secret> {
    let trees = match tree {
        None => return Vec::new(),
        Some(Tree { value: Value::List(trees), .. }) => trees,
        Some(_) => {
            // As below.
            mistakes.add(path, format!("must be a list, each of it {EXPECTED}"));
            return Vec::new();
        }
    };
    let read = |(index, tree)| read(tree, &path.index(index), environment, mistakes);
    trees.into_iter().enumerate().filter_map(read).collect()
}

pub(super) fn read(
    tree: Tree,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Option<Secret> {
    if tree.text().is_some() {
        // Whatever it is, it is not shown.
        mistakes.add(path, format!("must be {EXPECTED}"));
        return None;
    }
    let mut fields = Fields::open(tree, path, mistakes, EXPECTED)?;
    let env: Option<String> = fields.maybe("env");
    let file: Option<String> = fields.maybe("file");
    fields.close();
    let is_name =
        |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (found, from) = match (env, file) {
        (Some(name), None) if !is_name(&name) => {
            // It may be the key itself: it is not shown.
            mistakes.add(&path.key("env"), "expected the name of a variable, as in GATEWAY_KEY");
            return None;
        }
        (Some(name), None) => (
            environment(&name).ok_or_else(|| "is not set".to_owned()),
            format!("the variable {name}"),
        ),
        (None, Some(file)) => {
            let read = read_file(std::path::Path::new(&file), 64 * 1024)
                .map_err(|error| error.to_string());
            let text = read
                .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is no text".to_owned()));
            (text.map(|text| text.trim().to_owned()), format!("the file {file:?}"))
        }
        _ => {
            mistakes.add(path, "expected either env or file");
            return None;
        }
    };
    match found {
        Ok(key) if key.is_empty() => mistakes.add(path, format!("{from} is empty, expected a key")),
        Ok(key) if key.chars().any(char::is_control) => {
            mistakes.add(path, format!("{from} has more than one line, expected a key"));
        }
        Ok(key) => return Some(Secret::new(key)),
        Err(why) => mistakes.add(path, format!("{from}: {why}, expected a key")),
    }
    None
}
