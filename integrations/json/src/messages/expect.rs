//! What the prompt cache is expected to know of a request, by Anthropic's rules.

use cupel::conversation::Edits;
use cupel::conversation::plan::Part;

use super::caches::{LOOK_BACK, Marks};
use crate::models::ClaudeModel;
use crate::read::Object;
use crate::request::JsonBody;

/// Lowers the expectation to what marks can bring: nothing is cached without one, nor below the
/// model's least, and a mark finds only what was written within 20 blocks before it. `marked`:
/// the request gets marks of ours.
pub(super) fn by_marks<T>(edits: &mut Edits, body: &JsonBody<T>, marked: bool, model: ClaudeModel) {
    let fixed_tokens = edits.fixed_tokens;
    let Some(planned) = &mut edits.plan else { return };
    let texts = body.message_texts();
    let request = Object::parse(body.json()).unwrap_or_default();
    let marks = Marks::read(&request, texts.iter().copied());
    let any = marked || marks.any();
    // What was written at the end of the call before stands this many blocks before the end.
    let since = texts.iter().rev().scan(false, |done, json| {
        let is_models =
            Object::parse(json).is_some_and(|m| m.text("role").as_deref() == Some("assistant"));
        let was_done = *done;
        *done |= is_models;
        (!was_done).then(|| blocks(json))
    });
    let far = since.sum::<usize>() > LOOK_BACK;
    let before = planned.parts.iter().zip(&planned.tokens).filter(|(part, _)| part.is_sent());
    let before = before.take_while(|(part, _)| !matches!(part, Part::Question | Part::Exchange));
    let before = before.map(|(_, tokens)| *tokens).fold(fixed_tokens, i64::saturating_add);
    // Without tools only what stands before the question is marked.
    let newest = request.has("tools") || marks.is_automatic() || !marked;
    planned.expected.written_up_to = match any {
        false => Some(0),
        true if newest => None,
        true => Some(before),
    };
    let cached = &mut planned.expected.cached_tokens;
    if far && marked {
        // The mark before the question is still in its place.
        *cached = (*cached).min(before);
    }
    if !any || *cached < model.least_cached() {
        *cached = 0;
        planned.expected.same_recall = false;
    }
}

/// How many blocks a message has.
fn blocks(json: &str) -> usize {
    let content = Object::parse(json).and_then(|message| message.array("content"));
    content.map_or(1, |blocks| blocks.len())
}
