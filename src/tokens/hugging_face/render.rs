//! Chat templates in Jinja, rendered as Hugging Face's transformers and vLLM render them.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value, context};
use serde::Serialize as _;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::tokens::TokenCounter;

/// Name of the template in its environment, and of the one for requests with tools.
const CHAT: &str = "chat";
const TOOLS: &str = "tools";

/// A model's templates, and the counter of what they write.
pub(super) struct Renderer {
    environment: Environment<'static>,
    special: SpecialTokens,
    counter: Arc<dyn TokenCounter>,
}

/// Special tokens that templates write.
#[derive(Debug, Clone, Default)]
pub(super) struct SpecialTokens {
    pub(super) bos: String,
    pub(super) eos: String,
    /// Set if the server adds the first token where the template does not write it.
    pub(super) adds_bos: bool,
}

impl Renderer {
    /// Reads the template for plain requests, and the one for requests with tools.
    pub(super) fn new(
        sources: [&str; 2],
        special: SpecialTokens,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, String> {
        let mut environment = environment();
        for (name, source) in [CHAT, TOOLS].into_iter().zip(sources) {
            // Such blocks only mark what is trained on.
            let marks = [
                "{% generation %}",
                "{% endgeneration %}",
                "{%- generation %}",
                "{%- endgeneration %}",
            ];
            let source = marks.iter().fold(source.to_owned(), |text, mark| text.replace(mark, ""));
            environment.add_template_owned(name, source).map_err(|error| error.to_string())?;
        }
        Ok(Self { environment, special, counter })
    }

    /// Text of messages as the model reads them, with the start of the answer or without.
    pub(super) fn text(
        &self,
        messages: &Value,
        tools: Option<Value>,
        answer: bool,
    ) -> Result<String, String> {
        let name = if tools.is_some() { TOOLS } else { CHAT };
        let template = self.environment.get_template(name).map_err(|error| error.to_string())?;
        let SpecialTokens { bos, eos, .. } = &self.special;
        let tools = tools.unwrap_or(Value::from(()));
        let values = context! {
            messages, tools, add_generation_prompt => answer, bos_token => bos, eos_token => eos,
        };
        template.render(values).map_err(|error| error.to_string())
    }

    /// Tokens of that text.
    pub(super) fn tokens(
        &self,
        messages: &Value,
        tools: Option<Value>,
        answer: bool,
    ) -> Result<i64, String> {
        let text = self.text(messages, tools, answer)?;
        let SpecialTokens { bos, adds_bos, .. } = &self.special;
        let bos = *adds_bos && !bos.is_empty() && !text.starts_with(bos.as_str());
        Ok(self.count(&text).saturating_add(i64::from(bos)))
    }

    /// Tokens of a text alone.
    pub(super) fn count(&self, text: &str) -> i64 {
        self.counter.count(text)
    }
}

/// Steps that a template may take. Long sets of tools take some thousands.
const FUEL: u64 = 20_000_000;

/// Sets up everything that chat templates use.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    // The signs of Jinja's own syntax do not contradict each other.
    environment.set_syntax(syntax.unwrap_or_default());
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_fuel(Some(FUEL));
    environment.add_filter("tojson", tojson);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_function("strftime_now", |format: String| long_date(&format));
    environment
}

/// A date with long names: a count must not depend on the day.
fn long_date(format: &str) -> Result<String, Error> {
    let date =
        chrono::NaiveDate::from_ymd_opt(2026, 9, 30).and_then(|day| day.and_hms_opt(23, 59, 59));
    let mut text = String::new();
    let written = date.map(|date| write!(text, "{}", date.format(format)));
    match written {
        Some(Ok(())) => Ok(text),
        _ => Err(Error::new(ErrorKind::InvalidOperation, format!("no date format: {format}"))),
    }
}

/// Writes JSON as Python does, not escaped for HTML.
#[allow(clippy::needless_pass_by_value)] // minijinja gives a filter its settings by value
fn tojson(value: &Value, _: Rest<Value>, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    // Order and ASCII are settings of Python's; neither changes a count by much.
    options.get::<Option<Value>>("ensure_ascii")?;
    options.get::<Option<Value>>("sort_keys")?;
    options.get::<Option<Value>>("separators")?;
    let mut json = Vec::new();
    let written = match indent {
        Some(indent) => {
            let indent = " ".repeat(indent.min(16));
            let formatter = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut json, formatter))
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut json, PythonFormatter)),
    };
    written.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    Ok(Value::from_safe_string(String::from_utf8_lossy(&json).into_owned()))
}

/// JSON with a space after each comma and colon.
#[derive(Debug, Clone, Copy)]
struct PythonFormatter;

impl Formatter for PythonFormatter {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}
