//! Requests with messages: fitted, and fitted again if the upstream's count or its refusal says that they are
//! too long or shorter than they may be.

use bytes::Bytes;
use cupel_json::Endpoint;
use http::header::CONTENT_ENCODING;
use http::request::Parts;
use tokio::time::Instant;

use crate::answer::Refusal;
use crate::config::Upstream;
use crate::credentials::Caller;
use crate::gateway_state::GatewayState;
use crate::overflow::Overflow;
use crate::select::SelectedBody;

/// Header that asks the gateway to send a request unchanged.
pub(super) const BYPASS: &str = "x-cupel-bypass";

/// Reserve for the next selection, which has other messages than the counted one.
const SLACK: f64 = 1.02;

/// Reserve for the selection after a refusal. It is not counted, and there is no second one.
const REFUSED_SLACK: f64 = 1.05;

/// Ratio for the selection after a refusal that does not say how long the request is.
const UNCOUNTED: f64 = 4.0 / 3.0;

/// Steps of the ratio. Turns of a conversation whose ratios differ by a few percent then have the same room, so
/// that the prompt cache is not lost.
const STEPS: f64 = 16.0;

/// Most counts of one request. Each count corrects the last, so the last one is close.
const COUNTS: usize = 4;

/// Ratio for a request whose fixed parts are too long by our count.
const WIDE: f32 = 0.25;

/// Reasons why a request does not fit, whatever is dropped.
const NO_ROOM: [&str; 2] = ["FixedTokens", "PinnedExceedsBudget"];

/// Share of the room below which a request from which something was dropped is fitted again, with more.
const FULL: f64 = 0.9;

/// Request that is selected in, once or several times.
pub(super) struct ChatRequest<'a> {
    pub(super) shared: &'a GatewayState,
    pub(super) endpoint: Endpoint,
    pub(super) parts: &'a Parts,
    pub(super) bytes: Bytes,
}

/// Size of a fitted request by our count, and of its room, both in tokens of the model as far as they are
/// known.
pub(super) struct FittedSize {
    ours: f64,
    /// Bytes of the body.
    bytes: usize,
    room: f64,
    /// Set if messages were left out.
    is_cut: bool,
}

impl FittedSize {
    /// `known` is the ratio with which the request was fitted.
    fn of(selected: &SelectedBody, known: f64) -> Option<Self> {
        let selection = selected.outcome.as_ref().ok()?;
        let budget = &selection.budget;
        let room = budget.max_tokens().saturating_sub(budget.output_reserve());
        let in_theirs = |tokens: i64| tokens.max(1) as f64 * selected.factor * known;
        let room = in_theirs(room.saturating_add(selection.fixed_tokens));
        let ours = in_theirs(selection.sent.tokens.saturating_add(selection.fixed_tokens));
        let is_cut =
            !selection.report.excluded.is_empty() || selected.body.len() < selected.original_bytes;
        Some(Self { ours, bytes: selected.body.len(), room, is_cut })
    }
}

impl ChatRequest<'_> {
    pub(super) async fn select(&self, caller: Caller) -> Result<SelectedBody, Refusal> {
        let (headers, bytes) = (&self.parts.headers, self.bytes.clone());
        if headers.contains_key(BYPASS) {
            let why = "x-cupel-bypass is set";
            return Ok(SelectedBody::unchanged(bytes, "bypass", why).await);
        }
        if headers.contains_key(CONTENT_ENCODING) {
            let why = "the body is compressed";
            return Ok(SelectedBody::unchanged(bytes, "encoded", why).await);
        }
        self.shared.selector.select(self.endpoint, self.parts, bytes, caller).await
    }

    /// Selects again while the upstream's own count is larger than the window, or clearly smaller although
    /// messages were dropped.
    ///
    /// A request whose fixed parts are too long by our count is fitted to a wider room first: the upstream may count
    /// them as shorter, definitions of tools above all.
    ///
    /// The upstream is asked only if the configuration says so, and if the request is close to the window by
    /// our count or was cut. If it gives no count in time, the request stays as it was fitted.
    pub(super) async fn fit_by_model_count(
        &self,
        upstream: &Upstream,
        mut selected: SelectedBody,
        caller: &mut Caller,
    ) -> Result<SelectedBody, Refusal> {
        let Some(from) = self.shared.config.exact_from else { return Ok(selected) };
        let until = Instant::now() + self.shared.config.limits.count_time;
        let (mut unfitted, first) = (None, caller.counted);
        if selected.outcome.as_ref().is_err_and(|why| NO_ROOM.contains(&why.code)) {
            let wide = Caller { counted: Some(WIDE), ..caller.clone() };
            let again = self.select(wide.clone()).await?;
            if again.outcome.is_err() {
                return Ok(selected);
            }
            unfitted = Some(std::mem::replace(&mut selected, again));
            *caller = wide;
        }
        // The largest selection that fits by the upstream's count.
        let mut counted: Option<SelectedBody> = None;
        for _ in 0..COUNTS {
            let known = caller.counted.map_or(1.0, f64::from);
            let Some(size) = self.size(&selected, caller) else { break };
            if unfitted.is_none() && !size.is_cut && size.ours < from * size.room {
                break;
            }
            let (counts, body) = (&self.shared.counts, &selected.body);
            let asked = counts.count(self.endpoint, upstream, self.parts, body, until).await;
            let Some(theirs) = asked.map(|tokens| tokens as f64) else { break };
            tracing::debug!(size.ours, theirs, size.room, "the upstream counted a request");
            let is_over = theirs > size.room;
            let has_room = size.is_cut && theirs < FULL * size.room;
            if !is_over && !has_room {
                return Ok(selected);
            }
            if is_over && counted.is_some() {
                break;
            }
            let ratio = in_steps(known * theirs / size.ours * SLACK);
            let next = Caller { counted: Some(ratio), ..caller.clone() };
            let again = self.select(next.clone()).await?;
            // What cannot be fitted to the smaller room is sent as it was fitted to the larger one.
            if again.outcome.is_err() || again.body == selected.body {
                if is_over && unfitted.is_some() {
                    break;
                }
                return Ok(selected);
            }
            *caller = next;
            if !is_over {
                counted = Some(selected);
            }
            selected = again;
        }
        if let (None, Some(unfitted)) = (&counted, unfitted) {
            caller.counted = first;
            return Ok(unfitted);
        }
        Ok(counted.unwrap_or(selected))
    }

    /// Returns the size of a fitted request.
    pub(super) fn size(&self, selected: &SelectedBody, caller: &Caller) -> Option<FittedSize> {
        FittedSize::of(selected, caller.counted.map_or(1.0, f64::from))
    }

    /// Selects again after the upstream refused a request as too long; `None` if that gives no shorter one.
    pub(super) async fn fit_after_refusal(
        &self,
        size: &FittedSize,
        refused: Overflow,
        caller: &Caller,
    ) -> Result<Option<SelectedBody>, Refusal> {
        let known = caller.counted.map_or(1.0, f64::from);
        let measured = refused.counted.map(|tokens| tokens as f64 / size.ours);
        let ratio = match (measured, refused.is_least) {
            (Some(ratio), false) => ratio * REFUSED_SLACK,
            (ratio, _) => ratio.unwrap_or(1.0).max(1.0) * UNCOUNTED,
        };
        // The window may be smaller than configured; then the count alone would not help.
        let window = refused.window.or(caller.window);
        let counted = Some(in_steps(known * ratio));
        let again = self.select(Caller { counted, window, ..caller.clone() }).await?;
        let is_shorter = again.outcome.is_ok() && again.body.len() < size.bytes;
        Ok(is_shorter.then_some(again))
    }
}

/// Rounds a ratio up to the next step.
#[expect(clippy::cast_possible_truncation, reason = "steps are exact in f32")]
fn in_steps(ratio: f64) -> f32 {
    ((ratio * STEPS).ceil() / STEPS) as f32
}
