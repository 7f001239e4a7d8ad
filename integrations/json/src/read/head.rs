//! Everything of a request that is not a message: tools, formats, instructions.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cupel::tokens::ToolPrices;
use cupel::tool_choice::ToolCandidate;
use serde_json::value::RawValue;

use super::{Endpoint, Meter};
use crate::models::ToolRule;
use crate::object::Object;
use crate::tools::{candidate, candidates, keep_demanded};

/// Fields of OpenAI's APIs that stand before the messages, or change all that follows.
const PROMPT: [&str; 6] =
    ["model", "tools", "functions", "response_format", "instructions", "text"];

/// A request without its messages, counted.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) tokens: i64,
    /// Names of things that the server adds and that cannot be counted here.
    pub(crate) uncounted: Vec<String>,
    /// Part of the conversation is on the server.
    pub(crate) remote: bool,
    /// The tools, with the tokens of each.
    pub(crate) tools: Vec<ToolCandidate>,
    /// Instructions beside the messages.
    pub(crate) instructions: Vec<String>,
    /// Hash of the fields that stand before the messages in the prompt.
    pub(crate) identity: u64,
}

impl Head {
    /// Counts tools, formats, instructions and priming.
    pub(crate) fn read(meter: &Meter, endpoint: Endpoint, request: &Object<'_>) -> Self {
        let mut head = Self { tokens: meter.format.answer, ..Self::default() };
        head.identify(request, &PROMPT);
        match meter.local_tools(request, endpoint) {
            Some(tokens) => {
                head.add(tokens);
                head.tools = candidates(endpoint, request, tokens, &|raw| meter.text(raw.get()));
            }
            None => meter.tools(endpoint, request, &mut head),
        }
        let format = match endpoint {
            Endpoint::Chat | Endpoint::Messages => {
                head.note(request, &["prediction", "web_search_options"]);
                request.object("response_format")
            }
            Endpoint::Responses => {
                if let Some(instructions) = request.text("instructions") {
                    head.add(meter.message("system"));
                    head.add(meter.text(&instructions));
                    head.instructions.push(instructions.into_owned());
                }
                let stored = ["previous_response_id", "conversation", "prompt"];
                head.remote = head.note(request, &stored);
                request.object("text").and_then(|text| text.object("format"))
            }
        };
        head.add(format.map_or(0, |format| meter.format(&format)));
        head
    }

    /// Sets the hash of the fields that stand before the messages.
    pub(crate) fn identify(&mut self, request: &Object<'_>, fields: &[&str]) {
        let mut hasher = DefaultHasher::new();
        for field in fields {
            request.raw(field).map(RawValue::get).hash(&mut hasher);
        }
        self.identity = hasher.finish();
    }

    /// Notes fields that the server turns into something that cannot be seen from here; whether there
    /// are any.
    pub(crate) fn note(&mut self, request: &Object<'_>, fields: &[&str]) -> bool {
        let found = fields.iter().filter(|field| request.has(field));
        let before = self.uncounted.len();
        self.uncounted.extend(found.map(ToString::to_string));
        self.uncounted.len() > before
    }

    /// Notes a tool that the provider runs itself.
    pub(crate) fn note_tool(&mut self, kind: &str) {
        self.uncounted.push(format!("what tool {kind:?} adds"));
    }

    pub(crate) fn add(&mut self, tokens: i64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }
}

impl Meter {
    /// Adds `tools` and the older `functions` of a request; those that the provider runs itself are
    /// named.
    pub(crate) fn tools(&self, endpoint: Endpoint, request: &Object<'_>, head: &mut Head) {
        let list: Vec<&RawValue> = request.array("tools").unwrap_or_default();
        let prices = match self.model.tools {
            ToolRule::Cookbook(prices) => prices,
            ToolRule::Json => {
                let sent = ["tools", "functions"].into_iter().filter_map(|name| request.raw(name));
                sent.for_each(|json| head.add(self.text(json.get())));
                let tokens = request.raw("tools").map_or(0, |json| self.text(json.get()));
                head.tools = candidates(endpoint, request, tokens, &|raw| self.text(raw.get()));
                return;
            }
        };
        let mut any = false;
        let mut tools = Vec::with_capacity(list.len());
        for raw in list {
            let before = head.tokens;
            if let Some(tool) = Object::parse(raw.get()) {
                any |= self.tool(&tool, head, &prices, true);
            }
            tools.push(candidate(endpoint, raw, head.tokens.saturating_sub(before)));
        }
        head.tools = keep_demanded(tools, request);
        let functions: Vec<&RawValue> = request.array("functions").unwrap_or_default();
        for function in functions.into_iter().filter_map(|raw| Object::parse(raw.get())) {
            head.add(self.function(&function, &prices));
            any = true;
        }
        head.add(if any { prices.end } else { 0 });
    }

    /// Adds one tool; whether it is one that is shown to the model as a function.
    fn tool(&self, tool: &Object<'_>, head: &mut Head, prices: &ToolPrices, outer: bool) -> bool {
        let kind = tool.text("type").unwrap_or_default();
        if matches!(&*kind, "function" | "custom") {
            // Chat Completions wraps the definition, the Responses API does not.
            let wrapped = tool.object(&kind);
            head.add(self.function(wrapped.as_ref().unwrap_or(tool), prices));
            return true;
        }
        // In a namespace there is no other: what would be one is only named.
        if let Some(inner) = tool.array("tools").filter(|_| outer) {
            // A namespace: its name and description, and the functions in it.
            head.add(self.function(tool, prices));
            for tool in inner.into_iter().filter_map(|tool| Object::parse(tool.get())) {
                self.tool(&tool, head, prices, false);
            }
            return true;
        }
        head.note_tool(&kind);
        false
    }

    fn function(&self, function: &Object<'_>, prices: &ToolPrices) -> i64 {
        let name = function.text("name").unwrap_or_default();
        let description = function.text("description").unwrap_or_default();
        let mut tokens = prices.line(&*self.counter, &name, &description);
        if let Some(parameters) = function.raw("parameters") {
            tokens = tokens.saturating_add(match serde_json::from_str(parameters.get()) {
                Ok(schema) => prices.parameters(&*self.counter, &schema),
                // Too deep for a parser.
                Err(_) => self.text(parameters.get()),
            });
        }
        // A custom tool: the grammar its input must follow.
        if let Some(format) = function.raw("format") {
            tokens = tokens.saturating_add(self.text(format.get()));
        }
        tokens
    }

    /// The format an answer must have. It is shown to the model under a heading, as JSON:
    /// <https://cookbook.openai.com/articles/openai-harmony#structured-output>.
    pub(crate) fn format(&self, format: &Object<'_>) -> i64 {
        // Chat Completions wraps the definition, the Responses API does not.
        let definition = format.object("json_schema").unwrap_or_else(|| format.clone());
        let Some(schema) = definition.raw("schema") else { return 0 };
        let name = definition.text("name").unwrap_or_default();
        let mut heading = format!("\n\n# Response Formats\n\n## {name}\n\n");
        if let Some(description) = definition.text("description") {
            heading.push_str("// ");
            heading.push_str(&description);
            heading.push('\n');
        }
        self.text(&heading).saturating_add(self.text(schema.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{CountRules, Models};

    fn count(model: &str, request: &str) -> Head {
        count_by(&Meter::new(Models::new().get(model).unwrap(), &CountRules::default()), request)
    }

    fn count_by(meter: &Meter, request: &str) -> Head {
        let mut head = Head::default();
        meter.tools(Endpoint::Chat, &Object::parse(request).unwrap(), &mut head);
        head
    }

    /// The cookbook's example.
    const COOKBOOK: &str = r#"{"tools": [{"type": "function", "function": {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {"type": "object", "properties": {
            "location": {"type": "string",
                "description": "The city and state, e.g. San Francisco, CA"},
            "unit": {"type": "string", "description": "The unit of temperature to return",
                "enum": ["celsius", "fahrenheit"]}},
            "required": ["location"]}}}]}"#;

    // In the cookbook, this function with the messages "You are a helpful assistant that can
    // answer to questions about the weather." and "What's the weather like in San Francisco?"
    // is 101 tokens for gpt-4o and 105 for gpt-4.
    #[test]
    fn the_cookbooks_own_numbers() {
        let messages = |model: &str| {
            let meter = Meter::new(Models::new().get(model).unwrap(), &CountRules::default());
            let text = |text: &str| meter.text(text);
            3 + 3
                + text("system")
                + text(
                    "You are a helpful assistant that can answer to questions about the weather.",
                )
                + 3
                + text("user")
                + text("What's the weather like in San Francisco?")
        };
        assert_eq!(count("gpt-4o", COOKBOOK).tokens + messages("gpt-4o"), 101);
        assert_eq!(count("gpt-4", COOKBOOK).tokens + messages("gpt-4"), 105);
    }

    #[test]
    fn both_ways_of_writing_a_function_cost_the_same() {
        let flat = r#"{"tools":[{"type":"function","name":"f","description":"Do it.",
            "parameters":{"type":"object","properties":{"a":{"type":"string"}}}}]}"#;
        let wrapped = r#"{"tools":[{"type":"function","function":{"name":"f","description":"Do it.",
            "parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}]}"#;
        let older = r#"{"functions":[{"name":"f","description":"Do it.",
            "parameters":{"type":"object","properties":{"a":{"type":"string"}}}}]}"#;
        let tokens = count("gpt-4o", flat).tokens;
        assert_eq!(count("gpt-4o", wrapped).tokens, tokens);
        assert_eq!(count("gpt-4o", older).tokens, tokens);
    }

    #[test]
    fn a_server_that_counts_json_can_be_described() {
        let model = Models::new().get("gpt-4o").unwrap().tools(ToolRule::Json);
        let meter = Meter::new(model, &CountRules::default());
        let json = r#"[{"type":"function","function":{"name":"f","description":"Do it."}}]"#;
        let request = format!(r#"{{"model":"m","tools":{json},"functions":null}}"#);
        let tools = count_by(&meter, &request);
        assert_eq!((tools.tokens, tools.uncounted.len()), (meter.text(json), 0));
        let cookbook = count("gpt-4o", COOKBOOK).tokens;
        assert!(count_by(&meter, COOKBOOK).tokens > cookbook);
    }

    #[test]
    fn parameters_that_no_parser_takes_are_counted_as_they_stand() {
        let deep = r#"{"a":"#.repeat(500) + "1" + &"}".repeat(500);
        let tools =
            format!(r#"{{"tools":[{{"type":"function","name":"f","parameters":{deep}}}]}}"#);
        assert!(count("gpt-4o", &tools).tokens > 500);
    }

    #[test]
    fn namespaces_are_counted_one_level_deep() {
        let one = count(
            "gpt-4o",
            r#"{"tools":[{"type":"namespace","name":"n","tools":[
            {"type":"function","name":"f"}]}]}"#,
        );
        assert_eq!((one.tokens, one.uncounted.len()), (12 + 2 * (7 + 2), 0));
        let depth = 2_000;
        let nested = r#"{"type":"namespace","tools":["#.repeat(depth) + &"]}".repeat(depth);
        let tools = count("gpt-4o", &format!(r#"{{"tools":[{nested}]}}"#));
        assert_eq!(tools.uncounted, ["what tool \"namespace\" adds"]);
    }

    #[test]
    fn what_the_provider_runs_itself_is_named() {
        let tools =
            count("gpt-4o", r#"{"tools":[{"type":"web_search"},{"type":"custom","name":"sql"}]}"#);
        assert_eq!(tools.uncounted, ["what tool \"web_search\" adds"]);
        assert!(tools.tokens > 0);
        assert_eq!(count("gpt-4o", "{}").tokens, 0);
    }
}
