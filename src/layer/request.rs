//! The crate's own request: items and any payload.

use std::sync::Arc;

use super::{ContextAdapter, Edits, Origin, PlacedItem, Split, Strategy};
use crate::error::CupelError;
use crate::gather::BoxError;
use crate::model::{ContextItem, ContextKind, Fold};
use crate::relevance::Question;

/// Items to select from, and a payload that passes through untouched.
///
/// Items that must stay together go in as a unit: the unit is kept or dropped as a whole, and its
/// items come out next to each other, in their order.
///
/// ```
/// use cupel::layer::ContextRequest;
/// use cupel::ContextItem;
///
/// let request = ContextRequest::new("gpt-4o")
///     .item(ContextItem::builder("What is 6 x 7?", 6).pinned(true).build()?)
///     .unit([ContextItem::new("call multiply(6, 7)", 5)?, ContextItem::new("42", 1)?])?
///     .fixed_tokens(12);
/// assert_eq!(request.items().count(), 3);
/// assert_eq!(request.payload, "gpt-4o");
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct ContextRequest<T> {
    /// Whatever else the wrapped service needs.
    pub payload: T,
    units: Vec<RequestUnit>,
    fixed_tokens: i64,
    question: Option<Question>,
}

/// One candidate: an item, or several that stay together.
#[derive(Debug, Clone, PartialEq)]
enum RequestUnit {
    One(ContextItem),
    Several {
        folded: ContextItem,
        members: Arc<[ContextItem]>,
    },
    /// Placeholder of an item while the pipeline has it.
    Out,
}

impl RequestUnit {
    /// Takes the candidate out. Several items stay, to be unfolded again.
    fn candidate(&mut self) -> Option<ContextItem> {
        match std::mem::replace(self, Self::Out) {
            Self::One(item) => Some(item),
            Self::Several { folded, members } => {
                *self = Self::Several { folded: folded.clone(), members };
                Some(folded)
            }
            Self::Out => None,
        }
    }

    fn items(&self) -> &[ContextItem] {
        match self {
            Self::One(item) => std::slice::from_ref(item),
            Self::Several { members, .. } => members,
            Self::Out => &[],
        }
    }
}

impl<T> ContextRequest<T> {
    /// A request without items.
    pub fn new(payload: T) -> Self {
        Self { payload, units: Vec::new(), fixed_tokens: 0, question: None }
    }

    /// Adds an item.
    pub fn item(mut self, item: ContextItem) -> Self {
        self.units.push(RequestUnit::One(item));
        self
    }

    /// Adds several items, each on its own.
    pub fn with_items(mut self, items: impl IntoIterator<Item = ContextItem>) -> Self {
        self.units.extend(items.into_iter().map(RequestUnit::One));
        self
    }

    /// Adds items that are kept or dropped together.
    ///
    /// To the pipeline a unit is one item: its tokens are the sum, it is pinned when any member
    /// is, it has the latest timestamp, the highest priority and the highest relevance of its
    /// members, all their tags, and the first member's kind, source and metadata. A member with a
    /// negative token count makes the pipeline exclude the whole unit.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when there are no items.
    pub fn unit(
        mut self,
        items: impl IntoIterator<Item = ContextItem>,
    ) -> Result<Self, CupelError> {
        let members: Arc<[ContextItem]> = items.into_iter().collect();
        let folded = fold(&members)?;
        self.units.push(RequestUnit::Several { folded, members });
        Ok(self)
    }

    /// Sets the tokens of everything that is sent whatever is selected.
    pub fn fixed_tokens(mut self, tokens: i64) -> Self {
        self.fixed_tokens = tokens;
        self
    }

    /// Sets what is asked, for a policy that uses it. Unless set, it is the last item, if that is a
    /// pinned message.
    pub fn question(mut self, question: impl Into<Question>) -> Self {
        self.question = Some(question.into());
        self
    }

    /// Question of the request.
    fn asked(&self) -> Option<Question> {
        let last = || {
            let last = self.units.last()?.items().last()?;
            let is_question = last.pinned() && *last.kind() == ContextKind::message();
            is_question.then(|| Question::new(last.shared_content()))
        };
        self.question.clone().or_else(last)
    }

    /// The items, those of units one by one: after the layer, the selection in its final order.
    pub fn items(&self) -> impl Iterator<Item = &ContextItem> {
        self.units.iter().flat_map(RequestUnit::items)
    }
}

/// One item that stands for all items of a unit.
fn fold(members: &[ContextItem]) -> Result<ContextItem, CupelError> {
    let Some(first) = members.first() else {
        return Err(CupelError::InvalidItem {
            field: "unit",
            problem: "got no items, expected at least one".to_owned(),
        });
    };
    let mut fold = Fold::default();
    for item in members {
        fold.add(item.tokens(), item.pinned(), item.timestamp());
        fold.add_hints(item.priority(), item.future_relevance_hint(), item.tags());
    }
    let content: Vec<&str> = members.iter().map(ContextItem::content).collect();
    fold.into_item(content.join("\n"))
        .kind(first.kind().clone())
        .source(first.source().clone())
        .metadata(first.metadata().clone())
        .build()
}

/// The adapter for [`ContextRequest`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextRequestAdapter;

impl<T: Send + 'static> ContextAdapter<ContextRequest<T>> for ContextRequestAdapter {
    type Rest = ContextRequest<T>;

    fn split(
        &self,
        mut request: ContextRequest<T>,
        _: Strategy,
    ) -> Result<Split<Self::Rest>, BoxError> {
        let question = request.asked();
        let mut candidates = Vec::with_capacity(request.units.len());
        candidates.extend(request.units.iter_mut().filter_map(RequestUnit::candidate));
        let mut split = Split::new(candidates, request.fixed_tokens, request);
        split.question = question;
        split.recounts_sources = false;
        Ok(split)
    }

    fn join(&self, mut rest: Self::Rest, edits: &mut Edits) -> Result<ContextRequest<T>, BoxError> {
        let mut units = std::mem::take(&mut rest.units);
        rest.units = std::mem::take(&mut edits.placed)
            .into_iter()
            .map(|PlacedItem { item, origin }| match origin {
                Origin::Request(index) => match units.get_mut(index) {
                    Some(unit @ RequestUnit::Several { .. }) => {
                        std::mem::replace(unit, RequestUnit::Out)
                    }
                    _ => RequestUnit::One(item),
                },
                Origin::Source { .. } => RequestUnit::One(item),
            })
            .collect();
        Ok(rest)
    }
}
