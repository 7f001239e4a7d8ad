//! One candidate for the context window, its builder, and the hint of a judge about it.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};

use super::{ContextKind, ContextSource};
use crate::error::CupelError;

/// Seeded once a process, so that nobody can prepare contents that collide.
static CONTENT_HASHER: LazyLock<foldhash::fast::RandomState> =
    LazyLock::new(foldhash::fast::RandomState::default);

/// A piece of context: a message, a document, a tool's output, a memory.
///
/// A `ContextItem` is a handle over shared data that never changes. Cloning it counts a reference
/// and never copies text. Two handles are the *same item* when they share that data
/// ([`ContextItem::same`]); `==` compares all fields.
///
/// The token count, the pin and the hint of a judge belong to the handle. The layer may report the same item with the
/// tokens it takes in the request, without the pin of an optional source, or with a relevance; such
/// handles are not equal to the one it was given.
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
pub struct ContextItem {
    // The pipeline reads these fields of every candidate. They are in the handle, so that a list of
    // items is classified and deduplicated without following a pointer for each.
    tokens: i64,
    /// A hash of the content, with the lowest bits replaced by flags.
    hash_and_flags: u64,
    fields: Arc<ItemFields>,
    /// Hint of a judge, which replaces the item's own relevance signal.
    judged: Option<Arc<Hint>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ItemFields {
    content: Arc<str>,
    kind: ContextKind,
    source: ContextSource,
    pub(super) priority: Option<i64>,
    tags: Vec<String>,
    metadata: BTreeMap<String, String>,
    pub(super) timestamp: Option<DateTime<Utc>>,
    pub(super) future_relevance_hint: Option<f64>,
    pub(super) original_tokens: Option<i64>,
}

/// The item is always included.
const PINNED: u64 = 1;
/// The handle came out of a source.
const GATHERED: u64 = 2;
const FLAGS: u64 = PINNED | GATHERED;

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
        ContextItemBuilder {
            tokens: self.tokens,
            pinned: self.pinned(),
            gathered: self.is_gathered(),
            judged: self.judged.clone(),
            fields: ItemFields::clone(&self.fields),
        }
    }

    /// Returns `true` if both handles share one item, whatever their fields say.
    pub fn same(a: &Self, b: &Self) -> bool {
        Arc::ptr_eq(&a.fields, &b.fields)
    }

    /// A number that is equal for two live handles exactly when they are the same item.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.fields).addr()
    }

    /// The text.
    pub fn content(&self) -> &str {
        &self.fields.content
    }

    /// The text as a shared handle, to keep it without copying.
    pub fn shared_content(&self) -> Arc<str> {
        Arc::clone(&self.fields.content)
    }

    /// The caller's token count. Negative counts are excluded when the pipeline classifies.
    pub fn tokens(&self) -> i64 {
        self.tokens
    }

    /// Kind of the item; [`ContextKind::message`] unless set.
    pub fn kind(&self) -> &ContextKind {
        &self.fields.kind
    }

    /// Source of the item; [`ContextSource::chat`] unless set.
    pub fn source(&self) -> &ContextSource {
        &self.fields.source
    }

    /// The priority; higher is more important.
    pub fn priority(&self) -> Option<i64> {
        self.fields.priority
    }

    /// The tags, in the caller's order.
    pub fn tags(&self) -> &[String] {
        &self.fields.tags
    }

    /// The caller's own key-value data. Keys that begin with `cupel:` are reserved.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.fields.metadata
    }

    /// Time at which the item was created or observed.
    pub fn timestamp(&self) -> Option<DateTime<Utc>> {
        self.fields.timestamp
    }

    /// The relevance signal, conventionally in `[0.0, 1.0]`: a judge's, or else the caller's.
    pub fn future_relevance_hint(&self) -> Option<f64> {
        match &self.judged {
            Some(hint) => Some(hint.value()),
            None => self.fields.future_relevance_hint,
        }
    }

    /// The same item with the hint of a judge.
    ///
    /// ```
    /// use cupel::ContextItem;
    /// use cupel::relevance::Hint;
    ///
    /// let item = ContextItem::new("Refunded on Monday.", 5)?;
    /// let judged = item.clone().with_hint(Hint::new(0.8).with_words(["refund"]));
    /// assert_eq!(judged.future_relevance_hint(), Some(0.8));
    /// assert_eq!(judged.matched_words().collect::<Vec<_>>(), ["refund"]);
    /// assert!(ContextItem::same(&item, &judged));
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    #[must_use]
    pub fn with_hint(mut self, hint: Hint) -> Self {
        self.set_hint(hint);
        self
    }

    /// The words of the question that a judge found in it, the most telling first.
    pub fn matched_words(&self) -> impl Iterator<Item = &str> {
        self.judged.iter().flat_map(|hint| hint.words())
    }

    /// Returns `true` if the item is always included, without being scored or sliced.
    pub fn pinned(&self) -> bool {
        self.hash_and_flags & PINNED != 0
    }

    /// Returns `true` if the layer got this handle from a source, and not from the request itself.
    pub(crate) fn is_gathered(&self) -> bool {
        self.hash_and_flags & GATHERED != 0
    }

    /// The token count before the caller shortened the item; not used by the pipeline.
    pub fn original_tokens(&self) -> Option<i64> {
        self.fields.original_tokens
    }

    /// Corrects the token count; the handle stays one of the same item.
    pub(crate) fn set_tokens(&mut self, tokens: i64) {
        self.tokens = tokens;
    }

    /// Sets the hint of a judge; the handle stays one of the same item.
    pub(crate) fn set_hint(&mut self, hint: Hint) {
        self.judged = Some(Arc::new(hint));
    }

    /// Sets the relevance, and keeps the words that the judge found.
    pub(crate) fn set_hint_value(&mut self, value: f64) {
        let words = self.judged.as_deref().cloned().unwrap_or_default();
        self.set_hint(words.with_value(value));
    }

    /// Records whether a source gave this handle.
    pub(crate) fn set_gathered(&mut self, gathered: bool) {
        self.set_flag(GATHERED, gathered);
    }

    /// Sets whether the item is always included; the handle stays one of the same item.
    pub(crate) fn set_pinned(&mut self, pinned: bool) {
        self.set_flag(PINNED, pinned);
    }

    fn set_flag(&mut self, flag: u64, set: bool) {
        self.hash_and_flags = (self.hash_and_flags & !flag) | if set { flag } else { 0 };
    }

    /// A hash of the content bytes, for this process only.
    pub(crate) fn content_hash(&self) -> u64 {
        self.hash_and_flags & !FLAGS
    }
}

impl PartialEq for ContextItem {
    fn eq(&self, other: &Self) -> bool {
        self.tokens == other.tokens
            // Where a handle came from is no field of the item.
            && self.hash_and_flags | GATHERED == other.hash_and_flags | GATHERED
            && self.judged == other.judged
            && (Self::same(self, other) || self.fields == other.fields)
    }
}

impl fmt::Debug for ContextItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextItem")
            .field("content", &self.fields.content)
            .field("tokens", &self.tokens)
            .field("kind", &self.fields.kind)
            .field("source", &self.fields.source)
            .field("priority", &self.fields.priority)
            .field("tags", &self.fields.tags)
            .field("metadata", &self.fields.metadata)
            .field("timestamp", &self.fields.timestamp)
            .field("future_relevance_hint", &self.future_relevance_hint())
            .field("pinned", &self.pinned())
            .field("original_tokens", &self.fields.original_tokens)
            .finish()
    }
}

/// Builds a [`ContextItem`].
#[derive(Debug)]
#[must_use = "an item exists only after build()"]
pub struct ContextItemBuilder {
    tokens: i64,
    pinned: bool,
    gathered: bool,
    judged: Option<Arc<Hint>>,
    pub(super) fields: ItemFields,
}

// A builder is a few hundred bytes: inlined, its steps write into one place instead of each
// copying it.
impl ContextItemBuilder {
    /// Starts an item with its two required fields.
    #[inline]
    pub fn new(content: impl Into<Arc<str>>, tokens: i64) -> Self {
        Self {
            tokens,
            pinned: false,
            gathered: false,
            judged: None,
            fields: ItemFields {
                content: content.into(),
                kind: ContextKind::default(),
                source: ContextSource::default(),
                priority: None,
                tags: Vec::new(),
                metadata: BTreeMap::new(),
                timestamp: None,
                future_relevance_hint: None,
                original_tokens: None,
            },
        }
    }

    /// Sets what the item is.
    #[inline]
    pub fn kind(mut self, kind: ContextKind) -> Self {
        self.fields.kind = kind;
        self
    }

    /// Sets where the item came from.
    #[inline]
    pub fn source(mut self, source: ContextSource) -> Self {
        self.fields.source = source;
        self
    }

    /// Sets the priority; higher is more important.
    #[inline]
    pub fn priority(mut self, priority: i64) -> Self {
        self.fields.priority = Some(priority);
        self
    }

    /// Adds one tag.
    #[inline]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.fields.tags.push(tag.into());
        self
    }

    /// Replaces all tags.
    #[inline]
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.fields.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Adds one metadata entry; a later value replaces an earlier one for the same key.
    #[inline]
    pub fn metadata_entry(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.metadata.insert(key.into(), value.into());
        self
    }

    /// Replaces all metadata.
    #[inline]
    pub fn metadata<K: Into<String>, V: Into<String>>(
        mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.fields.metadata =
            entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self
    }

    /// Sets when the item was created or observed.
    #[inline]
    pub fn timestamp(mut self, timestamp: DateTime<Utc>) -> Self {
        self.fields.timestamp = Some(timestamp);
        self
    }

    /// Sets the caller's relevance signal, conventionally in `[0.0, 1.0]`.
    #[inline]
    pub fn future_relevance_hint(mut self, hint: f64) -> Self {
        self.fields.future_relevance_hint = Some(hint);
        self.judged = None;
        self
    }

    /// Sets whether the item is always included.
    #[inline]
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// Records the token count before the caller shortened the item.
    #[inline]
    pub fn original_tokens(mut self, tokens: i64) -> Self {
        self.fields.original_tokens = Some(tokens);
        self
    }

    /// Finishes the item.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when the content is empty.
    #[inline]
    pub fn build(self) -> Result<ContextItem, CupelError> {
        if self.fields.content.is_empty() {
            return Err(CupelError::InvalidItem {
                field: "content",
                problem: "got an empty string, expected at least one character".to_owned(),
            });
        }
        let hash = CONTENT_HASHER.hash_one(self.fields.content.as_bytes());
        let flags = if self.pinned { PINNED } else { 0 } | if self.gathered { GATHERED } else { 0 };
        Ok(ContextItem {
            tokens: self.tokens,
            hash_and_flags: (hash & !FLAGS) | flags,
            fields: Arc::new(self.fields),
            judged: self.judged,
        })
    }
}

/// Relevance of a text to the question, from 0 to 1, and the words that matched.
///
/// ```
/// use cupel::relevance::Hint;
///
/// let hint = Hint::new(0.8).with_words(["refund", "INV-2041"]);
/// assert_eq!(hint.words().collect::<Vec<_>>(), ["refund", "INV-2041"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Hint {
    value: f64,
    /// Shared, since many texts match the same words.
    words: Option<Arc<[Box<str>]>>,
}

impl Hint {
    /// A hint without words. A value that is not a number from 0 to 1 is ignored.
    pub fn new(value: f64) -> Self {
        Self { value, words: None }
    }

    /// Adds the words that matched, the most telling first.
    pub fn with_words<W: Into<Box<str>>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words = Some(words.into_iter().map(Into::into).collect());
        self
    }

    /// As [`with_words`](Self::with_words), for words that other texts share.
    pub(crate) fn with_shared_words(mut self, words: Option<Arc<[Box<str>]>>) -> Self {
        self.words = words;
        self
    }

    /// The same words with another value.
    pub(crate) fn with_value(mut self, value: f64) -> Self {
        self.value = value;
        self
    }

    /// Relevance from 0, none, to 1.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The words of the question that the text has, the most telling first.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(|words| words.iter()).map(|word| &**word)
    }
}
