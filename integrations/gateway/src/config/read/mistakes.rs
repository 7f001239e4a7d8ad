//! Everything that is wrong with a configuration.

use cupel::config::{Found, Path, Report, meant};

/// Mistakes, each with its path.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<String>);

impl Mistakes {
    pub(super) fn add(&mut self, path: &Path<'_>, message: impl AsRef<str>) {
        self.add_at(&path.to_string(), message.as_ref());
    }

    pub(super) fn add_at(&mut self, path: &str, message: &str) {
        self.0.push(format!("{path}: {message}"));
    }

    /// Adds lines, but those about something that is known to be wrong already.
    pub(super) fn add_others(&mut self, lines: Vec<String>) {
        let about = |line: &str| line.split([':', '[', '.']).next().unwrap_or_default().to_owned();
        let known: Vec<String> = self.0.iter().map(|line| about(line)).collect();
        self.0.extend(lines.into_iter().filter(|line| !known.contains(&about(line))));
    }

    /// Tokens, where they are given, are more than none.
    pub(super) fn positive(&mut self, path: &Path<'_>, tokens: Option<i64>) {
        if let Some(tokens @ ..=0) = tokens {
            self.add(path, format!("must be at least 1, got {tokens}"));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.0
    }
}

impl Report for Mistakes {
    fn report(&mut self, path: &Path<'_>, found: Found<'_>) {
        let message = match found {
            Found::Missing { expected, .. } => format!("missing, expected {expected}"),
            Found::Wrong { tree, expected } => format!("must be {expected}, got {tree}"),
            Found::NoSuchPart { name, known, .. } => {
                format!("got {name:?}, {}", one_of(name, known))
            }
            Found::Unknown { key, known, .. } => format!("unknown key, {}", one_of(key, known)),
            Found::Twice { note, .. } => format!("the key is given twice, expected once{note}"),
        };
        self.add(path, message);
    }
}

/// What would be valid, with the one that was probably meant.
pub(super) fn one_of(word: &str, known: &[&str]) -> String {
    let meant = meant(word, known).map(|meant| format!("; did you mean {meant}?"));
    format!("expected one of {}{}", known.join(", "), meant.unwrap_or_default())
}
