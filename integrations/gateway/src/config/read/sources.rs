//! The list `sources`.

use cupel::config::{Fields, Path, Tree};

use super::mistakes::Mistakes;
use super::{Environment, list, secrets};
use crate::config::{Retriever, Upstream};

pub(super) fn read(
    tree: Option<Tree>,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Vec<Retriever> {
    let mut read: Vec<Retriever> = Vec::new();
    for (index, tree) in list(tree, path, mistakes).into_iter().enumerate() {
        let at = path.index(index);
        let Some(one) = retriever(tree, &at, environment, mistakes) else { continue };
        if read.iter().any(|other| other.name == one.name) {
            let message = format!("there is another {:?}, expected a name of its own", one.name);
            mistakes.add(&at.key("name"), message);
        }
        read.push(one);
    }
    read
}

fn retriever(
    tree: Tree,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Option<Retriever> {
    let mut fields = Fields::open(tree, path, mistakes, "a table")?;
    let name: Option<String> = fields.needed("name", "a name for reports");
    let url: Option<String> = fields.needed("url", "the address of a retriever");
    let mut retriever = Retriever::new(name.unwrap_or_default(), url.clone().unwrap_or_default());
    retriever.deadline = fields.or("deadline_seconds", retriever.deadline);
    retriever.items = fields.or("items", retriever.items);
    retriever.bytes = fields.or("bytes", retriever.bytes);
    retriever.required = fields.or("required", false);
    let key = fields.take("key");
    fields.close();
    for (key, limit) in [("items", retriever.items), ("bytes", retriever.bytes)] {
        if limit == 0 {
            mistakes.add(&path.key(key), "must be at least 1, got 0");
        }
    }
    retriever.key =
        key.and_then(|tree| secrets::read(tree, &path.key("key"), environment, mistakes));
    // Addresses of retrievers are held to the same rules.
    if let Err(why) = Upstream::new(url?) {
        mistakes.add(&path.key("url"), why);
    }
    Some(retriever)
}
