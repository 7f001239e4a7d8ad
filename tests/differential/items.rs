//! Items that exist in both implementations, with few distinct values so that ties abound.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::runner::Rng;

/// Fields of an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blueprint {
    /// Tells items apart, also those with equal content: both implementations carry
    /// `originalTokens` through and never look at it.
    pub(crate) id: i64,
    pub(crate) content: String,
    pub(crate) tokens: i64,
    pub(crate) kind: &'static str,
    pub(crate) priority: Option<i64>,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) metadata: Vec<(&'static str, &'static str)>,
    pub(crate) seconds: Option<i64>,
    pub(crate) hint: Option<f64>,
    pub(crate) pinned: bool,
}

pub(crate) const KINDS: [&str; 8] = [
    "Message",
    "message",
    "ToolOutput",
    "TOOLOUTPUT",
    "Document",
    "Memory",
    "SystemPrompt",
    "custom",
];

pub(crate) const TAGS: [&str; 9] = ["db", "DB", "ui", "net", "Net", "ops", "log", "api", "etc"];

const TRUST: [&str; 9] = ["0.5", "1", "0.25", "-0.1", "1.5", "NaN", "inf", "high", ""];

pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

impl Blueprint {
    /// An item with nothing but what most cases need.
    pub(crate) fn new(id: i64, tokens: i64, hint: f64) -> Self {
        Self {
            id,
            content: format!("item {id}"),
            tokens,
            kind: "Message",
            priority: None,
            tags: Vec::new(),
            metadata: Vec::new(),
            seconds: None,
            hint: Some(hint),
            pinned: false,
        }
    }

    pub(crate) fn pinned(self) -> Self {
        Self { pinned: true, ..self }
    }

    pub(crate) fn random(rng: &mut Rng, id: i64, tokens: &[i64]) -> Self {
        let hints = [0.0, 0.25, 0.5, 0.5, 0.75, 1.0, 1.7, -0.3, f64::NAN, f64::INFINITY];
        let hint = if rng.chance(80) { rng.pick(&hints) } else { rng.unit() };
        let mut metadata = Vec::new();
        if rng.chance(60) {
            metadata.push(("cupel:trust", rng.pick(&TRUST)));
        }
        if rng.chance(40) {
            metadata.push(("cupel:priority", rng.pick(&["high", "High", "low"])));
        }
        let tags = if rng.chance(10) { rng.below(10) } else { rng.below(4) };
        Self {
            tokens: rng.pick(tokens),
            kind: rng.pick(&KINDS),
            priority: rng.chance(70).then(|| rng.between(-1, 2)),
            tags: (0..tags).map(|_| rng.pick(&TAGS)).collect(),
            metadata,
            seconds: rng.chance(70).then(|| rng.between(0, 4) * 1_800),
            hint: rng.chance(85).then_some(hint),
            ..Self::new(id, 0, 0.0)
        }
    }

    pub(crate) fn ours(&self) -> cupel::ContextItem {
        let mut builder = cupel::ContextItem::builder(self.content.as_str(), self.tokens)
            .kind(cupel::ContextKind::new(self.kind).unwrap())
            .tags(self.tags.clone())
            .metadata(self.metadata.clone())
            .pinned(self.pinned)
            .original_tokens(self.id);
        if let Some(priority) = self.priority {
            builder = builder.priority(priority);
        }
        if let Some(seconds) = self.seconds {
            builder = builder.timestamp(at(seconds));
        }
        if let Some(hint) = self.hint {
            builder = builder.future_relevance_hint(hint);
        }
        builder.build().unwrap()
    }

    pub(crate) fn theirs(&self) -> published::ContextItem {
        let metadata: HashMap<String, String> =
            self.metadata.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let mut builder = published::ContextItemBuilder::new(self.content.as_str(), self.tokens)
            .kind(published::ContextKind::new(self.kind).unwrap())
            .tags(self.tags.iter().map(|tag| (*tag).to_owned()).collect())
            .metadata(metadata)
            .pinned(self.pinned)
            .original_tokens(self.id);
        if let Some(priority) = self.priority {
            builder = builder.priority(priority);
        }
        if let Some(seconds) = self.seconds {
            builder = builder.timestamp(at(seconds));
        }
        if let Some(hint) = self.hint {
            builder = builder.future_relevance_hint(hint);
        }
        builder.build().unwrap()
    }
}

pub(crate) fn ours(items: &[Blueprint]) -> Vec<cupel::ContextItem> {
    items.iter().map(Blueprint::ours).collect()
}

pub(crate) fn theirs(items: &[Blueprint]) -> Vec<published::ContextItem> {
    items.iter().map(Blueprint::theirs).collect()
}

/// The identity of an item of ours.
pub(crate) fn id(item: &cupel::ContextItem) -> i64 {
    item.original_tokens().unwrap()
}

/// The identity of an item of theirs.
pub(crate) fn their_id(item: &published::ContextItem) -> i64 {
    item.original_tokens().unwrap()
}

pub(crate) fn budget((max, target, reserve): (i64, i64, i64)) -> cupel::ContextBudget {
    cupel::ContextBudget::new(max, target, reserve, HashMap::new(), 0.0).unwrap()
}

pub(crate) fn their_budget((max, target, reserve): (i64, i64, i64)) -> published::ContextBudget {
    published::ContextBudget::new(max, target, reserve, HashMap::new(), 0.0).unwrap()
}

pub(crate) fn without<T: Clone>(items: &[T], index: usize) -> Vec<T> {
    let mut rest = items.to_vec();
    rest.remove(index);
    rest
}
