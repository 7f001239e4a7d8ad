//! Where in a spec something is, and what is wrong there.

use std::fmt;

use super::PolicySpecError;

/// A place in a spec, as a chain back to the root: `scorers[1].weight`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    pub(super) fn key<'a>(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    pub(super) fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Path::Key(parent, key) if !is_plain(key) => write!(f, "{parent}[{key:?}]"),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
        }
    }
}

/// Whether a key reads well after a dot; kinds and tags may be any text.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// One thing that is wrong with a spec, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecProblem {
    /// The place, such as `scorers[1].weight`; empty for the spec as a whole.
    pub path: String,
    /// What was found there and what would be valid.
    pub message: String,
}

impl fmt::Display for SpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Collects problems, so that one look at a file finds all of them.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<SpecProblem>);

impl Problems {
    pub(super) fn add(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.0.push(SpecProblem { path: path.to_string(), message: message.into() });
    }

    /// The value, if nothing is wrong; what has no value has noted why.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, PolicySpecError> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(PolicySpecError::Invalid(self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_path_reads_like_code_and_quotes_odd_keys() {
        let scorers = Path::Root.key("scorers");
        let second = scorers.index(1);
        assert_eq!(second.key("weight").to_string(), "scorers[1].weight");
        let weights = second.key("weights");
        assert_eq!(weights.key("ToolOutput").to_string(), "scorers[1].weights.ToolOutput");
        assert_eq!(weights.key("a b.c").to_string(), r#"scorers[1].weights["a b.c"]"#);
        assert_eq!(Path::Root.key("").to_string(), r#"[""]"#);
    }
}
