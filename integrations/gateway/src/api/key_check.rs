//! Checks of a key of the gateway: routes, models and limits.

use http::request::Parts;

use super::route;
use crate::answer::Refusal;
use crate::config::ClientKey;
use crate::gateway_state::GatewayState;
use crate::key_limits::Exceeded;

/// Refuses a request that its key may not send, or not now.
pub(super) fn admit(shared: &GatewayState, key: &ClientKey, parts: &Parts) -> Result<(), Refusal> {
    if !route::is_open_to(key, parts) {
        let message = format!("the key {:?} may not use this route", key.name);
        return Err(Refusal::new(403, "route_not_allowed", message));
    }
    shared.limits.admit(key).map_err(|exceeded| {
        let Exceeded { limit, per_minute, retry_seconds } = exceeded;
        shared.metrics.limited(&key.name, limit);
        let message = format!(
            "the key {:?} may use {per_minute} {limit} per minute; try again in {retry_seconds} s",
            key.name
        );
        Refusal::new(429, "rate_limit_exceeded", message).retry_in(retry_seconds)
    })
}

/// Refuses a model that a key may not use.
pub(super) fn check_model(key: Option<&ClientKey>, model: Option<&str>) -> Result<(), Refusal> {
    let Some(key) = key.filter(|key| !key.allows_model(model)) else { return Ok(()) };
    let model = model.map_or("without a name".to_owned(), |model| format!("{model:?}"));
    let message = format!("the key {:?} may not use the model {model}", key.name);
    Err(Refusal::new(403, "model_not_allowed", message))
}
