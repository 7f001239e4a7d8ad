//! Names in a source file: its items, its imports, the paths it writes and the features it asks for.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Names from the outside in: of a module, or of something in it.
pub(crate) type Names = Vec<String>;

/// A path as a file writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The module that it stands in.
    pub(crate) module: Names,
    /// Its names, from the crate's root if `from_root`; otherwise from a crate or a name in scope.
    pub(crate) names: Names,
    pub(crate) from_root: bool,
}

/// One name that a `use` brings into a module; `*` for all names of another.
#[derive(Debug, Clone)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Written,
    pub(crate) is_public: bool,
}

/// Everything a file names outside of comments, docs and unit tests.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// The items it defines, with their modules in front.
    pub(crate) items: BTreeSet<Names>,
    pub(crate) imports: Vec<Import>,
    /// The paths outside of `use`.
    pub(crate) paths: Vec<Written>,
    /// The single names outside of `use`, with their modules in front.
    pub(crate) mentions: BTreeSet<Names>,
    /// The features of the crate that decide what is compiled.
    pub(crate) features: Vec<String>,
}

impl Uses {
    /// Reads a file by its path below `src`.
    pub(crate) fn read(path: &Path, text: &str) -> Uses {
        let file = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = Reader { module: module(path), found: Uses::default() };
        reader.read(file, true);
        reader.found
    }

    /// Every path of the file, in a `use` or not.
    pub(crate) fn all_paths(&self) -> impl Iterator<Item = &Written> {
        self.paths.iter().chain(self.imports.iter().map(|import| &import.path))
    }
}

/// The module of a file.
pub(crate) fn module(path: &Path) -> Names {
    let mut names: Names =
        path.with_extension("").iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

pub(crate) fn join(module: &[String], name: &str) -> Names {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

struct Reader {
    /// The module of the code that is read.
    module: Names,
    found: Uses,
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token? {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_path_sep(tokens: &[TokenTree]) -> bool {
    is_punct(tokens.first(), ':') && is_punct(tokens.get(1), ':')
}

impl Reader {
    /// Reads tokens; items are defined among them if they stand at the top of a module.
    fn read(&mut self, tokens: TokenStream, at_top: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let (before, rest) = (&tokens[..at], &tokens[at + 1..]);
            at += 1;
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    at += self.read_attribute(rest);
                }
                TokenTree::Ident(name) if name == "mod" => {
                    if let Some(TokenTree::Group(body)) = rest.get(1) {
                        self.module.push(rest[0].to_string());
                        self.read(body.stream(), true);
                        self.module.pop();
                    }
                    at += 2;
                }
                TokenTree::Ident(name) if name == "use" && !is_punct(rest.first(), '<') => {
                    let end = rest.iter().position(|token| is_punct(Some(token), ';'));
                    let tree = &rest[..end.unwrap_or(rest.len())];
                    self.read_use(tree, &[], is_public(before));
                    at += tree.len();
                }
                TokenTree::Ident(name) if name == "feature" && is_punct(rest.first(), '=') => {
                    if let Some(TokenTree::Literal(value)) = rest.get(1) {
                        self.found.features.push(value.to_string().trim_matches('"').to_owned());
                    }
                }
                TokenTree::Ident(name) => {
                    let name = name.to_string();
                    if let Some(item) = defined(&name, rest).filter(|_| at_top) {
                        self.found.items.insert(join(&self.module, &item));
                        at += 1 + usize::from(name == "macro_rules");
                    } else if is_path_sep(rest) && !continues_path(before) {
                        at += self.read_path(name, rest);
                    } else {
                        self.found.mentions.insert(join(&self.module, &name));
                    }
                }
                // What a macro is given, or becomes, at the top of a module may be items.
                TokenTree::Group(group) => {
                    self.read(group.stream(), at_top && is_of_macro(before));
                }
                // Derives take paths as text: `serde(with = "crate::room::module")`.
                TokenTree::Literal(text) => {
                    let text = text.to_string();
                    let path = text.trim_matches('"');
                    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
                    if path.contains("::") && path.chars().all(is_part) {
                        self.read(path.parse().unwrap_or_default(), false);
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    /// Reads the attribute after a `#`; answers how many tokens to skip.
    fn read_attribute(&mut self, rest: &[TokenTree]) -> usize {
        let Some(TokenTree::Group(attribute)) = rest.first() else { return 0 };
        match attribute.stream().to_string().replace(' ', "").as_str() {
            // A unit test may use what it likes: skip the item, to its braces or its semicolon.
            "cfg(test)" => {
                let has_body = ident(rest.get(1)).as_deref() != Some("use");
                let end = rest.iter().position(|token| match token {
                    TokenTree::Group(group) => has_body && group.delimiter() == Delimiter::Brace,
                    other => is_punct(Some(other), ';'),
                });
                end.map_or(rest.len(), |end| end + 1)
            }
            text if text.starts_with("doc=") => 1,
            _ => 0,
        }
    }

    /// Reads a path from its first name on; answers how many tokens to skip.
    fn read_path(&mut self, first: String, rest: &[TokenTree]) -> usize {
        let mut names = vec![first];
        let mut skip = 0;
        while is_path_sep(&rest[skip..]) {
            let Some(name) = ident(rest.get(skip + 2)) else { break };
            names.push(name);
            skip += 3;
        }
        let path = self.written(&names);
        self.found.paths.push(path);
        skip
    }

    /// Reads what is imported below the names before it: `a::b as c`, `a::{b, c::*}`.
    fn read_use(&mut self, tree: &[TokenTree], before: &[String], is_public: bool) {
        let mut names = before.to_vec();
        let mut alias = None;
        for (at, token) in tree.iter().enumerate() {
            match token {
                TokenTree::Ident(name) if name == "as" => {
                    alias = ident(tree.get(at + 1));
                    break;
                }
                TokenTree::Ident(name) => names.push(name.to_string()),
                TokenTree::Punct(star) if star.as_char() == '*' => names.push("*".to_owned()),
                TokenTree::Group(group) => {
                    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                    for entry in tokens.split(|token| is_punct(Some(token), ',')) {
                        if !entry.is_empty() {
                            self.read_use(entry, &names, is_public);
                        }
                    }
                    return;
                }
                _ => {}
            }
        }
        if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
            names.pop();
        }
        let path = self.written(&names);
        if let Some(name) = alias.or_else(|| path.names.last().cloned()) {
            self.found.imports.push(Import { name, path, is_public });
        }
    }

    /// A path from the crate's root, if it begins there or at the module that it stands in.
    fn written(&self, names: &[String]) -> Written {
        let first = names[0].as_str();
        let mut from_root = if first == "crate" { Names::new() } else { self.module.clone() };
        if !matches!(first, "crate" | "self" | "super") {
            return Written {
                module: self.module.clone(),
                names: names.to_vec(),
                from_root: false,
            };
        }
        for name in names {
            match name.as_str() {
                "super" => _ = from_root.pop(),
                "crate" | "self" => {}
                name => from_root.push(name.to_owned()),
            }
        }
        Written { module: self.module.clone(), names: from_root, from_root: true }
    }
}

/// The name that an item's first tokens define.
fn defined(keyword: &str, rest: &[TokenTree]) -> Option<String> {
    match keyword {
        "struct" | "enum" | "union" | "trait" | "type" | "fn" | "static" => ident(rest.first()),
        "const" => ident(rest.first()).filter(|name| name != "fn"),
        "macro_rules" => ident(rest.get(1)),
        _ => None,
    }
}

/// Returns true if the tokens before a group belong to a macro: `name! {`, `macro_rules! name {`,
/// `=> {`.
fn is_of_macro(before: &[TokenTree]) -> bool {
    let nth_last = |n: usize| before.len().checked_sub(n).and_then(|at| before.get(at));
    is_punct(nth_last(1), '!') || is_punct(nth_last(2), '!') || is_punct(nth_last(1), '>')
}

/// Returns true if the tokens before a `use` make it a re-export.
fn is_public(before: &[TokenTree]) -> bool {
    let visible = match before {
        [.., keyword, TokenTree::Group(_)] | [.., keyword] => ident(Some(keyword)),
        [] => None,
    };
    visible.as_deref() == Some("pub")
}

/// Returns true if the tokens before a name begin its path.
fn continues_path(before: &[TokenTree]) -> bool {
    before.split_last_chunk::<2>().is_some_and(|(first, sep)| {
        let continues = ident(first.last()).is_some() || is_punct(first.last(), '>');
        is_path_sep(sep) && continues
    })
}
