//! Refusals of upstreams because a request is too long, and the numbers in them.

use serde_json::Value;

/// Refusal of a request that is longer than the upstream's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Overflow {
    /// Tokens of the request by the upstream's count.
    pub(crate) counted: Option<i64>,
    /// Set if the upstream stopped counting: the request has at least `counted` tokens.
    pub(crate) is_least: bool,
    /// Window of the upstream.
    pub(crate) window: Option<i64>,
}

/// Codes and types of such errors.
const CODES: [&str; 4] = [
    // OpenAI and most servers that follow it.
    "context_length_exceeded",
    // llama.cpp.
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    // Anthropic, for bodies that are too large in bytes.
    "request_too_large",
];

/// Words of such errors, in lower case, for servers whose code says only that the request is invalid.
const PHRASES: [&str; 14] = [
    // vLLM, OpenAI, DeepSeek and OpenRouter.
    "maximum context length is",
    // SGLang.
    "maximum context length of",
    "longer than the model's context length",
    // llama.cpp and its Python server.
    "exceeds the available context size",
    "larger than the max context size",
    "exceed context window of",
    // Ollama.
    "input length exceeds",
    "exceeds the context length",
    "exceeded max context length",
    // OpenAI.
    "exceeds the context window",
    "exceed the configured limit",
    // Anthropic.
    "prompt is too long",
    "exceed context limit",
    // xAI.
    "maximum prompt length is",
];

/// Words that stand before the window.
const BEFORE_WINDOW: [&str; 10] = [
    "maximum context length is",
    "maximum context length of",
    "model's context length",
    "available context size",
    "max context size",
    "context window of",
    "configured limit of",
    "maximum prompt length is",
    // "210000 tokens > 200000 maximum" and "190000 + 20000 > 200000".
    "tokens >",
    " >",
];

/// Words that stand before the count of the prompt.
const BEFORE_COUNT: [&str; 8] = [
    "messages resulted in",
    "your request has",
    "request contains",
    "prompt is too long:",
    "context limit:",
    "requested tokens",
    "request (",
    "input (",
];

/// Words that stand after the count of the prompt.
const AFTER_COUNT: [&str; 2] = ["in the messages", "tokens from the input messages"];

/// Reads the body of a refusal. Returns `None` unless it says in a known way that the request is too long.
pub(crate) fn overflow(status: u16, body: &[u8]) -> Option<Overflow> {
    if !may_be_overflow(status) {
        return None;
    }
    let json: Value = serde_json::from_slice(body).ok()?;
    let error = json.get("error").unwrap_or(&json);
    let field = |name: &str| error.get(name).and_then(Value::as_str);
    let message = error.as_str().or_else(|| field("message")).or_else(|| field("detail"));
    let message = message.unwrap_or_default().to_lowercase();
    let is_code = |name: Option<&str>| name.is_some_and(|name| CODES.contains(&name));
    let is_known = is_code(field("code")) || is_code(field("type"));
    if !is_known && !PHRASES.iter().any(|phrase| message.contains(phrase)) {
        return None;
    }
    let number = |name: &str| error.get(name).and_then(Value::as_i64);
    let said_window = BEFORE_WINDOW.iter().find_map(|words| number_after(&message, words));
    let window = number("n_ctx").or(said_window).filter(|tokens| *tokens > 0);
    let least = number_after(&message, "contains at least");
    let counted = number("n_prompt_tokens").or(least).or_else(|| count_in(&message));
    let counted = counted.filter(|tokens| *tokens > 0);
    // vLLM reads one token more than its window and stops.
    let stopped = window.is_some_and(|window| counted == window.checked_add(1));
    let is_least = least.is_some() || (stopped && number("n_prompt_tokens").is_none());
    Some(Overflow { counted, is_least, window })
}

/// Returns whether a status can mean that a request is too long.
pub(crate) fn may_be_overflow(status: u16) -> bool {
    matches!(status, 400 | 413)
}

/// Finds the count of the prompt.
fn count_in(message: &str) -> Option<i64> {
    let before = BEFORE_COUNT.iter().find_map(|words| number_after(message, words));
    before.or_else(|| {
        let tokens = AFTER_COUNT.iter().find_map(|words| number_before(message, words))?;
        let functions = number_before(message, "in the functions").unwrap_or(0);
        Some(tokens.saturating_add(functions))
    })
}

/// Returns the number that follows these words.
fn number_after(message: &str, words: &str) -> Option<i64> {
    let (_, rest) = message.split_once(words)?;
    let digits = rest.trim_start_matches([' ', '(', '`', ':']);
    let end = digits.find(|character| !is_digit(character)).unwrap_or(digits.len());
    number(digits.get(..end)?)
}

/// Returns the number that these words follow.
fn number_before(message: &str, words: &str) -> Option<i64> {
    let (rest, _) = message.split_once(words)?;
    let digits = rest.trim_end();
    let start = digits.trim_end_matches(is_digit).len();
    number(digits.get(start..)?)
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit() || character == ','
}

/// Reads a number with or without separators of thousands.
fn number(digits: &str) -> Option<i64> {
    digits.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(error: &Value) -> Option<(Option<i64>, Option<i64>)> {
        let found = overflow(400, error.to_string().as_bytes())?;
        assert!(!found.is_least, "{error}");
        Some((found.counted, found.window))
    }

    #[test]
    fn each_servers_refusal_is_known_with_its_numbers() {
        let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error",
            "message": "request (5210 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "n_prompt_tokens": 5210, "n_ctx": 4096}});
        assert_eq!(read(&llama), Some((Some(5_210), Some(4_096))));
        for (message, counted, window) in [
            (
                "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
                Some(112_946),
                Some(16_384),
            ),
            (
                "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens. Please reduce the length of the input messages.",
                Some(40_000),
                Some(32_768),
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 tokens and your request has 3500 input tokens (1000 > 4096 - 3500).",
                Some(3_500),
                Some(4_096),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9,123 tokens (9,000 in the messages, 123 in the functions).",
                Some(9_123),
                Some(8_192),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9500 tokens (9000 in the messages, 100 in the functions, 400 in the completion).",
                Some(9_100),
                Some(8_192),
            ),
            (
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280001 tokens. Please reduce the length of the messages.",
                Some(280_001),
                Some(272_000),
            ),
            (
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                None,
                None,
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(210_000), Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
                Some(190_000),
                Some(200_000),
            ),
            ("the input length exceeds the context length", None, None),
            ("input length exceeds maximum context length", None, None),
            ("Requested tokens (5000) exceed context window of 2048", Some(5_000), Some(2_048)),
            (
                "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
                Some(5_000),
                Some(4_096),
            ),
        ] {
            let error = json!({"error": {"message": message, "type": "invalid_request_error", "code": 400}});
            assert_eq!(read(&error), Some((counted, window)), "{message}");
        }
        let plain = json!({"error": "the input length exceeds the context length"});
        assert_eq!(read(&plain), Some((None, None)));
        let old = json!({"object": "error", "code": 400,
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5096 tokens (4996 in the messages, 100 in the completion)."});
        assert_eq!(read(&old), Some((Some(4_996), Some(4_096))));
        let code = json!({"error": {"message": "Refused.", "code": "context_length_exceeded"}});
        assert_eq!(read(&code), Some((None, None)));
    }

    #[test]
    fn a_count_that_was_stopped_is_a_lower_bound() {
        for message in [
            "This model's maximum context length is 131072 tokens. However, you requested 64000 output tokens and your prompt contains at least 67073 input tokens.",
            "This model's maximum context length is 4096 tokens. However, your request has 4097 input tokens.",
        ] {
            let error = json!({"error": {"message": message}}).to_string();
            let found = overflow(400, error.as_bytes()).unwrap();
            assert!(found.is_least && found.counted > Some(4_096), "{found:?}");
        }
    }

    #[test]
    fn other_refusals_are_left_alone() {
        for message in [
            "max_tokens is too large: 200000. This model supports at most 4096 completion tokens.",
            "Invalid value for 'messages[0].content': expected a string.",
            "Rate limit reached: Limit 6000, Requested 9000. Please reduce your message size.",
            "Conversation roles must alternate user/assistant/user/assistant/...",
            "",
        ] {
            let error = json!({"error": {"message": message, "code": "invalid_request_error"}});
            assert_eq!(overflow(400, error.to_string().as_bytes()), None, "{message}");
        }
        let long = json!({"error": {"code": "context_length_exceeded"}}).to_string();
        assert!(overflow(413, long.as_bytes()).is_some());
        for status in [200, 401, 404, 422, 429, 500, 503] {
            assert_eq!(overflow(status, long.as_bytes()), None, "{status}");
        }
        for body in ["", "[]", "null", "{\"error\":null}", "<html>prompt is too long</html>"] {
            assert_eq!(overflow(400, body.as_bytes()), None, "{body}");
        }
        let huge = json!({"error": {"message": format!("prompt is too long: {}", "9".repeat(99))}});
        let found = overflow(400, huge.to_string().as_bytes()).unwrap();
        assert_eq!((found.counted, found.window), (None, None));
    }
}
