//! Reads numbers, texts, lists and other plain values.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fields::{FromTree, wrong};
use super::path::{Path, Problems};
use super::tree::Tree;
use crate::model::{ContextKind, OverflowStrategy};
use crate::slicer::ScarcityBehavior;

impl FromTree for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match tree {
            Tree::Number(number) => Some(number),
            Tree::Whole(number) => Some(number as f64),
            tree => wrong(&tree, path, problems),
        }
    }
}

impl FromTree for i64 {
    const EXPECTED: &'static str = "a whole number";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match tree {
            Tree::Whole(number) if Self::try_from(number).is_ok() => Self::try_from(number).ok(),
            tree => wrong(&tree, path, problems),
        }
    }
}

impl FromTree for usize {
    const EXPECTED: &'static str = "a whole number of at least 0";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match tree {
            Tree::Whole(number) if Self::try_from(number).is_ok() => Self::try_from(number).ok(),
            tree => wrong(&tree, path, problems),
        }
    }
}

impl FromTree for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match tree {
            Tree::Flag(flag) => Some(flag),
            tree => wrong(&tree, path, problems),
        }
    }
}

impl FromTree for String {
    const EXPECTED: &'static str = "a text";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match tree {
            Tree::Text(text) => Some(text),
            tree => wrong(&tree, path, problems),
        }
    }
}

impl FromTree for Duration {
    const EXPECTED: &'static str = "a number of seconds of at least 0";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let duration = match tree {
            Tree::Whole(seconds) => u64::try_from(seconds).ok().map(Self::from_secs),
            Tree::Number(seconds) => as_written(seconds),
            _ => None,
        };
        duration.or_else(|| wrong(&tree, path, problems))
    }
}

/// The duration that the digits of a number say: 13811730.254 seconds have no nanosecond more,
/// though the closest float is nearer to one that has.
fn as_written(seconds: f64) -> Option<Duration> {
    let digits = seconds.to_string();
    let exact = digits.split_once('.').and_then(|(whole, fraction)| {
        let nanos = format!("{fraction:0<9}");
        let fits = nanos.len() == 9;
        fits.then_some(Duration::new(whole.parse().ok()?, nanos.parse().ok()?))
    });
    exact.or_else(|| Duration::try_from_secs_f64(seconds).ok())
}

impl FromTree for ContextKind {
    const EXPECTED: &'static str = "a kind";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match &tree {
            Tree::Text(text) => Self::new(text).ok().or_else(|| {
                let message = format!("must not be empty or white space only, got {text:?}");
                problems.add(path, message);
                None
            }),
            tree => wrong(tree, path, problems),
        }
    }
}

impl FromTree for OverflowStrategy {
    const EXPECTED: &'static str = "throw, truncate or proceed";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let strategy = match &tree {
            Tree::Text(text) => text.parse().ok(),
            _ => None,
        };
        strategy.or_else(|| wrong(&tree, path, problems))
    }
}

impl FromTree for ScarcityBehavior {
    const EXPECTED: &'static str = "degrade or throw";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match &tree {
            Tree::Text(text) if text.eq_ignore_ascii_case("degrade") => Some(Self::Degrade),
            Tree::Text(text) if text.eq_ignore_ascii_case("throw") => Some(Self::Throw),
            tree => wrong(tree, path, problems),
        }
    }
}

impl<T: FromTree> FromTree for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let Tree::List(items) = tree else {
            return wrong(&tree, path, problems);
        };
        // All of them before the verdict, so that every problem is noted.
        let items: Vec<Option<T>> = (0..)
            .zip(items)
            .map(|(index, item)| T::from_tree(item, &path.index(index), problems))
            .collect();
        items.into_iter().collect()
    }
}

impl<T: FromTree> FromTree for Box<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        T::from_tree(tree, path, problems).map(Self::new)
    }
}

/// A key of a table with free keys.
pub(super) trait Key: FromTree + Ord {
    /// What to say about a key that is there already.
    const TWICE: &'static str;
}

impl Key for String {
    const TWICE: &'static str = "the key is given twice, expected once";
}

impl Key for ContextKind {
    const TWICE: &'static str = "the kind is given twice, expected once (kinds ignore case)";
}

impl<K: Key, V: FromTree> FromTree for BTreeMap<K, V> {
    const EXPECTED: &'static str = "a table";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let Tree::Table(entries) = tree else {
            return wrong(&tree, path, problems);
        };
        let mut map = Self::new();
        let mut complete = true;
        for (key, value) in entries {
            let at = path.key(&key);
            let value = V::from_tree(value, &at, problems);
            let Some(name) = K::from_tree(Tree::Text(key.clone()), &at, problems) else {
                complete = false;
                continue;
            };
            if map.contains_key(&name) {
                problems.add(&at, K::TWICE);
            }
            complete &= value.map(|value| map.insert(name, value)).is_some();
        }
        complete.then_some(map)
    }
}
