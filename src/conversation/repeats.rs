//! Finds what sources bring although the request holds it already.

use std::borrow::Cow;

use foldhash::HashMap;

use super::held_texts::HeldTexts;
use super::message::{Message, Texts};
use super::plan::{Part, PlanOutcome};
use super::units::Conversation;
use crate::model::{ContextItem, Hint, Origin, PlacedItem};

/// Least hint of an earlier message that is recalled by itself.
const LEAST: f64 = 0.01;

/// Reason in reports.
const IN_REQUEST: &str = "the request holds the same text";

impl Conversation {
    /// Takes out of the lists of sources what the plan sends anyway, or has compete as a message of the
    /// conversation. Returns it with the reasons. Such a message gets the better one of both hints.
    pub(crate) fn take_repeats(
        &self,
        planned: &PlanOutcome,
        own: &mut [ContextItem],
        lists: &mut [Vec<ContextItem>],
        texts: &dyn Texts,
    ) -> Vec<(ContextItem, String)> {
        if lists.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let mut sent = HeldTexts::default();
        let mut earlier: HashMap<String, usize> = HashMap::default();
        for (unit, members) in self.all_members().enumerate() {
            if planned.parts.get(unit) == Some(&Part::Exchange) {
                continue; // see `repeats`
            } else if planned.parts.get(unit).is_none_or(|part| part.is_sent()) {
                let texts = members.iter().filter_map(|at| self.sent_text(*at, planned, texts));
                sent.0.extend(texts);
            } else if let ([index], Some(message)) =
                (members, members.first().and_then(|at| self.messages.get(*at)))
            {
                if planned.hints.get(unit).and_then(Option::as_ref).is_some_and(is_close) {
                    let text = self.text(*index, message, texts);
                    earlier.insert(text.trim().to_owned(), unit);
                }
            }
        }
        let documents = self.documents.iter().zip(planned.parts.iter().skip(self.units.len()));
        let staying = documents.filter(|(_, part)| part.is_sent());
        sent.0.extend(staying.map(|(document, _)| Cow::Borrowed(&*document.text)));
        let mut taken = Vec::new();
        for list in lists {
            let contents: Vec<&str> = list.iter().map(ContextItem::content).collect();
            let mut held = sent.hold(&contents).into_iter();
            list.retain(|item| {
                let is_held = held.next() == Some(true);
                if let Some(unit) = earlier.get(item.content().trim()).filter(|_| !is_held) {
                    raise(own.get_mut(*unit), item);
                } else if !is_held {
                    return true;
                }
                taken.push((item.clone(), IN_REQUEST.to_owned()));
                false
            });
        }
        taken
    }

    /// Positions in `placed` of what a source brings although it stands in the request or is quoted from
    /// it, ascending, each with the reason.
    ///
    /// Steps of the exchange under way do not count: what was quoted for the question stays while the model
    /// works on it, also if a step has repeated it, so that the prompt cache keeps its prefix.
    pub(super) fn repeats(
        &self,
        placed: &[PlacedItem],
        planned: Option<&PlanOutcome>,
        texts: &dyn Texts,
    ) -> Vec<(usize, String)> {
        let is_source = |placed: &PlacedItem| matches!(placed.origin, Origin::Source { .. });
        if !placed.iter().any(is_source) {
            return Vec::new();
        }
        let mut held = HeldTexts::default();
        for placed in placed {
            let Origin::Request(unit) = placed.origin else { continue };
            if planned.is_some_and(|it| it.parts.get(unit) == Some(&Part::Exchange)) {
                continue;
            }
            let document = unit.checked_sub(self.units.len());
            let document = document.and_then(|number| self.documents.get(number));
            held.0.extend(document.map(|document| Cow::Borrowed(&*document.text)));
            let recalled = planned.filter(|it| it.parts.get(unit).is_some_and(|it| !it.is_sent()));
            held.0.extend(self.messages_of(unit).iter().filter_map(|at| {
                match (recalled, planned) {
                    (Some(planned), _) => {
                        let passages = planned.passages.get(at).map(Vec::as_slice);
                        self.quoted_text(*at, planned.quoted, passages, texts)
                    }
                    (None, Some(planned)) => self.sent_text(*at, planned, texts),
                    (None, None) => Some(self.text(*at, self.messages.get(*at)?, texts)),
                }
            }));
        }
        let from_sources = placed.iter().enumerate().filter(|(_, placed)| is_source(placed));
        let (positions, contents): (Vec<usize>, Vec<&str>) =
            from_sources.map(|(position, placed)| (position, placed.item.content())).unzip();
        let repeated = positions.into_iter().zip(held.hold(&contents));
        let repeated = repeated.filter(|(_, is_held)| *is_held);
        repeated.map(|(position, _)| (position, IN_REQUEST.to_owned())).collect()
    }

    /// Text of a message as it is sent, without results of which only an excerpt is.
    fn sent_text<'a>(
        &'a self,
        index: usize,
        planned: &PlanOutcome,
        texts: &'a dyn Texts,
    ) -> Option<Cow<'a, str>> {
        let message: &Message = self.messages.get(index)?;
        let mut excerpts = planned.excerpts.range((index, 0)..=(index, usize::MAX));
        match excerpts.next() {
            None => Some(self.text(index, message, texts)),
            Some((_, excerpt)) => Some(Cow::Owned(excerpt.text.clone())),
        }
    }
}

fn is_close(hint: &Hint) -> bool {
    hint.value() >= LEAST
}

/// Gives a message the hint of a source's copy of it, if that is better.
fn raise(own: Option<&mut ContextItem>, copy: &ContextItem) {
    let value = |item: &ContextItem| item.future_relevance_hint().unwrap_or(0.0);
    if let Some(own) = own.filter(|own| value(own) < value(copy)) {
        own.set_hint_value(value(copy).min(1.0));
    }
}
