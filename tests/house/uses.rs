//! What a source file uses: rooms of the crate, other crates, features.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One thing a source file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Use {
    /// The first name after the crate's root, however the path gets there.
    Room(String),
    /// The first name of a path that is relative to nothing: a crate, or a name in scope.
    Crate(String),
    /// A feature of the crate that decides what is compiled.
    Feature(String),
}

/// Everything a file names outside of comments, docs and unit tests.
pub(crate) fn uses(path: &Path, text: &str) -> Vec<Use> {
    let file = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let folders = path.components().count();
    let is_own_folder = path.ends_with("mod.rs") || path == Path::new("lib.rs");
    let mut reader = Reader { depth: folders - usize::from(is_own_folder), found: Vec::new() };
    reader.read(file, 0);
    reader.found
}

struct Reader {
    /// How many modules are around the code that is read, its own among them.
    depth: usize,
    found: Vec<Use>,
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
    /// Reads tokens; `above` is how many modules up the braces around them have led already.
    fn read(&mut self, tokens: TokenStream, above: usize) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at + 1..];
            let continues_path = continues_path(&tokens, at);
            at += 1;
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    at += self.read_attribute(rest);
                }
                TokenTree::Ident(name) if name == "mod" => {
                    if let Some(TokenTree::Group(body)) = rest.get(1) {
                        self.depth += 1;
                        self.read(body.stream(), 0);
                        self.depth -= 1;
                        at += 2;
                    }
                }
                TokenTree::Ident(name) if is_path_sep(rest) && !continues_path => {
                    at += self.read_path(&name.to_string(), rest, above);
                }
                TokenTree::Ident(name) if name == "feature" && is_punct(rest.first(), '=') => {
                    if let Some(TokenTree::Literal(value)) = rest.get(1) {
                        let value = value.to_string();
                        self.found.push(Use::Feature(value.trim_matches('"').to_owned()));
                    }
                }
                TokenTree::Group(group) => self.read(group.stream(), 0),
                // Derives take paths as text: `serde(with = "crate::room::module")`.
                TokenTree::Literal(text) if text.to_string().starts_with("\"crate::") => {
                    let text = text.to_string();
                    if let Ok(path) = text.trim_matches('"').parse() {
                        self.read(path, 0);
                    }
                }
                _ => {}
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
    fn read_path(&mut self, first: &str, rest: &[TokenTree], above: usize) -> usize {
        let (mut up, mut skip) = match first {
            "crate" => (self.depth, 2),
            "super" => (above + 1, 2),
            "self" => (above, 2),
            name => {
                self.found.push(Use::Crate(name.to_owned()));
                return 2;
            }
        };
        while ident(rest.get(skip)).as_deref() == Some("super") && is_path_sep(&rest[skip + 1..]) {
            up += 1;
            skip += 3;
        }
        match rest.get(skip) {
            Some(TokenTree::Group(group)) if up < self.depth => {
                self.read(group.stream(), up);
                skip + 1
            }
            Some(TokenTree::Group(group)) => {
                self.read_rooms(group.stream());
                skip + 1
            }
            Some(token) if up >= self.depth => {
                self.found.push(Use::Room(token.to_string()));
                skip + 1
            }
            _ => skip,
        }
    }

    /// Reads `{a::b, c}` after the crate's root.
    fn read_rooms(&mut self, group: TokenStream) {
        let tokens: Vec<TokenTree> = group.into_iter().collect();
        let entries = tokens.split(|token| is_punct(Some(token), ','));
        let rooms = entries.filter_map(|entry| entry.first().map(ToString::to_string));
        self.found.extend(rooms.map(Use::Room));
    }
}

/// Whether a token goes on with a path that began before it; `use ::name` begins one.
fn continues_path(tokens: &[TokenTree], at: usize) -> bool {
    at >= 3
        && is_path_sep(&tokens[at - 2..])
        && match &tokens[at - 3] {
            TokenTree::Ident(name) => name != "use",
            other => is_punct(Some(other), '>'),
        }
}
