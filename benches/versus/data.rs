//! The same candidates for both libraries: about 230 bytes each, 20 tags, some duplicates.

use chrono::{DateTime, Utc};

use cupel_dev::random::Random;

pub(crate) struct Raw {
    content: String,
    tokens: i64,
    kind: &'static str,
    priority: i64,
    tags: Vec<String>,
    timestamp: DateTime<Utc>,
    hint: f64,
}

const WORDS: [&str; 16] = [
    "payment", "timeout", "retry", "ledger", "invoice", "gateway", "queue", "deploy", "replica",
    "latency", "customer", "refund", "session", "cache", "schema", "alert",
];
const KINDS: [&str; 5] = ["Message", "Document", "ToolOutput", "Memory", "SystemPrompt"];

pub(crate) fn raw(n: usize) -> Vec<Raw> {
    let mut random = Random(42);
    let mut all: Vec<Raw> = Vec::with_capacity(n);
    for i in 0..n {
        // One in fifty repeats an earlier text, as two retrievers over one corpus do.
        let content = if i > 10 && random.below(50) == 0 {
            all[random.below(i)].content.clone()
        } else {
            let mut text = format!("#{i}");
            while text.len() < 225 {
                text.push(' ');
                text.push_str(WORDS[random.below(16)]);
            }
            text
        };
        all.push(Raw {
            content,
            tokens: 40 + random.below(40) as i64,
            kind: KINDS[random.below(5)],
            priority: random.below(100) as i64,
            tags: (0..1 + random.below(3)).map(|_| format!("tag-{}", random.below(20))).collect(),
            timestamp: DateTime::from_timestamp(1_700_000_000 + random.below(1 << 22) as i64, 0)
                .unwrap(),
            hint: random.unit(),
        });
    }
    all
}

pub(crate) fn ours(raw: &[Raw]) -> Vec<cupel::ContextItem> {
    let item = |raw: &Raw| {
        cupel::ContextItem::builder(raw.content.as_str(), raw.tokens)
            .kind(raw.kind.parse().unwrap())
            .priority(raw.priority)
            .tags(raw.tags.clone())
            .timestamp(raw.timestamp)
            .future_relevance_hint(raw.hint)
            .build()
            .unwrap()
    };
    raw.iter().map(item).collect()
}

pub(crate) fn published(raw: &[Raw]) -> Vec<published::ContextItem> {
    let item = |raw: &Raw| {
        published::ContextItemBuilder::new(raw.content.as_str(), raw.tokens)
            .kind(published::ContextKind::new(raw.kind).unwrap())
            .priority(raw.priority)
            .tags(raw.tags.clone())
            .timestamp(raw.timestamp)
            .future_relevance_hint(raw.hint)
            .build()
            .unwrap()
    };
    raw.iter().map(item).collect()
}
