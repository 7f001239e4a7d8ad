//! Settings of the counting of local servers as data.

use std::sync::Arc;

use cupel::tokens::{
    Encoding, FormatOverhead, LocalFamily, SingleDigits, TokenCounter, shared_counter,
};
use cupel_json::LocalRules;
use serde::{Deserialize, Serialize};

/// Settings by which requests to a local server are counted.
///
/// ```
/// use cupel_audit::{LocalCountSettings, PlannerSettings};
///
/// let local = LocalCountSettings { encoding: Some("cl100k_base".to_owned()), ..Default::default() };
/// let settings = PlannerSettings { local: Some(local), ..PlannerSettings::default() };
/// assert!(settings.planner().is_ok());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalCountSettings {
    /// Name of the encoding: `o200k_base` or `cl100k_base`. Without one, texts are estimated.
    pub encoding: Option<String>,
    /// Set if each digit is a token.
    pub single_digits: bool,
    /// Tokens around each message, if they are not the usual ones.
    pub per_message: Option<i64>,
    /// Set if messages are counted by OpenAI's format, instead of that of open models.
    pub vendor_messages: bool,
    /// Definitions of tools: `json`, `indented` or `vendor`. `json` unless set.
    pub tools: Option<String>,
}

impl LocalCountSettings {
    /// Returns the counter and the rules.
    ///
    /// # Errors
    ///
    /// Names a setting that this version does not know.
    pub(crate) fn rules(&self) -> Result<(Arc<dyn TokenCounter>, LocalRules), String> {
        let mut counter: Arc<dyn TokenCounter> = match self.encoding.as_deref() {
            None => LocalFamily::Other.counter(),
            Some(name) => shared_counter(encoding(name)?),
        };
        if self.single_digits {
            counter = Arc::new(SingleDigits::new(counter));
        }
        let mut format =
            if self.vendor_messages { FormatOverhead::CHAT } else { FormatOverhead::LOCAL };
        if let Some(tokens) = self.per_message {
            format = format.with_per_message(tokens);
        }
        let rules = LocalRules::new(format);
        let rules = match self.tools.as_deref() {
            None | Some("json") => rules.json_tools(),
            Some("indented") => rules.indented_tools(4),
            Some("vendor") => rules.vendor_tools(),
            Some(other) => {
                return Err(format!("tools: {other:?}, expected json, indented or vendor"));
            }
        };
        Ok((counter, rules))
    }
}

/// Returns the encoding with a name.
///
/// # Errors
///
/// Lists the known names.
pub(crate) fn encoding(name: &str) -> Result<Encoding, String> {
    let known = [Encoding::O200k, Encoding::Cl100k];
    let encoding = known.into_iter().find(|encoding| encoding.name() == name);
    let encoding = encoding
        .ok_or_else(|| format!("count: {name:?}, expected estimate, o200k_base or cl100k_base"))?;
    if !encoding.is_built_in() {
        return Err(format!(
            "count: {name:?} needs the feature `tiktoken` of tower-cupel-audit, which is off"
        ));
    }
    Ok(encoding)
}
