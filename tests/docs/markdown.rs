//! Links, anchors and definitions of a Markdown page.

use std::collections::BTreeMap;

/// A page without its code.
pub(crate) struct Markdown {
    text: String,
    /// Texts between backticks.
    code_spans: Vec<String>,
    /// Anchors of the headings.
    anchors: Vec<String>,
}

impl Markdown {
    pub(crate) fn read(page: &str) -> Self {
        let mut text = String::new();
        let (mut anchors, mut code_spans) = (Vec::new(), Vec::new());
        let mut is_code = false;
        for line in page.lines() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                if let Some(heading) = line.strip_prefix('#') {
                    anchors.push(anchor(heading.trim_start_matches('#').trim()));
                }
                code_spans.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
                text.push_str(&without_code_spans(line));
                text.push('\n');
            }
        }
        Self { text, code_spans, anchors }
    }

    pub(crate) fn has_anchor(&self, anchor: &str) -> bool {
        self.anchors.iter().any(|known| known == anchor)
    }

    /// Names of types, and names in paths like `Type::method`, between backticks.
    pub(crate) fn code_names(&self) -> impl Iterator<Item = &str> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let paths = self
            .code_spans
            .iter()
            .flat_map(move |span| span.split(move |c| !is_name(c) && c != ':'));
        let is_type = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.contains(|c: char| c.is_ascii_lowercase())
        };
        let names = paths.filter(move |path| path.contains("::") || is_type(path));
        names.flat_map(|path| path.split(':')).filter(|name| !name.is_empty())
    }

    /// Targets of the links whose target is written in the link.
    pub(crate) fn inline(&self) -> impl Iterator<Item = &str> {
        self.text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
    }

    /// Targets of `[name]: target`, by name.
    pub(crate) fn definitions(&self) -> BTreeMap<&str, &str> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
        lines.map(|(name, target)| (name, target.trim())).collect()
    }

    /// Names of the links of the form `[text][name]`.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.text.split("][").skip(1).filter_map(|rest| Some(rest.split_once(']')?.0))
    }
}

/// A code span may hold brackets; its text still names a heading or a link.
fn without_code_spans(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { "code" } else { part }).collect()
}

/// The anchor of a heading, as registries and forges make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn finds_links_outside_code() {
    let page =
        "# A `b` heading: yes\n[x](a.md) `[n](b.md)` [y][c]\n```\n[z](d.md)\n```\n[c]: e.md\n";
    let page = Markdown::read(page);
    assert_eq!(page.inline().collect::<Vec<_>>(), ["a.md"]);
    assert_eq!(page.names().collect::<Vec<_>>(), ["c"]);
    assert_eq!(page.definitions(), BTreeMap::from([("c", "e.md")]));
    assert!(page.has_anchor("a-b-heading-yes"));
    let page = Markdown::read("`Type::method(x)` `word` `UPPER` `.call(Other)` Plain");
    assert_eq!(page.code_names().collect::<Vec<_>>(), ["Type", "method", "Other"]);
}
