//! Tokens of a function's definition, by the rule of OpenAI's cookbook: its steps at every level of the
//! schema.
//!
//! The rule, "How to count tokens with tiktoken", section 7:
//! <https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken>. It is written for
//! flat parameters; nested ones are counted by the same steps at each level.

use serde_json::Value;

use super::{Encoding, TokenCounter};

/// A schema deeper than this is counted as JSON from there on.
const DEEPEST: usize = 64;

/// Keywords the steps below have counted, or that do not reach the model.
const COUNTED: &[&str] = &[
    "type",
    "description",
    "enum",
    "properties",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "$defs",
    "definitions",
    "required",
    "additionalProperties",
    "strict",
    "$schema",
];

/// The prices of the rule of OpenAI's
/// [cookbook](https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken) for the definitions
/// of tools.
///
/// For one large set of tools it gives 1,438 tokens, OpenAI's own rendering is about 1,146, and the JSON
/// has 1,979.
///
/// ```
/// use cupel::tokens::{ToolPrices, counter_fn};
/// use serde_json::json;
///
/// let words = counter_fn("words", |text| text.split_whitespace().count() as i64);
/// let parameters = json!({ "properties": { "day": { "type": "string" } } });
/// let tokens = ToolPrices::CURRENT.function(&words, "weather", "The weather.", &parameters);
/// // The function, its line, its properties, one of them and its line.
/// assert_eq!(tokens, 7 + 2 + 3 + 3 + 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPrices {
    /// For each function.
    pub function: i64,
    /// Once for all properties of an object.
    pub properties: i64,
    /// For each property.
    pub property: i64,
    /// For an enumeration; negative in the published rule.
    pub enumeration: i64,
    /// For each of its values.
    pub value: i64,
    /// Once, when there are functions at all.
    pub end: i64,
}

impl ToolPrices {
    /// GPT-4o and later.
    pub const CURRENT: Self =
        Self { function: 7, properties: 3, property: 3, enumeration: -3, value: 3, end: 12 };

    /// GPT-3.5 and GPT-4.
    pub const OLDER: Self = Self { function: 10, ..Self::CURRENT };

    /// The prices of the models with this encoding.
    #[must_use]
    pub const fn of(encoding: Encoding) -> Self {
        match encoding {
            Encoding::O200k => Self::CURRENT,
            Encoding::Cl100k => Self::OLDER,
        }
    }

    /// Tokens of a function.
    pub fn function<C: TokenCounter + ?Sized>(
        &self,
        counter: &C,
        name: &str,
        description: &str,
        parameters: &Value,
    ) -> i64 {
        self.line(counter, name, description).saturating_add(self.parameters(counter, parameters))
    }

    /// Tokens of a function without parameters.
    pub fn line<C: TokenCounter + ?Sized>(
        &self,
        counter: &C,
        name: &str,
        description: &str,
    ) -> i64 {
        let line = format!("{name}:{}", without_full_stop(description));
        self.function.saturating_add(count(counter, &line))
    }

    /// Tokens of the parameters of a function.
    pub fn parameters<C: TokenCounter + ?Sized>(&self, counter: &C, schema: &Value) -> i64 {
        let text = |text: &str| count(counter, text);
        Steps { prices: self, text: &text }.root(schema)
    }
}

fn count<C: TokenCounter + ?Sized>(counter: &C, text: &str) -> i64 {
    if text.is_empty() { 0 } else { counter.count(text).max(0) }
}

/// The rule's steps, at these prices.
struct Steps<'a> {
    prices: &'a ToolPrices,
    text: &'a dyn Fn(&str) -> i64,
}

impl Steps<'_> {
    /// The outermost schema has no line of its own in the rule: its description and its keywords are
    /// counted all the same.
    fn root(&self, schema: &Value) -> i64 {
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        (self.text)(without_full_stop(description)).saturating_add(self.inside(schema, 0))
    }

    /// The properties of an object, with all that is below them.
    fn properties(&self, schema: &Value, depth: usize) -> i64 {
        if depth > DEEPEST {
            return (self.text)(&schema.to_string());
        }
        let mut tokens = 0_i64;
        let mut add = |more: i64| tokens = tokens.saturating_add(more);
        for keyword in ["properties", "$defs", "definitions"] {
            let Some(fields) = schema.get(keyword).and_then(Value::as_object) else { continue };
            if fields.is_empty() {
                continue;
            }
            add(self.prices.properties);
            for (name, field) in fields {
                add(self.prices.property);
                add(self.line(name, field));
                add(self.inside(field, depth));
            }
        }
        add(self.alternatives(schema, depth));
        tokens
    }

    /// A property as the rule has it: `name:type:description`.
    fn line(&self, name: &str, field: &Value) -> i64 {
        let kind = match field.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|")
            }
            _ => String::new(),
        };
        let description = field.get("description").and_then(Value::as_str).unwrap_or_default();
        (self.text)(&format!("{name}:{kind}:{}", without_full_stop(description)))
    }

    /// Tokens of a property besides its line: values, limits, and schemas of its own.
    fn inside(&self, field: &Value, depth: usize) -> i64 {
        let mut tokens = 0_i64;
        let mut add = |more: i64| tokens = tokens.saturating_add(more);
        if let Some(values) = field.get("enum").and_then(Value::as_array) {
            add(self.prices.enumeration);
            for value in values {
                add(self.prices.value);
                add(match value {
                    Value::String(value) => (self.text)(value),
                    other => (self.text)(&other.to_string()),
                });
            }
        }
        for (keyword, value) in field.as_object().into_iter().flatten() {
            if !COUNTED.contains(&keyword.as_str()) {
                add((self.text)(&format!("{keyword}:{value}")));
            }
        }
        add(self.properties(field, depth + 1));
        tokens
    }

    /// The schemas of an array's items, of further properties and of alternatives. They have no name, but a line each.
    fn alternatives(&self, schema: &Value, depth: usize) -> i64 {
        let several =
            ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword));
        let several = several.filter_map(Value::as_array).flatten();
        let further = schema.get("additionalProperties").filter(|further| further.is_object());
        schema.get("items").into_iter().chain(further).chain(several).fold(
            0_i64,
            |tokens, alternative| {
                tokens
                    .saturating_add(self.prices.property)
                    .saturating_add(self.line("", alternative))
                    .saturating_add(self.inside(alternative, depth))
            },
        )
    }
}

fn without_full_stop(text: &str) -> &str {
    text.strip_suffix('.').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::HeuristicCounter;

    fn tokens(schema: &str) -> i64 {
        let schema = serde_json::from_str(schema).unwrap();
        ToolPrices::CURRENT.parameters(&HeuristicCounter, &schema)
    }

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(tokens("{}"), 0);
        assert_eq!(tokens(r#"{"type":"object","properties":{}}"#), 0);
    }

    #[test]
    fn every_level_is_counted() {
        let flat = r#"{"properties":{"a":{"type":"string"}}}"#;
        let nested =
            r#"{"properties":{"o":{"type":"object","properties":{"a":{"type":"string"}}}}}"#;
        let list = r#"{"properties":{"o":{"type":"array","items":{"type":"object",
            "properties":{"a":{"type":"string"}}}}}}"#;
        let choice = r#"{"properties":{"o":{"anyOf":[{"type":"object",
            "properties":{"a":{"type":"string"}}},{"type":"null"}]}}}"#;
        let further = r#"{"properties":{"o":{"type":"object","additionalProperties":{"type":"object",
            "properties":{"a":{"type":"string"}}}}}}"#;
        assert!(tokens(flat) > 6);
        for deeper in [nested, list, choice, further] {
            assert!(tokens(deeper) >= tokens(flat) + 6, "{deeper}");
        }
    }

    #[test]
    fn limits_and_values_of_any_type_are_counted() {
        let plain = tokens(r#"{"properties":{"n":{"type":"integer"}}}"#);
        let limited = tokens(r#"{"properties":{"n":{"type":"integer","minimum":10}}}"#);
        let listed = tokens(r#"{"properties":{"n":{"type":"integer","enum":[1,2,3]}}}"#);
        assert!(limited > plain);
        assert_eq!(listed, plain - 3 + 3 * 4);
    }

    #[test]
    fn what_stands_at_the_root_is_counted() {
        let with =
            |more: &str| tokens(&format!(r#"{{"type":"object","properties":{{"a":{{}}}}{more}}}"#));
        let plain = with("");
        assert_eq!(with(r#","additionalProperties":false,"required":["a"]"#), plain);
        let where_to = HeuristicCounter.count("Where to look");
        assert_eq!(with(r#","description":"Where to look.""#), plain + where_to);
        assert!(with(r#","patternProperties":{"^x":{"type":"string"}}"#) > plain + 5);
        assert!(with(r#","minProperties":2"#) > plain);
        assert!(with(r#","additionalProperties":{"description":"Any key."}"#) > plain + 3);
    }

    #[test]
    fn a_bottomless_schema_ends() {
        // Deeper than what a parser takes.
        let mut schema = Value::Null;
        for _ in 0..200 {
            schema = serde_json::json!({ "properties": { "a": schema } });
        }
        assert!(ToolPrices::CURRENT.parameters(&HeuristicCounter, &schema) > 200);
    }
}
