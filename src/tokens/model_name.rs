//! A model's name taken apart.

/// A model's name as people write it: with a vendor before it, or as OpenAI names what was tuned.
///
/// ```
/// use cupel::tokens::ModelName;
///
/// let name = ModelName::parse("openai/ft:gpt-4o-2024-08-06:acme::8xYz");
/// assert_eq!((name.vendor(), name.model()), (Some("openai"), "gpt-4o-2024-08-06"));
/// // A variant goes on with `-`: a date, a size.
/// assert!(name.is_a("gpt-4o") && !name.is_a("gpt-4"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    written: &'a str,
    vendor: Option<&'a str>,
    model: &'a str,
}

impl<'a> ModelName<'a> {
    /// Takes a name apart; any text is one.
    #[must_use]
    pub fn parse(written: &'a str) -> Self {
        let (vendor, name) = match written.split_once('/') {
            Some((vendor, name)) => (Some(vendor), name),
            None => (None, written),
        };
        let model = match name.strip_prefix("ft:") {
            Some(tuned) => tuned.split(':').next().unwrap_or(tuned),
            None => name,
        };
        Self { written, vendor, model }
    }

    /// What stands before the first `/`.
    #[must_use]
    pub fn vendor(&self) -> Option<&'a str> {
        self.vendor
    }

    /// The name without its vendor; of a tuned model, the name of what was tuned.
    #[must_use]
    pub fn model(&self) -> &'a str {
        self.model
    }

    /// Whether it is the model `family` or a variant of it. Only `openai` may stand before it
    /// when `family` does not say so.
    #[must_use]
    pub fn is_a(&self, family: &str) -> bool {
        let is_variant = |name: &str| {
            let rest = name.strip_prefix(family);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let is_openai = matches!(self.vendor, None | Some("openai"));
        is_variant(self.written) || is_openai && is_variant(self.model)
    }
}
