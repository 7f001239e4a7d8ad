//! Where in a configuration something is.

use std::fmt;

/// A place, as a chain back to the root: `scorers[1].weight`.
#[derive(Debug, Clone, Copy)]
pub enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    pub fn key<'a>(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    pub fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }

    /// The text of a place below this one, whose own text is `rest`.
    #[cfg(feature = "serde")]
    pub fn join(&self, rest: &str) -> String {
        let dot = match (self, rest.chars().next()) {
            (Path::Root, _) | (_, None | Some('[')) => "",
            _ => ".",
        };
        format!("{self}{dot}{rest}")
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
