//! The tokens of a request, counted by the published rules with a tokenizer of the server's own.
//!
//! Written apart from the library on purpose, so that a mistake would have to be made twice.

use serde_json::Value;
use tiktoken_rs::CoreBPE;

/// A model's window for prompt and answer, and its encoding. `test-900` has 900 tokens.
pub fn window(model: &str) -> Option<i64> {
    if let Some(window) = model.strip_prefix("test-").or(model.strip_prefix("other-")) {
        return window.parse().ok();
    }
    match model {
        "gpt-4" => Some(8_192),
        "gpt-4o" | "gpt-4o-mini" => Some(128_000),
        _ => None,
    }
}

fn encoding(model: &str) -> &'static CoreBPE {
    match model {
        "gpt-4" => tiktoken_rs::cl100k_base_singleton(),
        _ => tiktoken_rs::o200k_base_singleton(),
    }
}

struct Ruler {
    bpe: &'static CoreBPE,
    older: bool,
}

/// The tokens of a plain text.
pub fn text(request: &Value, text: &str) -> i64 {
    Ruler::new(request).text(text)
}

/// The prompt tokens of a chat completion.
pub fn chat(request: &Value) -> i64 {
    let ruler = Ruler::new(request);
    let messages = request["messages"].as_array().into_iter().flatten();
    let messages: i64 = messages.map(|message| ruler.chat_message(message)).sum();
    3 + messages
        + ruler.tools(&request["tools"], &request["functions"])
        + ruler.format(&request["response_format"]["json_schema"])
}

/// The input tokens of a response.
pub fn response(request: &Value) -> i64 {
    let ruler = Ruler::new(request);
    let input = match &request["input"] {
        Value::String(text) => 3 + ruler.text("user") + ruler.text(text),
        items => items.as_array().into_iter().flatten().map(|item| ruler.item(item)).sum(),
    };
    let instructions = request["instructions"].as_str();
    let instructions = instructions.map_or(0, |text| 3 + ruler.text("system") + ruler.text(text));
    let format = ruler.format(&request["text"]["format"]);
    3 + input + instructions + format + ruler.tools(&request["tools"], &Value::Null)
}

/// One message or item, without what surrounds the list.
pub fn message(request: &Value, is_chat: bool, message: &Value) -> i64 {
    let ruler = Ruler::new(request);
    if is_chat { ruler.chat_message(message) } else { ruler.item(message) }
}

impl Ruler {
    fn new(request: &Value) -> Self {
        let model = request["model"].as_str().unwrap_or_default();
        Self { bpe: encoding(model), older: model == "gpt-4" }
    }

    fn text(&self, text: &str) -> i64 {
        self.bpe.encode_ordinary(text).len() as i64
    }

    fn value(&self, value: &Value) -> i64 {
        value.as_str().map_or(0, |text| self.text(text))
    }

    fn chat_message(&self, message: &Value) -> i64 {
        let mut tokens = 3 + self.value(&message["role"]) + self.content(&message["content"]);
        if message["name"].is_string() {
            tokens += 1 + self.value(&message["name"]);
        }
        tokens += self.value(&message["refusal"]);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (made, input) = match call["type"].as_str() {
                Some("custom") => (call.get("custom").unwrap_or(&call["custom_tool"]), "input"),
                _ => (&call["function"], "arguments"),
            };
            tokens += 1 + self.value(&made["name"]) + self.value(&made[input]);
        }
        if let Some(call) = message.get("function_call") {
            tokens += 1 + self.value(&call["name"]) + self.value(&call["arguments"]);
        }
        tokens
    }

    fn item(&self, item: &Value) -> i64 {
        match item["type"].as_str().unwrap_or("message") {
            "message" => 3 + self.value(&item["role"]) + self.content(&item["content"]),
            "function_call" | "custom_tool_call" => {
                let input = item.get("arguments").or(item.get("input")).unwrap_or(&Value::Null);
                3 + self.text("assistant") + 1 + self.value(&item["name"]) + self.value(input)
            }
            "function_call_output" | "custom_tool_call_output" => {
                3 + self.text("tool") + self.content(&item["output"])
            }
            "reasoning" => {
                let sealed = item["encrypted_content"].as_str().map_or(0, |text| text.len() + 2);
                let sealed = (sealed / 4 * 3).div_ceil(4) as i64;
                let said = self.content(&item["summary"]) + self.content(&item["content"]);
                3 + self.text("assistant") + said + sealed
            }
            _ => 0,
        }
    }

    fn content(&self, content: &Value) -> i64 {
        let parts = match content {
            Value::String(text) => return self.text(text),
            other => other.as_array().into_iter().flatten(),
        };
        parts.map(|part| self.part(part)).sum()
    }

    fn part(&self, part: &Value) -> i64 {
        match part["type"].as_str().unwrap_or_default() {
            "image_url" => image(&part["image_url"]["url"], &part["image_url"]["detail"]),
            "input_image" => image(&part["image_url"], &part["detail"]),
            "input_audio" => {
                let bytes = part["input_audio"]["data"].as_str().map_or(0, str::len) as i64 / 4 * 3;
                (bytes * 10 + 3_999) / 4_000 // as if it were 32 kbit/s
            }
            "refusal" => self.value(&part["refusal"]),
            _ => self.value(&part["text"]),
        }
    }

    fn tools(&self, tools: &Value, functions: &Value) -> i64 {
        let start = if self.older { 10 } else { 7 };
        let mut sum = 0;
        let tools =
            tools.as_array().into_iter().flatten().map(|tool| match tool["type"].as_str() {
                Some("function") => tool.get("function").unwrap_or(tool),
                _ => tool.get("custom").unwrap_or(tool),
            });
        let mut any = false;
        for tool in tools.chain(functions.as_array().into_iter().flatten()) {
            any = true;
            let about = tool["description"].as_str().unwrap_or_default();
            let about = about.strip_suffix('.').unwrap_or(about);
            let name = tool["name"].as_str().unwrap_or_default();
            sum += start + self.text(&format!("{name}:{about}"));
            sum += self.properties(&tool["parameters"]["properties"]);
        }
        if any { sum + 12 } else { 0 }
    }

    fn properties(&self, properties: &Value) -> i64 {
        let Some(properties) = properties.as_object().filter(|all| !all.is_empty()) else {
            return 0;
        };
        let mut sum = 3;
        for (name, property) in properties {
            sum += 3 + self.property(name, property);
        }
        sum
    }

    fn property(&self, name: &str, property: &Value) -> i64 {
        let about = property["description"].as_str().unwrap_or_default();
        let about = about.strip_suffix('.').unwrap_or(about);
        let kind = property["type"].as_str().unwrap_or_default();
        let mut sum = self.text(&format!("{name}:{kind}:{about}"));
        if let Some(values) = property["enum"].as_array() {
            sum -= 3;
            sum += values.iter().map(|value| 3 + self.value(value)).sum::<i64>();
        }
        if property["items"].is_object() {
            sum += 3 + self.property("", &property["items"]);
        }
        sum + self.properties(&property["properties"])
    }

    fn format(&self, format: &Value) -> i64 {
        let Some(schema) = format.get("schema") else { return 0 };
        let name = format["name"].as_str().unwrap_or_default();
        let about = format["description"].as_str();
        let about = about.map_or(String::new(), |about| format!("// {about}\n"));
        self.text(&format!("\n\n# Response Formats\n\n## {name}\n\n{about}"))
            + self.text(&schema.to_string())
    }
}

/// GPT-4o's price: 85, and 170 for each tile of 512 pixels. Reads PNG only.
fn image(url: &Value, detail: &Value) -> i64 {
    if detail == "low" {
        return 85;
    }
    let Some((mut width, mut height)) = url.as_str().and_then(png_size) else {
        return 85 + 8 * 170;
    };
    let longer = width.max(height);
    if longer > 2_048 {
        (width, height) = (width * 2_048 / longer, height * 2_048 / longer);
    }
    let shorter = width.min(height);
    if shorter > 768 {
        (width, height) = (width * 768 / shorter, height * 768 / shorter);
    }
    85 + 170 * ((width + 511) / 512).max(1) * ((height + 511) / 512).max(1)
}

fn png_size(url: &str) -> Option<(i64, i64)> {
    let data = url.strip_prefix("data:image/png;base64,")?;
    let digit = |byte: u8| {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        alphabet.iter().position(|letter| *letter == byte)
    };
    let mut bytes = Vec::new();
    for four in data.as_bytes().get(..32)?.chunks(4) {
        let bits = four.iter().try_fold(0, |bits, byte| Some(bits << 6 | digit(*byte)?))?;
        bytes.extend([(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]);
    }
    let number = |at: usize| {
        let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(i64::from(u32::from_be_bytes(bytes)))
    };
    Some((number(16)?, number(20)?))
}
