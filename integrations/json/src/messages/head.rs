//! Everything of a request that is no message.

use super::meter::{ANSWER, BLOCK, ClaudeMeter, TOOLS};
use crate::read::{Object, string};

/// Fields that the server turns into something that cannot be seen from here.
const REMOTE: [&str; 3] = ["container", "mcp_servers", "context_management"];

/// A request without its messages, counted.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) tokens: i64,
    pub(super) uncounted: Vec<String>,
}

impl Head {
    pub(super) fn read(meter: &ClaudeMeter, request: &Object<'_>) -> Self {
        let mut head = Self { tokens: ANSWER, uncounted: Vec::new() };
        if let Some(system) = request.raw("system") {
            match string(system) {
                Some(text) => head.add(BLOCK.saturating_add(meter.text(&text))),
                None => {
                    for part in request.array("system").unwrap_or_default() {
                        let text = Object::parse(part.get()).and_then(|part| part.text("text"));
                        head.add(BLOCK.saturating_add(meter.text(&text.unwrap_or_default())));
                    }
                }
            }
        }
        let tools = request.array("tools").unwrap_or_default();
        if !tools.is_empty() {
            head.add(TOOLS);
        }
        for raw in tools {
            head.add(BLOCK.saturating_add(meter.text(raw.get())));
            let tool = Object::parse(raw.get()).unwrap_or_default();
            let kind = tool.text("type").unwrap_or_default();
            if !matches!(&*kind, "" | "custom") {
                head.uncounted.push(format!("what tool {kind:?} adds"));
            }
        }
        if let Some(format) = request.object("output_config").and_then(|set| set.raw("format")) {
            head.add(meter.text(format.get()));
        }
        let remote = REMOTE.into_iter().filter(|field| request.has(field));
        head.uncounted.extend(remote.map(str::to_owned));
        head
    }

    fn add(&mut self, tokens: i64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }
}
