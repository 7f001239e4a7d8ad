//! A tool of a request, and the reasons why tools stay.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Arc, LazyLock};

use foldhash::quality::RandomState;
use hashbrown::HashSet;

/// With a seed of its own, so that nobody can prepare definitions that collide.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// A tool that a request offers.
#[derive(Clone)]
#[must_use]
pub struct ToolCandidate {
    name: String,
    /// Names of the tools in it, where it is a group.
    inner: Vec<String>,
    definition: Arc<str>,
    read: fn(&str) -> String,
    tokens: i64,
    kept: Option<ToolReason>,
    identity: u64,
}

/// Reason why a tool is sent, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ToolReason {
    /// The API needs it, or runs it itself.
    Hosted,
    /// Its definition is sent only when the model looks for it.
    Deferred,
    /// The request says that the model is to choose it, or from it.
    Demanded,
    /// The caller keeps it: see [`ToolLimit::keep`](crate::model::ToolLimit::keep).
    Pinned,
    /// The history calls it.
    Called,
    /// The instructions name it.
    Instructions,
    /// It is among the best for the questions.
    Relevant,
    /// It is not sent: others were better, and the share of the window was full.
    LeftOut,
}

impl ToolReason {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hosted => "hosted",
            Self::Deferred => "deferred",
            Self::Demanded => "demanded",
            Self::Pinned => "pinned",
            Self::Called => "called",
            Self::Instructions => "instructions",
            Self::Relevant => "relevant",
            Self::LeftOut => "left out",
        }
    }
}

impl fmt::Display for ToolReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl ToolCandidate {
    /// A tool by its name, the text of its description and parameters, and the tokens of its definition.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>, tokens: i64) -> Self {
        Self::defined(name, text, str::to_owned, tokens)
    }

    /// A tool by its name and its definition in the API's own format. `read` gives the text of the
    /// description and of the parameters. It is called only for a set of tools that was not seen lately.
    pub fn defined(
        name: impl Into<String>,
        definition: impl Into<Arc<str>>,
        read: fn(&str) -> String,
        tokens: i64,
    ) -> Self {
        let (name, definition) = (name.into(), definition.into());
        let mut hasher = HASHER.build_hasher();
        hasher.write(name.as_bytes());
        hasher.write(definition.as_bytes());
        let identity = hasher.finish();
        Self { name, inner: Vec::new(), definition, read, tokens, kept: None, identity }
    }

    /// Keeps this tool in any case; the first reason stands.
    pub fn keep(mut self, reason: ToolReason) -> Self {
        self.kept.get_or_insert(reason);
        self
    }

    /// Adds the name of a tool in this group of tools. A call of it is a call of the group.
    pub fn inner(mut self, name: impl Into<String>) -> Self {
        self.inner.push(name.into());
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its own name, and those of the tools in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.inner.iter().map(String::as_str))
    }

    /// Tokens of the definition.
    #[must_use]
    pub fn tokens(&self) -> i64 {
        self.tokens
    }

    /// The reason why it stays in any case.
    #[must_use]
    pub fn kept(&self) -> Option<ToolReason> {
        self.kept
    }

    /// Text of the description and of the parameters.
    #[must_use]
    pub fn text(&self) -> String {
        (self.read)(&self.definition)
    }

    /// Identity of a set of tools in this order.
    pub(super) fn identity_of(tools: &[Self]) -> u64 {
        let mut hasher = HASHER.build_hasher();
        tools.iter().for_each(|tool| hasher.write_u64(tool.identity));
        hasher.finish()
    }
}

impl fmt::Debug for ToolCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCandidate")
            .field("name", &self.name)
            .field("tokens", &self.tokens)
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

/// Keeps the tools that a text names, such as instructions.
///
/// A name that is also an ordinary word, such as `find`, counts only in quotes or before a bracket.
pub fn keep_named(tools: &mut [ToolCandidate], text: &str) {
    if tools.is_empty() || text.is_empty() {
        return;
    }
    let named = named(text);
    for tool in tools.iter_mut().filter(|tool| tool.kept.is_none()) {
        if tool.names().any(|name| named.contains(name)) {
            tool.kept = Some(ToolReason::Instructions);
        }
    }
}

/// Words of a text that may be names of tools.
fn named(text: &str) -> HashSet<Cow<'_, str>, foldhash::fast::FixedState> {
    let mut found = HashSet::default();
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
    let mut before = None;
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        before = rest.get(..start).and_then(|gap| gap.chars().next_back()).or(before);
        rest = rest.get(start..).unwrap_or_default();
        let end = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let next = after.chars().next();
        let is_quoted = matches!(before, Some('`' | '"' | '\'' | '<')) || next == Some('(');
        let word = word.trim_matches(['.', '-']);
        let is_ordinary = word.chars().all(char::is_lowercase);
        if is_quoted || !is_ordinary {
            found.insert(Cow::Borrowed(word));
        }
        before = None;
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Vec<&'static str> {
        let names = ["find", "Read", "get_user", "git.log", "web-search", "add"];
        let mut tools = names.map(|name| ToolCandidate::new(name, "", 1));
        keep_named(&mut tools, text);
        let kept = tools.iter().zip(names).filter(|(tool, _)| tool.kept().is_some());
        kept.map(|(_, name)| name).collect()
    }

    #[test]
    fn names_in_instructions_are_found_as_whole_words() {
        assert_eq!(kept("Call get_user first, then Read."), ["Read", "get_user"]);
        assert_eq!(kept("Use git.log; never use web-search."), ["git.log", "web-search"]);
        assert_eq!(kept("Reading get_users is fine."), [""; 0]);
        assert!(kept("").is_empty());
    }

    #[test]
    fn an_ordinary_word_is_a_name_only_in_quotes_or_before_a_bracket() {
        assert_eq!(kept("Please find out, and add what you find."), [""; 0]);
        assert_eq!(kept("Use `find`, or add(1, 2)."), ["find", "add"]);
    }
}
