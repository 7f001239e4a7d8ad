//! A call on record, from its selection to its end, however that comes.

use std::sync::Arc;
use std::time::Instant;

use cupel::layer::Selection;

use super::millis;
use crate::answer::{Refusal, visible};
use crate::calls::{Call, Conversation, Ending, Fitted};
use crate::gateway::Shared;
#[cfg(feature = "archive")]
use crate::proxy::How;
use crate::proxy::{Ended, Usage};
use crate::select::{Outcome, Passed, Selected};
use crate::tenant::Caller;

/// What a server notes down for a client that left.
const LEFT: u16 = 499;

/// The longest name of a model that is written down.
const MODEL_CHARACTERS: usize = 80;

/// A call under way; dropped before its end, it is one whose client has left.
pub(super) struct Open {
    shared: Arc<Shared>,
    call: Arc<Call>,
    started: Instant,
    over: bool,
    /// Who said what, for the archive.
    #[cfg(feature = "archive")]
    said: Option<crate::memory::Said>,
}

impl Open {
    pub(super) fn begin(
        shared: &Arc<Shared>,
        route: &'static str,
        selected: Selected,
        caller: &Caller,
        started: Instant,
    ) -> Self {
        let model = selected.model.as_deref().unwrap_or_default();
        let named = caller.conversation.as_deref().map(str::as_bytes);
        let conversation = named.unwrap_or(&selected.opening);
        let conversation = Conversation::new(&[caller.tenant.as_bytes(), conversation]);
        let model = visible(model, MODEL_CHARACTERS);
        let outcome = match selected.outcome {
            Outcome::Fitted(selection) => {
                #[cfg(feature = "archive")]
                shared.memory.iter().for_each(|memory| memory.note(&selection.gather));
                let before = shared.calls.latest(conversation, &model);
                Ok(Box::new(fitted(*selection, &model, before.as_deref())))
            }
            Outcome::Passed(Passed { code, why }) => Err((code, why)),
        };
        let call = shared.calls.begin(Call::new(route, model, conversation, outcome));
        Self {
            shared: Arc::clone(shared),
            call,
            started,
            over: false,
            #[cfg(feature = "archive")]
            said: None,
        }
    }

    /// Archives what was said once it has been answered, where there is an archive.
    #[cfg(feature = "archive")]
    pub(super) fn said(mut self, said: crate::memory::Said) -> Self {
        let is_named = said.caller.conversation.is_some() && said.caller.is_remembered;
        self.said = (is_named && self.shared.memory.is_some()).then_some(said);
        self
    }

    /// Whether somebody wants to read all of the answer.
    pub(super) fn keeps_answer(&self) -> bool {
        #[cfg(feature = "archive")]
        return self.said.is_some();
        #[cfg(not(feature = "archive"))]
        return false;
    }

    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    /// The upstream gave no answer.
    pub(super) fn refused(mut self, refusal: &Refusal) {
        self.end(refusal.status().as_u16(), refusal.code(), None, 0);
    }

    /// The answer has passed, as far as it has.
    pub(super) fn ended(mut self, status: u16, ended: &Ended) {
        // Of one that broke off the client will ask again.
        #[cfg(feature = "archive")]
        if let (200..300, How::Whole, Some(said), Some(memory)) =
            (status, ended.how, self.said.take(), &self.shared.memory)
        {
            memory.remember(&said, ended.answer.as_deref());
        }
        self.end(status, ended.how.name(), ended.usage, ended.bytes);
    }

    fn end(&mut self, status: u16, how: &'static str, usage: Option<Usage>, bytes: u64) {
        self.over = true;
        let ending = Ending { status, how, usage, elapsed: self.started.elapsed() };
        self.shared.calls.end(&self.call, ending);
        let call = &self.call;
        tracing::info!(
            route = call.route,
            status,
            end = how,
            model = call.model,
            outcome = call.outcome.as_ref().err().map_or("fitted", |(code, _)| code),
            tokens = call.fitted().map(|fitted| fitted.tokens),
            left_out = call.fitted().map(|fitted| fitted.left_out),
            counted = usage.map(|usage| usage.input),
            bytes,
            milliseconds = millis(self.started),
            report = call.id,
        );
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.over {
            self.end(LEFT, "client_left", None, 0);
        }
    }
}

/// A selection as it is remembered. What its model's cache knows comes from the call before, where that
/// is remembered, too.
fn fitted(mut selection: Selection, model: &str, before: Option<&Call>) -> Fitted {
    let before = before.and_then(Call::fitted).and_then(|fitted| fitted.plan.as_deref());
    if let (Some(plan), Some(before)) = (&mut selection.plan, before) {
        **plan = (**plan).clone().following(before);
    }
    let excluded = selection.report.excluded.iter().map(|entry| entry.item.tokens().max(0));
    Fitted {
        explanation: selection.explain().title(model),
        tokens: selection.sent.tokens.saturating_add(selection.fixed_tokens),
        left_out: excluded.fold(0, i64::saturating_add),
        cached: selection.plan.as_ref().map_or(0, |plan| plan.cached_tokens),
        plan: selection.plan,
    }
}
