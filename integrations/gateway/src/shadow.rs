//! Shadow mode: requests are sent unchanged, and planned beside the call.

use std::sync::Arc;

use bytes::Bytes;
use cupel::layer::off_executor;
use cupel_json::Endpoint;
use http::request::Parts;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::calls::{Call, Calls, FittedCall};
use crate::config::{Config, Rollout};
use crate::credentials::Caller;
use crate::metrics::GatewayMetrics;
use crate::proxy::UpstreamClient;
use crate::select::{BodySelector, JSON_BYTE, hashed};

/// Requests that are planned together. Others are sent without a plan meanwhile.
const AT_ONCE: usize = 4;

/// Messages among which the first two of the user are looked for.
const OPENING: usize = 64;

/// Plans requests that are sent unchanged. It asks no source, no archive and no upstream.
pub(crate) struct ShadowPlanner {
    selector: BodySelector,
    room: Arc<Semaphore>,
}

impl ShadowPlanner {
    /// Makes a planner if some requests are not fitted.
    ///
    /// # Errors
    ///
    /// Returns why a layer cannot be built.
    pub(crate) fn new(
        config: &Config,
        client: &UpstreamClient,
    ) -> Result<Option<Arc<Self>>, String> {
        if !config.rollout.is_partial() {
            return Ok(None);
        }
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let selector = BodySelector::silent(config, client)?;
        Ok(Some(Arc::new(Self { selector, room })))
    }
}

/// Starts to plan the request of a call that is sent unchanged. The call waits for nothing of it.
pub(crate) fn plan(
    shadow: Arc<ShadowPlanner>,
    (calls, metrics): (Arc<Calls>, Arc<GatewayMetrics>),
    (endpoint, parts, bytes): (Endpoint, Parts, Bytes),
    caller: Caller,
    call: Arc<Call>,
) {
    let Ok(permit) = Arc::clone(&shadow.room).try_acquire_owned() else { return };
    tokio::spawn(async move {
        let selected = shadow.selector.select(endpoint, &parts, bytes, caller).await;
        let Ok(selected) = selected else { return };
        let sizes = (selected.original_bytes, selected.body.len());
        if let Ok(selection) = selected.outcome {
            let planned = FittedCall::new(*selection, sizes, &call.model, None);
            metrics.planned(planned.tokens, planned.dropped);
            calls.planned(&call, planned);
        }
        drop(permit);
    });
}

/// Returns the name of a conversation, or a hash of its opening, if it is not fitted.
pub(crate) async fn unfitted(
    rollout: &Rollout,
    endpoint: Endpoint,
    caller: &Caller,
    bytes: &Bytes,
) -> Option<Vec<u8>> {
    if !rollout.is_partial() {
        return None;
    }
    if let Some(name) = &caller.conversation {
        return (!rollout.fits(name)).then(|| name.as_bytes().to_vec());
    }
    let (steps, bytes) = (JSON_BYTE.saturating_mul(bytes.len() as u64), bytes.clone());
    let rollout = rollout.clone();
    let unfitted = move || {
        let opening = opening(endpoint, &bytes);
        (!rollout.fits(&opening)).then(|| hashed(opening))
    };
    off_executor(steps, unfitted).await.ok()?
}

/// System prompt and first two messages of the user: the name of a conversation that has none.
fn opening(endpoint: Endpoint, bytes: &[u8]) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Opening<'a> {
        #[serde(borrow, default)]
        system: Option<&'a RawValue>,
        #[serde(borrow, default)]
        instructions: Option<&'a RawValue>,
        #[serde(borrow, default)]
        messages: Option<&'a RawValue>,
        #[serde(borrow, default)]
        input: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct RoleField {
        role: String,
    }
    let Ok(fields) = serde_json::from_slice::<Opening<'_>>(bytes) else { return Vec::new() };
    let list = if endpoint == Endpoint::Responses { fields.input } else { fields.messages };
    let mut name = Vec::new();
    let mut add = |part: &RawValue| {
        name.extend_from_slice(part.get().as_bytes());
        name.push(b'\n');
    };
    [fields.system, fields.instructions].into_iter().flatten().for_each(&mut add);
    let Some(list) = list else { return name };
    let messages: Vec<&RawValue> = match serde_json::from_str(list.get()) {
        Ok(messages) => messages,
        // A text that stands for a message.
        Err(_) => vec![list],
    };
    let mut users = 0;
    for message in messages.into_iter().take(OPENING) {
        let role = serde_json::from_str(message.get()).map(|RoleField { role }| role);
        let role = role.unwrap_or_else(|_| "user".to_owned());
        let is_user = role == "user";
        if is_user || role == "system" || role == "developer" {
            add(message);
        }
        users += usize::from(is_user);
        if users == 2 {
            break;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_named_by_its_system_prompt_and_two_messages() {
        let name = |json: &str| opening(Endpoint::Chat, json.as_bytes());
        let messages = |rest: &str| {
            format!(
                r#"{{"messages":[{{"role":"system","content":"s"}},{{"role":"user","content":"a"}},{{"role":"assistant","content":"x"}},{{"role":"user","content":"b"}}{rest}]}}"#
            )
        };
        let longer =
            messages(r#",{"role":"assistant","content":"y"},{"role":"user","content":"c"}"#);
        assert_eq!(name(&messages("")), name(&longer));
        assert_ne!(name(&messages("")), name(&messages("").replace("\"s\"", "\"t\"")));
        assert_ne!(name(&messages("")), name(&messages("").replace("\"b\"", "\"d\"")));
        assert_eq!(name("not json"), b"");
        assert_eq!(opening(Endpoint::Responses, br#"{"input":"Hi"}"#), b"\"Hi\"\n");
    }
}
