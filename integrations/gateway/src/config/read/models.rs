//! The list `models`.

use cupel::config::{Fields, Path, Tree};
use cupel::tokens::Encoding;
use cupel_json::CacheRule;

use super::mistakes::{Mistakes, one_of};
use super::{list, policy};
use crate::config::{Count, ModelRule};

pub(super) fn read(tree: Option<Tree>, path: &Path<'_>, mistakes: &mut Mistakes) -> Vec<ModelRule> {
    let mut rules: Vec<ModelRule> = Vec::new();
    for (index, tree) in list(tree, path, mistakes).into_iter().enumerate() {
        let at = path.index(index);
        let Some(rule) = rule(tree, &at, mistakes) else { continue };
        if rules.iter().any(|other| other.name == rule.name) {
            let message = format!("{:?} has a rule already, expected one", rule.name);
            mistakes.add(&at.key("name"), message);
        }
        rules.push(rule);
    }
    rules
}

fn rule(tree: Tree, path: &Path<'_>, mistakes: &mut Mistakes) -> Option<ModelRule> {
    let mut fields = Fields::open(tree, path, mistakes, "a table")?;
    let name: Option<String> =
        fields.needed("name", "a model's name, or the beginning of it and *");
    let window: Option<i64> = fields.maybe("window");
    let at_most: Option<i64> = fields.maybe("at_most");
    let encoding: Option<String> = fields.maybe("encoding");
    let factor = fields.or("factor", 1.0);
    let cache: Option<String> = fields.maybe("prompt_cache");
    let policy = fields.take("policy");
    fields.close();
    mistakes.positive(&path.key("window"), window);
    mistakes.positive(&path.key("at_most"), at_most);
    if !(0.1..=10.0).contains(&factor) {
        mistakes.add(&path.key("factor"), format!("must be between 0.1 and 10, got {factor}"));
    }
    let count = encoding.and_then(|name| {
        let known = [
            ("o200k", Count::Exactly(Encoding::O200k)),
            ("cl100k", Count::Exactly(Encoding::Cl100k)),
            ("estimate", Count::Estimate),
        ];
        let found = known.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        if found.is_none() {
            let names = known.map(|(name, _)| name);
            mistakes.add(&path.key("encoding"), format!("got {name:?}, {}", one_of(&name, &names)));
        }
        found
    });
    let cache = cache.and_then(|name| {
        let known = [("prefix", CacheRule::Prefix), ("breakpoints", CacheRule::Breakpoints)];
        let found = known.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule);
        if found.is_none() {
            let names = known.map(|(name, _)| name);
            let message = format!("got {name:?}, {}", one_of(&name, &names));
            mistakes.add(&path.key("prompt_cache"), message);
        }
        found
    });
    let policy = policy.and_then(|tree| policy::read(tree, &path.key("policy"), mistakes));
    let rule = ModelRule::new(name?);
    Some(ModelRule { window, at_most, count, factor, policy, cache, ..rule })
}
