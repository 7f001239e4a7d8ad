//! The largest parts of what is sent again and again: tools, system prompts and single results.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::item::Item;
use crate::planner::{MeasuredRequest, Planner};
use crate::report::{WasteEntry, WasteKind};
use crate::session::{Session, SessionCall};

/// Number of entries in the report.
const LISTED: usize = 20;

/// Number of entries that are kept meanwhile: parts of several sessions may grow into the list.
const KEPT: usize = 400;

/// Messages among which the call of a result is looked for.
const CALL_BEFORE: usize = 1_000;

/// Characters of a text that are shown.
const SHOWN: usize = 120;

/// The largest parts so far.
#[derive(Debug, Default)]
pub(crate) struct LargestWaste(Vec<KeptEntry>);

/// An entry, with the hash of a part that several sessions may have.
#[derive(Debug)]
struct KeptEntry {
    hash: Option<u64>,
    entry: WasteEntry,
}

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
            sessions: 1,
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
        let instructions = || session.items.iter().filter(|item| item.is_instruction);
        self.merge(hash(session, is_tools, std::iter::empty()), entry(WasteKind::Tools, tools));
        self.merge(hash(session, is_system, instructions()), entry(WasteKind::System, system));
        for (at, (item, tokens)) in session.items.iter().zip(&whole.messages).enumerate() {
            if item.results.is_empty() {
                continue;
            }
            let later = calls.len() - calls.partition_point(|call| call.known <= at);
            let first = item.results.first();
            let tool = first.and_then(|result| {
                let before = session.items.iter().take(at).rev().take(CALL_BEFORE);
                let calls = before.flat_map(|item| &item.calls);
                calls.into_iter().find(|call| call.id == result.id).map(|call| call.name.clone())
            });
            let text: String =
                first.map(|result| result.text.chars().take(SHOWN).collect()).unwrap_or_default();
            let calls = u64::try_from(later).unwrap_or(u64::MAX);
            self.push(None, WasteEntry { tool, calls, text, ..entry(WasteKind::Result, *tokens) });
        }
    }

    /// Adds a part that other sessions may have as well.
    fn merge(&mut self, hash: u64, mut entry: WasteEntry) {
        let is_same = |kept: &KeptEntry| kept.hash == Some(hash) && kept.entry.kind == entry.kind;
        if let Some(at) = self.0.iter().position(is_same) {
            let KeptEntry { entry: known, .. } = self.0.remove(at);
            entry.place = known.place;
            entry.calls = entry.calls.saturating_add(known.calls);
            entry.sessions = known.sessions.saturating_add(1);
        }
        self.push(Some(hash), entry);
    }

    fn push(&mut self, hash: Option<u64>, entry: WasteEntry) {
        if entry.total() <= 0 {
            return;
        }
        let at = self.0.partition_point(|other| other.entry.total() >= entry.total());
        self.0.insert(at, KeptEntry { hash, entry });
        self.0.truncate(KEPT);
    }

    pub(crate) fn into_list(self) -> Vec<WasteEntry> {
        self.0.into_iter().take(LISTED).map(|kept| kept.entry).collect()
    }
}

/// Hash of the fields that a filter takes, and of some messages.
fn hash<'a>(
    session: &Session,
    takes: impl Fn(&str) -> bool,
    items: impl Iterator<Item = &'a Item>,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (name, value) in session.fields.iter().filter(|(name, _)| takes(name)) {
        (name, value.get()).hash(&mut hasher);
    }
    items.for_each(|item| item.json.hash(&mut hasher));
    hasher.finish()
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
