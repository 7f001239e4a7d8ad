//! Data of the page, for its script.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use foldhash::HashMap;
use serde::Serialize;

use super::super::difference::Difference;
use super::super::totals::{WindowTotals, selected_tokens};
use super::super::words::{Texts, meaning};
use super::super::{Explanation, PromptCache, SourceTiming};
use crate::diagnostics::{ItemDetails, TraceEvent};
use crate::error::split_chars;
use crate::model::{ContextItem, is_default};
use crate::scorer::ScoreParts;
use crate::tool_choice::{ReportedTool, ToolReport};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageData<'a> {
    title: Option<&'a str>,
    /// `true` if texts are shown.
    texts: bool,
    candidates: usize,
    candidate_tokens: i64,
    included: usize,
    included_tokens: i64,
    excluded: usize,
    fixed: i64,
    window: Option<WindowTotals>,
    kinds: NumberedNames<'a>,
    sources: NumberedNames<'a>,
    reasons: Vec<ReasonData<'a>>,
    /// The selection in its order, what was left out, and what is no candidate any more.
    items: Vec<ItemData<'a>>,
    stages: Vec<StageData<'a>>,
    gathered_ms: Option<f64>,
    gathered: Vec<SourceTiming>,
    notes: &'a [String],
    shortfalls: Vec<String>,
    difference: Option<DifferenceData>,
    cache: Option<&'a PromptCache>,
    tool_tokens: i64,
    tools: Option<ToolData<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReasonData<'a> {
    name: &'a str,
    meaning: &'static str,
}

/// Short names: there may be ten thousand.
#[derive(Serialize, Default)]
struct ItemData<'a> {
    /// Kind, source and reason by number.
    k: usize,
    s: usize,
    r: usize,
    /// Tokens, score.
    t: i64,
    #[serde(with = "crate::model::float")]
    c: f64,
    /// The text, and how many characters of it are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<&'a str>,
    #[serde(skip_serializing_if = "is_default")]
    cut: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pinned: bool,
    #[serde(skip_serializing_if = "Option::is_none", with = "crate::model::float::option")]
    hint: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original: Option<i64>,
    #[serde(skip_serializing_if = "is_default")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "is_default")]
    matched: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<ScoreParts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'a str>,
    /// Since the call before: `k`ept, `n`ew, `d`ropped, or `g`one with its candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    d: Option<char>,
}

#[derive(Serialize)]
struct StageData<'a> {
    name: &'a str,
    ms: f64,
    items: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

/// Tools that were sent and left out.
#[derive(Serialize)]
struct ToolData<'a> {
    line: String,
    /// Those that were sent first, each by its score.
    list: Vec<ToolRow<'a>>,
}

#[derive(Serialize)]
struct ToolRow<'a> {
    name: &'a str,
    tokens: i64,
    #[serde(with = "crate::model::float")]
    score: f64,
    reason: &'static str,
    sent: bool,
}

impl<'a> ToolData<'a> {
    fn of(tools: &'a ToolReport, texts: Texts) -> Self {
        let row = |tool: &'a ReportedTool| ToolRow {
            name: if texts.0 { &tool.name } else { "" },
            tokens: tool.tokens,
            score: tool.score,
            reason: tool.reason.as_str(),
            sent: tool.is_sent(),
        };
        let mut list: Vec<ToolRow<'a>> = tools.tools.iter().map(row).collect();
        list.sort_by(|a, b| b.sent.cmp(&a.sent).then(b.score.total_cmp(&a.score)));
        Self { line: tools.describe(), list }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceData {
    prefix_items: usize,
    prefix_tokens: i64,
    before_items: usize,
    before_tokens: i64,
    /// The earlier selection, in its order, by numbers of items; kept ones are in the selection.
    before: Vec<usize>,
}

/// Names by number, in the order of their first appearance. Upper and lower case are the same.
#[derive(Default)]
struct NumberedNames<'a> {
    names: Vec<&'a str>,
    numbers: HashMap<String, usize>,
}

impl<'a> NumberedNames<'a> {
    fn number(&mut self, name: &'a str) -> usize {
        let Self { names, numbers } = self;
        *numbers.entry(name.to_ascii_lowercase()).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        })
    }
}

impl Serialize for NumberedNames<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.names.serialize(serializer)
    }
}

/// Reason of an item that was sent before and is no candidate now. No report has it.
const GONE: ReasonData<'static> =
    ReasonData { name: "NoCandidate", meaning: "sent in the call before, no candidate any more" };

struct ItemCollector<'a> {
    texts: Texts,
    text_limit: usize,
    kinds: NumberedNames<'a>,
    sources: NumberedNames<'a>,
    reasons: NumberedNames<'a>,
    meanings: Vec<ReasonData<'a>>,
}

impl<'a> ItemCollector<'a> {
    fn reason(&mut self, name: &'a str, meaning: &'static str) -> usize {
        let number = self.reasons.number(name);
        if number == self.meanings.len() {
            self.meanings.push(ReasonData { name, meaning });
        }
        number
    }

    fn item(
        &mut self,
        item: &'a ContextItem,
        score: f64,
        details: Option<&'a ItemDetails>,
    ) -> ItemData<'a> {
        let texts = self.texts.0;
        let (text, rest) = split_chars(item.content(), self.text_limit);
        let metadata = Some(item.metadata()).filter(|metadata| texts && !metadata.is_empty());
        let parts = details.and_then(|details| details.score.as_ref());
        let matched = details.map(|details| &*details.matched_words).filter(|_| texts);
        ItemData {
            k: self.kinds.number(self.texts.kind(item)),
            s: self.sources.number(self.texts.source(item)),
            t: item.tokens(),
            c: score,
            x: texts.then_some(text),
            cut: if texts { rest.chars().count() } else { 0 },
            pinned: item.pinned(),
            hint: item.future_relevance_hint(),
            priority: item.priority(),
            at: item.timestamp(),
            original: item.original_tokens(),
            tags: if texts { item.tags() } else { &[] },
            meta: metadata,
            matched: matched.unwrap_or_default(),
            parts: parts.map(|parts| if texts { parts.clone() } else { parts.without_notes() }),
            part: details.and_then(|details| details.part.as_deref()),
            ..ItemData::default()
        }
    }
}

impl<'a> PageData<'a> {
    pub(super) fn of(
        explanation: &'a Explanation,
        previous: Option<&'a Explanation>,
        texts: Texts,
        text_limit: usize,
    ) -> Self {
        let report = &explanation.report;
        let mut collector = ItemCollector {
            texts,
            text_limit,
            kinds: NumberedNames::default(),
            sources: NumberedNames::default(),
            reasons: NumberedNames::default(),
            meanings: Vec::new(),
        };
        let mut items = Vec::with_capacity(report.total_candidates.min(1 << 20));
        for entry in &report.included {
            let r = collector.reason(texts.included(&entry.reason), "selected");
            let data = collector.item(&entry.item, entry.score, entry.details.as_deref());
            items.push(ItemData { r, ..data });
        }
        for entry in &report.excluded {
            let r = collector.reason(texts.excluded(&entry.reason), meaning(&entry.reason));
            let data = collector.item(&entry.item, entry.score, entry.details.as_deref());
            items.push(ItemData { r, why: texts.why(&entry.reason), ..data });
        }
        let difference = previous.map(|previous| {
            let difference = explanation.since(previous);
            compare(&mut collector, &mut items, explanation, previous, &difference)
        });
        let gathered = |source: &SourceTiming| SourceTiming {
            detail: source.detail.clone().filter(|_| texts.0),
            ..source.clone()
        };
        let shortfalls = report.count_requirement_shortfalls.iter();
        Self {
            title: explanation.title.as_deref(),
            texts: texts.0,
            candidates: report.total_candidates,
            candidate_tokens: report.total_tokens_considered,
            included: report.included.len(),
            included_tokens: selected_tokens(report),
            excluded: report.excluded.len(),
            fixed: explanation.fixed_tokens,
            window: WindowTotals::of(explanation),
            kinds: collector.kinds,
            sources: collector.sources,
            reasons: collector.meanings,
            items,
            stages: report.events.iter().filter_map(stage).collect(),
            gathered_ms: explanation.gathered_ms,
            gathered: explanation.sources.iter().map(gathered).collect(),
            notes: if texts.0 { &explanation.notes } else { &[] },
            shortfalls: shortfalls.map(|shortfall| texts.shortfall(shortfall)).collect(),
            difference,
            cache: explanation.cache.as_ref(),
            tool_tokens: explanation.tool_tokens.max(0),
            tools: explanation.tools.as_ref().map(|tools| ToolData::of(tools, texts)),
        }
    }
}

/// Marks what moved, and adds what is gone.
fn compare<'a>(
    collector: &mut ItemCollector<'a>,
    items: &mut Vec<ItemData<'a>>,
    explanation: &'a Explanation,
    previous: &'a Explanation,
    difference: &Difference,
) -> DifferenceData {
    let mut mark = |position: usize, mark: char| {
        if let Some(item) = items.get_mut(position) {
            item.d = Some(mark);
        }
    };
    let included = explanation.report.included.len();
    difference.kept.iter().for_each(|position| mark(*position, 'k'));
    difference.new.iter().for_each(|position| mark(*position, 'n'));
    for dropped in &difference.dropped {
        if let Some(now) = dropped.now {
            mark(included + now, 'd');
        }
    }
    let mut dropped = difference.dropped.iter().peekable();
    let mut before = Vec::with_capacity(previous.report.included.len());
    let mut kept = difference.kept_before.iter();
    for (position, entry) in previous.report.included.iter().enumerate() {
        let number = match dropped.next_if(|dropped| dropped.before == position) {
            Some(dropped) => match dropped.now {
                Some(now) => included + now,
                None => {
                    let r = collector.reason(GONE.name, GONE.meaning);
                    let data = collector.item(&entry.item, entry.score, entry.details.as_deref());
                    items.push(ItemData { r, d: Some('g'), ..data });
                    items.len() - 1
                }
            },
            None => kept.next().copied().unwrap_or_default(),
        };
        before.push(number);
    }
    DifferenceData {
        prefix_items: difference.prefix_items,
        prefix_tokens: difference.prefix_tokens,
        before_items: previous.report.included.len(),
        before_tokens: selected_tokens(&previous.report),
        before,
    }
}

/// Events about single items are not shown.
fn stage(event: &TraceEvent) -> Option<StageData<'_>> {
    let is_stage = event.message.is_none() || event.item_count_out.is_some();
    is_stage.then(|| StageData {
        name: event.stage.name(),
        ms: event.duration_ms,
        items: event.item_count,
        out: event.item_count_out,
        note: event.message.as_deref(),
    })
}
