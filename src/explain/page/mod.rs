//! A selection as one HTML file.

mod data;

use std::fmt;

use super::Explanation;
use super::words::Texts;
use data::PageData;

/// The page's style sheet, for a server that hands it out by itself.
pub const STYLE: &str = include_str!("page.css");

/// The page's script, for a server that hands it out by itself.
pub const SCRIPT: &str = include_str!("page.js");

/// [`STYLE`] as a content security policy names it.
pub const STYLE_HASH: &str = "sha256-pLq/qnVado6RysPBH0GwlWjB4xb0rdN/Dn+yDT5//n8=";

/// [`SCRIPT`] as a content security policy names it.
pub const SCRIPT_HASH: &str = "sha256-k3fUn2goi9zsPL9+28r8BytnpcnO4guTOGwEI+3gPds=";

/// The HTML form of an [`Explanation`], made by [`Explanation::page`] and written with `{}`.
///
/// One file that loads nothing else. Its content security policy allows no script but its own, and all
/// content is escaped.
///
/// ```
/// use cupel::explain::Explanation;
/// use cupel::{ContextBudget, ContextItem, Policy};
///
/// let budget = ContextBudget::builder(60).build()?;
/// let items = [ContextItem::new("</script><script>alert(1)</script>", 40)?];
/// let explanation = Explanation::new(Policy::rag().dry_run(&items, &budget)?).budget(budget);
///
/// let page = explanation.page().to_string();
/// assert!(page.starts_with("<!doctype html>"));
/// assert!(!page.contains("<script>alert"));
/// let without = explanation.page().without_texts().to_string();
/// assert!(!without.contains("alert"));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a page is written with {}"]
pub struct ReportPage<'a> {
    explanation: &'a Explanation,
    previous: Option<&'a Explanation>,
    texts: Texts,
    text_limit: usize,
    assets: Assets,
    home: Option<(String, String)>,
}

/// Place of the page's style and script.
#[derive(Debug, Clone)]
enum Assets {
    /// In it, allowed by their hashes.
    Hashed,
    /// In it, allowed by the policy that the caller sends.
    Nonce(String),
    /// From these addresses.
    Linked { style: String, script: String },
}

impl Explanation {
    /// The HTML file.
    pub fn page(&self) -> ReportPage<'_> {
        ReportPage::new(self)
    }
}

impl<'a> ReportPage<'a> {
    /// Number of characters of a text that are shown unless set.
    pub const TEXT_LIMIT: usize = 20_000;

    pub(super) fn new(explanation: &'a Explanation) -> Self {
        Self {
            explanation,
            previous: None,
            texts: Texts(true),
            text_limit: Self::TEXT_LIMIT,
            assets: Assets::Hashed,
            home: None,
        }
    }

    /// Shows what changed since this call.
    pub fn previous(mut self, previous: impl Into<Option<&'a Explanation>>) -> Self {
        self.previous = previous.into();
        self
    }

    /// Leaves out the texts, and all that holds or quotes them: what displaced or duplicated an
    /// item, metadata, tags, matched words, errors of sources. The title stays: it is the caller's.
    pub fn without_texts(mut self) -> Self {
        self.texts = Texts(false);
        self
    }

    /// Shows so many characters of each text, and says how many are left out.
    pub fn text_limit(mut self, characters: usize) -> Self {
        self.text_limit = characters;
        self
    }

    /// Marks style and script with a nonce, for a server that sends a content security policy; the
    /// page then has none of its own.
    pub fn nonce(mut self, nonce: impl Into<String>) -> Self {
        self.assets = Assets::Nonce(nonce.into());
        self
    }

    /// Links to [`STYLE`] and [`SCRIPT`] at these addresses instead of having them in the page, for
    /// a server whose content security policy allows only its own files.
    pub fn assets(mut self, style: impl Into<String>, script: impl Into<String>) -> Self {
        self.assets = Assets::Linked { style: style.into(), script: script.into() };
        self
    }

    /// Puts a link above the page, such as one to a list of calls.
    pub fn home(mut self, address: impl Into<String>, label: impl Into<String>) -> Self {
        self.home = Some((address.into(), label.into()));
        self
    }

    /// Data of the page, as JSON that can stand inside a `<script>` element.
    pub fn data(&self) -> String {
        let data = PageData::of(self.explanation, self.previous, self.texts, self.text_limit);
        // Strings and numbers: there is nothing that JSON could not hold.
        escape_json(&serde_json::to_string(&data).unwrap_or_default())
    }

    /// Body of the page, with the data: for a page of the caller's own that has [`STYLE`] and
    /// [`SCRIPT`].
    pub fn fragment(&self) -> String {
        let text = self.explanation.text().previous(self.previous);
        let text = if self.texts.0 { text } else { text.without_texts() };
        format!(
            "<div id=\"cupel\"><noscript><pre>{}</pre></noscript></div>\n\
             <script type=\"application/json\" id=\"cupel-data\">{}</script>\n",
            escape_html(&text.to_string()),
            self.data(),
        )
    }

    /// The elements of the style sheet and of the script.
    fn style_and_script(&self) -> (String, String) {
        match &self.assets {
            Assets::Hashed => (
                format!(
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                     style-src '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
                     form-action 'none'\">\n<style>{STYLE}</style>"
                ),
                format!("<script>{SCRIPT}</script>"),
            ),
            Assets::Nonce(nonce) => {
                let nonce = escape_html(nonce);
                let style = format!("<style nonce=\"{nonce}\">{STYLE}</style>");
                (style, format!("<script nonce=\"{nonce}\">{SCRIPT}</script>"))
            }
            Assets::Linked { style, script } => (
                format!("<link rel=\"stylesheet\" href=\"{}\">", escape_html(style)),
                format!("<script src=\"{}\" defer></script>", escape_html(script)),
            ),
        }
    }
}

impl fmt::Display for ReportPage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = self.explanation.title.as_deref().unwrap_or("A selection, explained");
        f.write_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")?;
        f.write_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")?;
        f.write_str("<meta name=\"color-scheme\" content=\"light dark\">\n")?;
        f.write_str("<meta name=\"referrer\" content=\"no-referrer\">\n")?;
        let (style, script) = self.style_and_script();
        writeln!(f, "<title>{}</title>\n{style}\n</head>\n<body>", escape_html(title))?;
        if let Some((address, label)) = &self.home {
            let (address, label) = (escape_html(address), escape_html(label));
            writeln!(f, "<nav class=\"home\"><a href=\"{address}\">{label}</a></nav>")?;
        }
        writeln!(f, "{}{script}\n</body>\n</html>", self.fragment())
    }
}

/// JSON whose strings cannot end the element they stand in, nor a line of a script.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Text for an element or a quoted attribute.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
        .replace('\u{2028}', "&#8232;")
        .replace('\u{2029}', "&#8233;")
        // A parser would replace it, and complain.
        .replace('\0', "\u{fffd}")
}
