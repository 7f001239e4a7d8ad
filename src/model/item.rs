//! One candidate for the context window, and its builder.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};

use super::{ContextKind, ContextSource};
use crate::error::CupelError;

/// Seeded once a process, so that nobody can prepare contents that collide.
static CONTENT_HASHER: LazyLock<foldhash::fast::RandomState> =
    LazyLock::new(foldhash::fast::RandomState::default);

/// An immutable piece of context: a message, a document, a tool's output, a memory.
///
/// A `ContextItem` is a handle over shared data. Cloning it counts a reference and never copies
/// text. Two handles are the *same item* when they share that data ([`ContextItem::same`]); `==`
/// compares the fields.
///
/// ```
/// use cupel::{ContextItem, ContextKind, ContextSource};
///
/// let item = ContextItem::builder("SELECT is slow since 14:02", 6)
///     .kind(ContextKind::tool_output())
///     .source(ContextSource::tool())
///     .future_relevance_hint(0.9)
///     .build()?;
/// let twin = ContextItem::builder("SELECT is slow since 14:02", 6)
///     .kind(ContextKind::tool_output())
///     .source(ContextSource::tool())
///     .future_relevance_hint(0.9)
///     .build()?;
/// assert_eq!(item, twin);
/// assert!(!ContextItem::same(&item, &twin));
/// assert!(ContextItem::same(&item, &item.clone()));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Clone)]
pub struct ContextItem(Arc<Fields>);

/// In memory order: what the pipeline reads of every candidate comes first, on one cache line.
#[repr(C)]
struct Fields {
    tokens: i64,
    /// Hash of the content, 0 until somebody asks for it.
    content_hash: AtomicU64,
    future_relevance_hint: Option<f64>,
    pinned: bool,
    timestamp: Option<DateTime<Utc>>,
    priority: Option<i64>,
    kind: ContextKind,
    source: ContextSource,
    content: Arc<str>,
    tags: Vec<String>,
    metadata: BTreeMap<String, String>,
    original_tokens: Option<i64>,
}

impl ContextItem {
    /// Creates an item with every optional field at its default.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when `content` is empty.
    pub fn new(content: impl Into<Arc<str>>, tokens: i64) -> Result<Self, CupelError> {
        Self::builder(content, tokens).build()
    }

    /// Starts an item with its two required fields.
    pub fn builder(content: impl Into<Arc<str>>, tokens: i64) -> ContextItemBuilder {
        ContextItemBuilder::new(content, tokens)
    }

    /// Starts a changed copy of this item; the content text is shared, not copied.
    pub fn to_builder(&self) -> ContextItemBuilder {
        let fields = &*self.0;
        ContextItemBuilder {
            fields: Fields {
                tokens: fields.tokens,
                pinned: fields.pinned,
                future_relevance_hint: fields.future_relevance_hint,
                timestamp: fields.timestamp,
                priority: fields.priority,
                content_hash: AtomicU64::new(fields.content_hash.load(Ordering::Relaxed)),
                kind: fields.kind.clone(),
                source: fields.source.clone(),
                content: Arc::clone(&fields.content),
                tags: fields.tags.clone(),
                metadata: fields.metadata.clone(),
                original_tokens: fields.original_tokens,
            },
        }
    }

    /// Whether both handles name the same item, whatever their fields say.
    #[must_use]
    pub fn same(a: &Self, b: &Self) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }

    /// A number that is equal for two live handles exactly when they are the same item.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The text.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.0.content
    }

    /// The text as a shared handle, to keep it without copying.
    #[must_use]
    pub fn shared_content(&self) -> Arc<str> {
        Arc::clone(&self.0.content)
    }

    /// The caller's token count. Negative counts are excluded when the pipeline classifies.
    #[must_use]
    pub fn tokens(&self) -> i64 {
        self.0.tokens
    }

    /// What the item is; [`ContextKind::message`] unless set.
    #[must_use]
    pub fn kind(&self) -> &ContextKind {
        &self.0.kind
    }

    /// Where the item came from; [`ContextSource::chat`] unless set.
    #[must_use]
    pub fn source(&self) -> &ContextSource {
        &self.0.source
    }

    /// The priority; higher is more important.
    #[must_use]
    pub fn priority(&self) -> Option<i64> {
        self.0.priority
    }

    /// The tags, in the caller's order.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.0.tags
    }

    /// The caller's own key-value data. Keys that begin with `cupel:` are reserved.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// When the item was created or observed.
    #[must_use]
    pub fn timestamp(&self) -> Option<DateTime<Utc>> {
        self.0.timestamp
    }

    /// The caller's relevance signal, conventionally in `[0.0, 1.0]`.
    #[must_use]
    pub fn future_relevance_hint(&self) -> Option<f64> {
        self.0.future_relevance_hint
    }

    /// Whether the item is always included, without being scored or sliced.
    #[must_use]
    pub fn pinned(&self) -> bool {
        self.0.pinned
    }

    /// The token count before the caller shortened the item; not used by the pipeline.
    #[must_use]
    pub fn original_tokens(&self) -> Option<i64> {
        self.0.original_tokens
    }

    /// The hash of the content bytes, computed once an item.
    pub(crate) fn content_hash(&self) -> u64 {
        let cached = self.0.content_hash.load(Ordering::Relaxed);
        if cached != 0 {
            return cached;
        }
        // `| 1` keeps 0 free to mean "not computed"; two threads at worst do the same work.
        let hash = CONTENT_HASHER.hash_one(self.0.content.as_bytes()) | 1;
        self.0.content_hash.store(hash, Ordering::Relaxed);
        hash
    }
}

impl PartialEq for ContextItem {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        Self::same(self, other)
            || (a.content == b.content
                && a.tokens == b.tokens
                && a.kind == b.kind
                && a.source == b.source
                && a.priority == b.priority
                && a.tags == b.tags
                && a.metadata == b.metadata
                && a.timestamp == b.timestamp
                && a.future_relevance_hint == b.future_relevance_hint
                && a.pinned == b.pinned
                && a.original_tokens == b.original_tokens)
    }
}

impl fmt::Debug for ContextItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(f, "ContextItem")
    }
}

impl Fields {
    fn debug(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("content", &self.content)
            .field("tokens", &self.tokens)
            .field("kind", &self.kind)
            .field("source", &self.source)
            .field("priority", &self.priority)
            .field("tags", &self.tags)
            .field("metadata", &self.metadata)
            .field("timestamp", &self.timestamp)
            .field("future_relevance_hint", &self.future_relevance_hint)
            .field("pinned", &self.pinned)
            .field("original_tokens", &self.original_tokens)
            .finish()
    }
}

/// Builds a [`ContextItem`].
#[must_use = "an item exists only after build()"]
pub struct ContextItemBuilder {
    fields: Fields,
}

impl ContextItemBuilder {
    /// Starts an item with its two required fields.
    pub fn new(content: impl Into<Arc<str>>, tokens: i64) -> Self {
        Self {
            fields: Fields {
                tokens,
                pinned: false,
                future_relevance_hint: None,
                timestamp: None,
                priority: None,
                content_hash: AtomicU64::new(0),
                kind: ContextKind::default(),
                source: ContextSource::default(),
                content: content.into(),
                tags: Vec::new(),
                metadata: BTreeMap::new(),
                original_tokens: None,
            },
        }
    }

    /// Sets what the item is.
    pub fn kind(mut self, kind: ContextKind) -> Self {
        self.fields.kind = kind;
        self
    }

    /// Sets where the item came from.
    pub fn source(mut self, source: ContextSource) -> Self {
        self.fields.source = source;
        self
    }

    /// Sets the priority; higher is more important.
    pub fn priority(mut self, priority: i64) -> Self {
        self.fields.priority = Some(priority);
        self
    }

    /// Adds one tag.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.fields.tags.push(tag.into());
        self
    }

    /// Replaces all tags.
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.fields.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Adds one metadata entry; a later value replaces an earlier one for the same key.
    pub fn metadata_entry(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.metadata.insert(key.into(), value.into());
        self
    }

    /// Replaces all metadata.
    pub fn metadata<K: Into<String>, V: Into<String>>(
        mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.fields.metadata =
            entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self
    }

    /// Sets when the item was created or observed.
    pub fn timestamp(mut self, timestamp: DateTime<Utc>) -> Self {
        self.fields.timestamp = Some(timestamp);
        self
    }

    /// Sets the caller's relevance signal, conventionally in `[0.0, 1.0]`.
    pub fn future_relevance_hint(mut self, hint: f64) -> Self {
        self.fields.future_relevance_hint = Some(hint);
        self
    }

    /// Sets whether the item is always included.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.fields.pinned = pinned;
        self
    }

    /// Records the token count before the caller shortened the item.
    pub fn original_tokens(mut self, tokens: i64) -> Self {
        self.fields.original_tokens = Some(tokens);
        self
    }

    /// Finishes the item.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when the content is empty.
    pub fn build(self) -> Result<ContextItem, CupelError> {
        if self.fields.content.is_empty() {
            return Err(CupelError::InvalidItem {
                field: "content",
                problem: "got an empty string, expected at least one character".to_owned(),
            });
        }
        Ok(ContextItem(Arc::new(self.fields)))
    }
}

impl fmt::Debug for ContextItemBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.debug(f, "ContextItemBuilder")
    }
}
