//! Reads numbers, texts, lists and other plain values.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Finding, FromTree, Path, Report, Tree, Value, wrong};

/// Makes a type readable by a function from a value to an option of it.
macro_rules! plain {
    ($($Type:ty, $expected:literal, $read:expr;)+) => {$(
        impl $crate::config::FromTree for $Type {
            const EXPECTED: &'static str = $expected;

            fn from_tree(
                tree: $crate::config::Tree,
                path: &$crate::config::Path<'_>,
                report: &mut dyn $crate::config::Report,
            ) -> Option<Self> {
                let read: fn(&$crate::config::Tree) -> Option<Self> = $read;
                read(&tree).or_else(|| $crate::config::wrong(&tree, path, report))
            }

            fn stand_in(_: &$crate::config::Path<'_>) -> Self {
                Self::default()
            }
        }
    )+};
}
pub(crate) use plain;

plain! {
    f64, "a number", |tree| match tree.value {
        Value::Number(number) => Some(number),
        Value::Whole(number) => Some(number as f64),
        _ => None,
    };
    i64, "a whole number", |tree| whole(tree)?.try_into().ok();
    usize, "a whole number of at least 0", |tree| whole(tree)?.try_into().ok();
    u64, "a whole number of at least 0", |tree| whole(tree)?.try_into().ok();
    bool, "true or false", |tree| match tree.value {
        Value::Flag(flag) => Some(flag),
        _ => None,
    };
    String, "a text", |tree| tree.text().map(str::to_owned);
    Duration, "a number of seconds of at least 0", |tree| match tree.value {
        Value::Whole(seconds) => u64::try_from(seconds).ok().map(Duration::from_secs),
        Value::Number(seconds) => as_written(seconds),
        _ => None,
    };
}

fn whole(tree: &Tree) -> Option<i128> {
    match tree.value {
        Value::Whole(number) => Some(number),
        _ => None,
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

impl<T: FromTree> FromTree for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        let Value::List(items) = tree.value else { return wrong(&tree, path, report) };
        // What cannot be read keeps its place, so that the others keep theirs.
        let read = (0..).zip(items).map(|(index, item)| {
            let path = path.index(index);
            T::from_tree(item, &path, report).unwrap_or_else(|| T::stand_in(&path))
        });
        Some(read.collect())
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::new()
    }
}

/// A key of a table with free keys.
pub trait ConfigKey: FromTree + Ord {
    /// Remark to add about a key that is there already.
    const TWICE: &'static str = "";
}

impl ConfigKey for String {}

impl<K: ConfigKey, V: FromTree> FromTree for BTreeMap<K, V> {
    const EXPECTED: &'static str = "a table";

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        let Value::Table(entries) = tree.value else { return wrong(&tree, path, report) };
        let mut map = Self::new();
        for (name, tree) in entries {
            let path = path.key(&name);
            let key = Tree { value: Value::Text(name.clone()), file: tree.file.clone() };
            let key = K::from_tree(key, &path, report);
            if key.as_ref().is_some_and(|key| map.contains_key(key)) {
                report.report(&path, Finding::Twice { tree: &tree, note: K::TWICE });
            }
            let value = V::from_tree(tree, &path, report);
            map.extend(key.zip(value));
        }
        Some(map)
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::new()
    }
}
