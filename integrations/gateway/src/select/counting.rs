//! Ways to count a request, as a rule for models says.

use std::sync::Arc;

use cupel::tokens::{
    Encoding, FormatOverhead, LocalFamily, SingleDigits, TokenCounter, shared_counter,
};
use cupel_audit::LocalCountSettings;
use cupel_json::{JsonAdapter, LocalRules};

use crate::config::{CountMethod, ModelRule, ToolCount};

/// Counter of a model's texts, and the rules of its server. Where one is missing the vendor's applies.
#[derive(Debug, Clone, Default)]
pub(super) struct Counting {
    counter: Option<Arc<dyn TokenCounter>>,
    local: Option<LocalRules>,
    /// The same as data; `None` if it comes from files.
    pub(super) settings: Option<LocalCountSettings>,
}

impl Counting {
    /// Counts as the rule says; `None` if it leaves that to the model's name.
    ///
    /// # Errors
    ///
    /// Returns why a tokenizer cannot be used.
    pub(super) fn of_rule(rule: &ModelRule) -> Result<Option<Self>, String> {
        if let Some(file) = &rule.tokenizer {
            return Self::of_files(rule, file).map(Some);
        }
        let Some(CountMethod::Exactly(encoding)) = rule.count else { return Ok(None) };
        if !encoding.is_built_in() {
            return Err(format!(
                "encoding {encoding}: this binary was built without the feature `tiktoken`; remove the \
                 setting, and models of OpenAI's are estimated with a margin"
            ));
        }
        let counter = shared_counter(encoding);
        let counter = match rule.single_digits {
            Some(true) => Arc::new(SingleDigits::new(counter)),
            _ => counter,
        };
        // An encoding of OpenAI's is mostly for a model of OpenAI's behind another name.
        let is_local = rule.tools == Some(ToolCount::Json) || rule.single_digits == Some(true);
        let format = if is_local { FormatOverhead::LOCAL } else { FormatOverhead::CHAT };
        let local = LocalRules::new(with_messages(rule, format));
        let local = if is_local { local } else { local.vendor_tools() };
        let settings = LocalCountSettings {
            encoding: Some(encoding.name().to_owned()),
            single_digits: rule.single_digits == Some(true),
            per_message: rule.tokens_per_message,
            vendor_messages: !is_local,
            tools: Some(tools_name(rule, if is_local { "json" } else { "vendor" })),
        };
        let (counter, local) = (Some(counter), Some(with_tools(rule, local)));
        Ok(Some(Self { counter, local, settings: Some(settings) }))
    }

    /// Counts as models of a family do, where the rule does not say otherwise.
    pub(super) fn of_family(rule: &ModelRule, family: LocalFamily) -> Self {
        let counter = match rule.single_digits {
            Some(true) => Arc::new(SingleDigits::new(shared_counter(Encoding::Cl100k))),
            Some(false) => shared_counter(Encoding::Cl100k),
            None => family.counter(),
        };
        let mut local = LocalRules::new(with_messages(rule, FormatOverhead::LOCAL));
        // Templates of Llama 3 write tools in lines; those of unknown models may do so, too.
        if family != LocalFamily::Qwen {
            local = local.indented_tools(4);
        }
        let is_llama = family == LocalFamily::Llama3;
        let is_counted = rule.single_digits.is_some() || is_llama || family == LocalFamily::Qwen;
        let settings = LocalCountSettings {
            encoding: is_counted.then(|| Encoding::Cl100k.name().to_owned()),
            single_digits: rule.single_digits.unwrap_or(family == LocalFamily::Qwen),
            per_message: rule.tokens_per_message,
            vendor_messages: false,
            tools: Some(tools_name(
                rule,
                if family == LocalFamily::Qwen { "json" } else { "indented" },
            )),
        };
        let (counter, local) = (Some(counter), Some(with_tools(rule, local)));
        Self { counter, local, settings: Some(settings) }
    }

    #[cfg(feature = "tokenizers")]
    fn of_files(rule: &ModelRule, file: &std::path::Path) -> Result<Self, String> {
        use cupel::tokens::ModelFiles;

        let mut files = ModelFiles::open(file).map_err(|error| error.to_string())?;
        if let Some(path) = &rule.chat_template {
            let name = path.display().to_string();
            let source = cupel::config::read_file(path, 4 << 20);
            let source = source.map_err(|error| format!("{name}: {error}"))?;
            let source = String::from_utf8(source).map_err(|error| format!("{name}: {error}"))?;
            files = files.with_template(name, &source).map_err(|error| error.to_string())?;
        }
        let local = match files.template() {
            Some(template) => LocalRules::of_template(template),
            None => LocalRules::new(with_messages(rule, FormatOverhead::LOCAL)).indented_tools(4),
        };
        let (counter, local) = (Some(files.counter()), Some(with_tools(rule, local)));
        Ok(Self { counter, local, settings: None })
    }

    #[cfg(not(feature = "tokenizers"))]
    fn of_files(_: &ModelRule, file: &std::path::Path) -> Result<Self, String> {
        let file = file.display();
        Err(format!("{file}: this binary was built without the feature `tokenizers`"))
    }

    /// Returns the adapter with this way to count.
    pub(super) fn apply<P>(&self, mut adapter: JsonAdapter<P>) -> JsonAdapter<P> {
        if let Some(counter) = &self.counter {
            adapter = adapter.counter(Arc::clone(counter));
        }
        match &self.local {
            Some(local) => adapter.local(local.clone()),
            None => adapter,
        }
    }
}

fn with_messages(rule: &ModelRule, format: FormatOverhead) -> FormatOverhead {
    match rule.tokens_per_message {
        Some(tokens) => format.with_per_message(tokens),
        None => format,
    }
}

fn with_tools(rule: &ModelRule, local: LocalRules) -> LocalRules {
    match rule.tools {
        Some(ToolCount::Json) => local.json_tools(),
        Some(ToolCount::OpenAi) => local.vendor_tools(),
        None => local,
    }
}

/// Returns the name of the rule by which tools count.
fn tools_name(rule: &ModelRule, otherwise: &str) -> String {
    match rule.tools {
        Some(ToolCount::Json) => "json",
        Some(ToolCount::OpenAi) => "vendor",
        None => otherwise,
    }
    .to_owned()
}
