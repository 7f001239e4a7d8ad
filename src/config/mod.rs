//! Reads settings from JSON, TOML and YAML files, and reports every mistake with its path.
//!
//! Policy files, budget contracts and the gateway's configuration are read this way. Use it for settings that
//! stand beside them in a file of your own. Constructors of scorers and slicers report with the same paths, so a
//! file and code follow the same rules.
//!
//! A [`Format`] parses a text into a [`Tree`]. [`FromTree`] reads a value from a tree, a table key by key through
//! [`Fields`]. Reading never stops at the first mistake: each one goes to a [`Report`].
#![cfg_attr(
    feature = "config",
    doc = "
```
use cupel::config::{Fields, Finding, Format, FromTree, Path, Report};

#[derive(Debug, PartialEq)]
struct Limits {
    calls: usize,
    name: String,
}

impl FromTree for Limits {
    const EXPECTED: &'static str = \"a table with calls and name\";

    fn from_fields(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self { calls: fields.required(\"calls\"), name: fields.or(\"name\", String::new()) })
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self { calls: 0, name: String::new() }
    }
}

struct Mistakes(Vec<String>);

impl Report for Mistakes {
    fn report(&mut self, path: &Path<'_>, found: Finding<'_>) {
        self.0.push(format!(\"{path}: {found:?}\"));
    }
}

let mut mistakes = Mistakes(Vec::new());
let tree = Format::Toml.parse(\"calls = 3\", \"limits.toml\")?;
let limits = Limits::from_tree(tree, &Path::Root, &mut mistakes);
assert_eq!(limits, Some(Limits { calls: 3, name: String::new() }));

// Both mistakes are reported: the type of `calls`, and the unknown key.
let tree = Format::Toml.parse(\"calls = true\\ncals = 3\", \"limits.toml\")?;
Limits::from_tree(tree, &Path::Root, &mut mistakes);
assert_eq!(mistakes.0.len(), 2);
# Ok::<(), String>(())
```
"
)]
// Some of it is for files only. Without the feature the module is private.
#![cfg_attr(not(feature = "config"), allow(dead_code, unreachable_pub))]

#[cfg(feature = "serde")]
mod fields;
#[cfg(feature = "config")]
mod format;
#[cfg(feature = "serde")]
pub(crate) mod limits;
mod problems;
#[cfg(feature = "serde")]
mod tree;
#[cfg(feature = "serde")]
mod values;

#[cfg(feature = "serde")]
pub(crate) use fields::wrong;
#[cfg(feature = "serde")]
pub use fields::{Fields, Finding, FromTree, Report, meant};
#[cfg(feature = "config")]
pub use format::{Format, read_file};
pub use problems::Path;
pub(crate) use problems::Problems;
#[cfg(feature = "serde")]
pub use tree::{Tree, Value};
#[cfg(feature = "serde")]
pub use values::ConfigKey;
#[cfg(feature = "serde")]
pub(crate) use values::plain;
