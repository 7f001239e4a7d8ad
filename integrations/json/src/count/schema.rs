//! What the parameters of a function cost: the cookbook's steps at every level of the schema.

use serde_json::Value;

use super::Meter;
use super::tools::{ToolPrices, without_full_stop};

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

/// The tokens of a function's parameters.
pub(super) fn parameters(meter: &Meter, prices: &ToolPrices, schema: &str) -> i64 {
    match serde_json::from_str(schema) {
        Ok(schema) => root(meter, prices, &schema),
        // Too deep for a parser, or no JSON.
        Err(_) => meter.text(schema),
    }
}

/// The outermost schema has no line of its own in the rule: its description and its keywords are
/// counted all the same.
fn root(meter: &Meter, prices: &ToolPrices, schema: &Value) -> i64 {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    meter.text(without_full_stop(description)).saturating_add(inside(meter, prices, schema, 0))
}

/// The properties of an object, with all that is below them.
fn properties(meter: &Meter, prices: &ToolPrices, schema: &Value, depth: usize) -> i64 {
    if depth > DEEPEST {
        return meter.text(&schema.to_string());
    }
    let mut tokens = 0_i64;
    let mut add = |more: i64| tokens = tokens.saturating_add(more);
    for keyword in ["properties", "$defs", "definitions"] {
        let Some(fields) = schema.get(keyword).and_then(Value::as_object) else { continue };
        if fields.is_empty() {
            continue;
        }
        add(prices.properties);
        for (name, field) in fields {
            add(prices.property);
            add(line(meter, name, field));
            add(inside(meter, prices, field, depth));
        }
    }
    add(alternatives(meter, prices, schema, depth));
    tokens
}

/// A property as the rule has it: `name:type:description`.
fn line(meter: &Meter, name: &str, field: &Value) -> i64 {
    let kind = match field.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|")
        }
        _ => String::new(),
    };
    let description = field.get("description").and_then(Value::as_str).unwrap_or_default();
    meter.text(&format!("{name}:{kind}:{}", without_full_stop(description)))
}

/// What a property has besides its line: values, limits, and schemas of its own.
fn inside(meter: &Meter, prices: &ToolPrices, field: &Value, depth: usize) -> i64 {
    let mut tokens = 0_i64;
    let mut add = |more: i64| tokens = tokens.saturating_add(more);
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        add(prices.enumeration);
        for value in values {
            add(prices.value);
            add(match value {
                Value::String(value) => meter.text(value),
                other => meter.text(&other.to_string()),
            });
        }
    }
    for (keyword, value) in field.as_object().into_iter().flatten() {
        if !COUNTED.contains(&keyword.as_str()) {
            add(meter.text(&format!("{keyword}:{value}")));
        }
    }
    add(properties(meter, prices, field, depth + 1));
    tokens
}

/// The schemas of an array's items, of further properties and of alternatives. They have no name, but a line each.
fn alternatives(meter: &Meter, prices: &ToolPrices, schema: &Value, depth: usize) -> i64 {
    let several = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword));
    let several = several.filter_map(Value::as_array).flatten();
    let further = schema.get("additionalProperties").filter(|further| further.is_object());
    schema.get("items").into_iter().chain(further).chain(several).fold(
        0_i64,
        |tokens, alternative| {
            tokens
                .saturating_add(prices.property)
                .saturating_add(line(meter, "", alternative))
                .saturating_add(inside(meter, prices, alternative, depth))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Models;

    fn tokens(schema: &str) -> i64 {
        parameters(
            &Meter::new(Models::new().get("gpt-4o").unwrap(), None),
            &ToolPrices::CURRENT,
            schema,
        )
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
        assert_eq!(with(r#","description":"Where to look.""#), plain + 3);
        assert!(with(r#","patternProperties":{"^x":{"type":"string"}}"#) > plain + 5);
        assert!(with(r#","minProperties":2"#) > plain);
        assert!(with(r#","additionalProperties":{"description":"Any key."}"#) > plain + 3);
    }

    #[test]
    fn a_bottomless_schema_ends() {
        let depth = 100;
        let schema =
            format!("{}{}{}", r#"{"properties":{"a":"#.repeat(depth), "{}", "}}".repeat(depth));
        assert!(tokens(&schema) > 100);
    }
}
