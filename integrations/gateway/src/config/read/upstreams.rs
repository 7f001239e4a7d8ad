//! The list `upstreams`.

use cupel::config::{Fields, Found, Path, Report as _, Tree};

use super::mistakes::{Mistakes, one_of};
use super::{Environment, list, secrets};
use crate::config::{Upstream, UpstreamKey};

pub(super) fn read(
    tree: Option<Tree>,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Vec<Upstream> {
    let entries = list(tree, path, mistakes);
    if entries.is_empty() {
        let expected = "at least one, with its url";
        mistakes.report(path, Found::Missing { expected, file: &"".into() });
    }
    let mut read: Vec<Upstream> = Vec::new();
    for (index, tree) in entries.into_iter().enumerate() {
        let at = path.index(index);
        let Some(one) = upstream(tree, &at, environment, mistakes) else { continue };
        if read.iter().any(|other| other.name == one.name) {
            let message = format!("there is another {:?}, expected a name of its own", one.name);
            mistakes.add(&at.key("name"), message);
        }
        read.push(one);
    }
    read
}

fn upstream(
    tree: Tree,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Option<Upstream> {
    let mut fields = Fields::open(tree, path, mistakes, "a table")?;
    let name: Option<String> = fields.maybe("name");
    let url: Option<String> = fields.needed("url", "the address of an API");
    let models: Vec<String> = fields.or("models", Vec::new());
    let key = fields.take("key");
    fields.close();
    let key = match key {
        None => Some(UpstreamKey::Client),
        Some(tree) => read_key(tree, &path.key("key"), environment, mistakes),
    };
    let upstream = Upstream::new(url?).map_err(|why| mistakes.add(&path.key("url"), why));
    let mut upstream = upstream.ok()?.key(key?).models(models);
    if let Some(name) = name {
        upstream = upstream.name(name);
    }
    Some(upstream)
}

fn read_key(
    tree: Tree,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Option<UpstreamKey> {
    match tree.text() {
        Some("client") => Some(UpstreamKey::Client),
        Some("none") => Some(UpstreamKey::None),
        Some(_) => {
            // It may be a key: it is not shown.
            let known = one_of("", &["client", "none"]);
            mistakes.add(path, format!("{known}, or a table with env or file"));
            None
        }
        None => secrets::read(tree, path, environment, mistakes).map(UpstreamKey::Own),
    }
}
