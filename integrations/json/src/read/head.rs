//! Everything of a request that is not a message.

use super::{Endpoint, Object};
use crate::count::{FORMAT, Meter};

/// A request without its messages, counted.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) tokens: i64,
    /// What the server adds that cannot be seen from here.
    pub(crate) uncounted: Vec<String>,
    /// Part of the conversation is on the server.
    pub(crate) remote: bool,
}

impl Head {
    /// Counts tools, formats, instructions and priming.
    pub(crate) fn read(meter: &Meter, endpoint: Endpoint, request: &Object<'_>) -> Self {
        let tools = meter.tools(request);
        let mut head = Self { tokens: FORMAT.answer, ..Self::default() };
        head.add(tools.tokens);
        let hosted = |kind: String| format!("what tool {kind:?} adds");
        head.uncounted.extend(tools.hosted.into_iter().map(hosted));
        match endpoint {
            Endpoint::Chat | Endpoint::Messages => head.chat(meter, request),
            Endpoint::Responses => head.responses(meter, request),
        }
        head
    }

    fn add(&mut self, tokens: i64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }

    fn chat(&mut self, meter: &Meter, request: &Object<'_>) {
        if let Some(format) = request.object("response_format") {
            self.add(meter.format(&format));
        }
        for field in ["prediction", "web_search_options"] {
            if request.has(field) {
                self.uncounted.push(field.to_owned());
            }
        }
    }

    fn responses(&mut self, meter: &Meter, request: &Object<'_>) {
        if let Some(instructions) = request.text("instructions") {
            self.add(meter.message("system"));
            self.add(meter.text(&instructions));
        }
        if let Some(format) = request.object("text").and_then(|text| text.object("format")) {
            self.add(meter.format(&format));
        }
        for field in ["previous_response_id", "conversation", "prompt"] {
            if request.has(field) {
                self.uncounted.push(field.to_owned());
                self.remote = true;
            }
        }
    }
}
