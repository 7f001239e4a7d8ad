//! The largest parts of what is sent again and again: tools, system prompts and single results.

use crate::planner::{MeasuredRequest, Planner};
use crate::report::{WasteEntry, WasteKind};
use crate::session::{Session, SessionCall};

/// Number of entries that are kept.
const KEPT: usize = 20;

/// Characters of a text that are shown.
const SHOWN: usize = 120;

/// The largest parts so far.
#[derive(Debug, Default)]
pub(crate) struct LargestWaste(Vec<WasteEntry>);

impl LargestWaste {
    /// Adds the parts of a session.
    pub(crate) fn add(
        &mut self,
        planner: &Planner,
        session: &Session,
        calls: &[SessionCall],
        whole: &MeasuredRequest,
    ) {
        let number = u64::try_from(calls.len()).unwrap_or(u64::MAX);
        let entry = |kind, tokens| WasteEntry {
            kind,
            tool: None,
            place: session.place.clone(),
            tokens,
            calls: number,
            text: String::new(),
        };
        let is_tools = |field: &str| matches!(field, "tools" | "functions");
        let is_system = |field: &str| matches!(field, "system" | "instructions");
        let tools = without(planner, session, is_tools, whole.fixed);
        let mut system = without(planner, session, is_system, whole.fixed);
        for (tokens, _) in whole.messages.iter().zip(&whole.instructions).filter(|(_, is)| **is) {
            system = system.saturating_add(*tokens);
        }
        self.push(entry(WasteKind::Tools, tools));
        self.push(entry(WasteKind::System, system));
        for (at, (item, tokens)) in session.items.iter().zip(&whole.messages).enumerate() {
            if item.results.is_empty() {
                continue;
            }
            let later = calls.iter().filter(|call| call.known > at).count();
            let first = item.results.first();
            let tool = first.and_then(|result| {
                let calls = session.items.iter().take(at).rev().flat_map(|item| &item.calls);
                calls.into_iter().find(|call| call.id == result.id).map(|call| call.name.clone())
            });
            let text: String =
                first.map(|result| result.text.chars().take(SHOWN).collect()).unwrap_or_default();
            let calls = u64::try_from(later).unwrap_or(u64::MAX);
            self.push(WasteEntry { tool, calls, text, ..entry(WasteKind::Result, *tokens) });
        }
    }

    fn push(&mut self, entry: WasteEntry) {
        if entry.total() <= 0 {
            return;
        }
        let at = self.0.partition_point(|other| other.total() >= entry.total());
        self.0.insert(at, entry);
        self.0.truncate(KEPT);
    }

    pub(crate) fn into_list(self) -> Vec<WasteEntry> {
        self.0
    }
}

/// Tokens of the fields that a filter takes.
fn without(planner: &Planner, session: &Session, takes: impl Fn(&str) -> bool, fixed: i64) -> i64 {
    if !session.fields.keys().any(|field| takes(field)) {
        return 0;
    }
    let json = session.json(0..session.len().min(1), |field| !takes(field));
    let body = cupel_json::JsonBody::parse(session.endpoint, json);
    let rest = body.and_then(|body| planner.measure(&body).ok());
    rest.map_or(0, |rest| fixed.saturating_sub(rest.fixed))
}
