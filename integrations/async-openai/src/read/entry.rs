//! What was read of one message.

use cupel::conversation::Role;

use crate::count::{Detail, Meter};

/// Tokens around every message, after OpenAI's cookbook.
pub(crate) const MESSAGE_TOKENS: i64 = 3;
/// Tokens for a name besides the name itself.
pub(super) const NAME_TOKENS: i64 = 1;
/// Tokens for a tool call besides its name and arguments.
pub(super) const CALL_TOKENS: i64 = 1;

/// A message as the selection needs it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) role: Role,
    /// The role's name in the API, or an item's type.
    pub(crate) label: String,
    pub(crate) name: Option<String>,
    /// What a report shows.
    pub(crate) text: String,
    pub(crate) tokens: i64,
    pub(crate) calls: Vec<String>,
    pub(crate) answers: Vec<String>,
    /// Sent on even if the rules would let it go.
    pub(crate) pinned: bool,
    /// Why the API would not take it.
    pub(crate) refused: Option<&'static str>,
    pub(crate) uncounted: Vec<String>,
    /// The model wrote it, as part of a turn.
    pub(crate) output: bool,
    /// The model's thoughts before what follows.
    pub(crate) reasoning: bool,
    /// Stands for an item on the server.
    pub(crate) reference: bool,
    pub(crate) with_previous: bool,
    pub(crate) with_next: bool,
}

impl Seen {
    /// A message with nothing in it yet.
    pub(super) fn new(meter: &Meter, role: Role, label: &str) -> Self {
        Self {
            role,
            label: label.to_owned(),
            name: None,
            text: String::new(),
            tokens: MESSAGE_TOKENS.saturating_add(meter.text(role_name(role, label))),
            calls: Vec::new(),
            answers: Vec::new(),
            pinned: false,
            refused: None,
            uncounted: Vec::new(),
            output: false,
            reasoning: false,
            reference: false,
            with_previous: false,
            with_next: false,
        }
    }

    pub(super) fn add_tokens(&mut self, tokens: i64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Adds a line to what a report shows.
    pub(super) fn show(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Adds text that the model reads.
    pub(super) fn say(&mut self, meter: &Meter, text: &str) {
        self.add_tokens(meter.text(text));
        self.show(text);
    }

    /// Adds something that is known only as JSON. Data in it is no text: it counts as an image, the
    /// dearest thing it can be.
    pub(super) fn say_json(&mut self, meter: &Meter, json: &str) {
        let (text, data) = without_data(json);
        for _ in 0..data {
            self.add_tokens(meter.image(None, Detail::High));
        }
        self.say(meter, &text);
    }

    /// Adds a call: the tool's name and what it is called with.
    pub(super) fn call(&mut self, meter: &Meter, name: &str, arguments: &str) {
        self.add_tokens(CALL_TOKENS.saturating_add(meter.text(name)));
        self.add_tokens(meter.text(arguments));
        self.show(&format!("{name}({arguments})"));
    }
}

/// JSON without the contents of `data:` URLs, and how many there were.
fn without_data(json: &str) -> (String, usize) {
    let mut pieces = json.split("\"data:");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    let mut count = 0;
    for piece in pieces {
        count += 1;
        text.push_str("\"data");
        text.push_str(piece.find('"').and_then(|end| piece.get(end..)).unwrap_or_default());
    }
    (text, count)
}

/// An item that is no message still has the role of whoever gave it.
fn role_name(role: Role, label: &str) -> &str {
    match label {
        "system" | "developer" | "user" | "assistant" | "tool" | "function" => label,
        _ => match role {
            Role::System => "system",
            Role::User => "user",
            Role::Tool => "tool",
            _ => "assistant",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_cut_out_of_json() {
        let json = r#"{"a":"data:image/png;base64,QUJD","b":["data:x"],"data:":1}"#;
        assert_eq!(without_data(json), (r#"{"a":"data","b":["data"],"data":1}"#.to_owned(), 3));
        assert_eq!(without_data("{}"), ("{}".to_owned(), 0));
        assert_eq!(without_data("\"data:cut"), ("\"data".to_owned(), 1));
    }
}
