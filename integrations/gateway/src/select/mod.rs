//! The selection in a request's body: what is sent, or why it goes out as it came.

mod extent;
mod profile;

use std::sync::Arc;

use bytes::Bytes;
use cupel::layer::Selection;
use cupel::tokens::{Encoding, TokenCounter as _, shared_counter};
use cupel_json::{Endpoint, JsonBody};
use http::StatusCode;
use serde::Deserialize;

use crate::answer::Refusal;
use crate::config::{Config, Limits, fits};
use crate::proxy::Client;
use crate::tenant::{Caller, CallerBody};
use profile::Profile;

/// Bodies of so many bytes are read on the blocking pool.
const LARGE: usize = 256 * 1024;

/// Values in a body, for each message that it may have: more than any conversation needs.
const VALUES: usize = 50;

/// Where a user's first message is looked for.
const OPENING: usize = 16;

/// Loads the encoding that most models have.
pub(crate) fn load() {
    shared_counter(Encoding::O200k).count("load");
}

/// Selects in bodies.
#[derive(Debug)]
pub(crate) struct Selector {
    profiles: Vec<Profile>,
    /// For models that no rule is about.
    others: Profile,
    limits: Limits,
}

/// What came of a body.
#[derive(Debug)]
pub(crate) struct Selected {
    /// What is to be sent.
    pub(crate) body: Bytes,
    /// The model it names.
    pub(crate) model: Option<String>,
    /// What the conversation began with, as far as that can be told.
    pub(crate) opening: Vec<u8>,
    /// What `anthropic-beta` has to say for it.
    pub(crate) beta: Option<&'static str>,
    /// How many of the model's tokens one of ours is taken for.
    pub(crate) factor: f64,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// What fits was selected.
    Fitted(Box<Selection>),
    /// It goes out as it came.
    Passed(Passed),
}

/// Why a body goes out as it came.
#[derive(Debug)]
pub(crate) struct Passed {
    /// A name for the reason, for logs.
    pub(crate) code: &'static str,
    /// The reason in words, for the client.
    pub(crate) why: String,
}

impl Selector {
    /// # Errors
    ///
    /// What a layer cannot be built from, in words.
    pub(crate) fn new(config: &Config, client: &Client) -> Result<Self, String> {
        let mut profiles = Vec::with_capacity(config.models.len() + 1);
        for (index, rule) in config.models.iter().enumerate() {
            let profile = Profile::new(config, Some(rule), client);
            profiles.push(profile.map_err(|error| format!("models[{index}]: {error}"))?);
        }
        let others = Profile::new(config, None, client)?;
        Ok(Self { profiles, others, limits: config.limits.clone() })
    }

    /// Selects in a body, as far as it can be read and fitted.
    ///
    /// # Errors
    ///
    /// Beyond a limit of depth, number or time.
    pub(crate) async fn select(
        &self,
        endpoint: Endpoint,
        bytes: Bytes,
        caller: Caller,
    ) -> Result<Selected, Refusal> {
        match self.read(endpoint, bytes.clone()).await? {
            Ok(body) => self.fit(body.with_companion(caller), bytes).await,
            Err(why) => Ok(Selected::as_it_came(bytes, "unreadable", why)),
        }
    }

    /// Reads a body; inside, why it cannot be read.
    async fn read(
        &self,
        endpoint: Endpoint,
        bytes: Bytes,
    ) -> Result<Result<JsonBody, &'static str>, Refusal> {
        let (depth, messages) = (self.limits.depth, self.limits.messages);
        if bytes.len() < LARGE {
            return read(endpoint, &bytes, depth, messages);
        }
        let read = tokio::task::spawn_blocking(move || read(endpoint, &bytes, depth, messages));
        read.await.unwrap_or(Ok(Err("the body could not be read")))
    }

    async fn fit(&self, body: CallerBody, bytes: Bytes) -> Result<Selected, Refusal> {
        let model = body.model().map(str::to_owned);
        let opening = opening(&body);
        let profile = self.profile(model.as_deref());
        let factor = profile.factor;
        let call = profile.select(body);
        let Ok(selected) = tokio::time::timeout(self.limits.selection_time, call).await else {
            let limit = self.limits.selection_time.as_secs_f64();
            let message = format!("the selection took longer than {limit} s");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return Err(Refusal::new(status, "selection_time", message).retry_after());
        };
        let passed = |code, why| Outcome::Passed(Passed { code, why });
        let mut beta = None;
        let (body, outcome) = match selected {
            Ok(Ok(profile::Fit { json, selection, beta: needed })) => {
                beta = needed;
                let same = json.as_bytes() == &*bytes;
                let body = if same { bytes } else { Bytes::from_owner(Json(json)) };
                (body, Outcome::Fitted(Box::new(selection)))
            }
            Ok(Err(error)) => (bytes, passed(error.name(), error.to_string())),
            Err(profile::Unknown) => {
                let name = model.as_deref().unwrap_or_default();
                let why = format!(
                    "nothing is known about model {name:?}; add it to `models` in the \
                     gateway's configuration, or set `unknown_window`"
                );
                (bytes, passed("unknown_model", why))
            }
        };
        Ok(Selected { body, model, opening, beta, factor, outcome })
    }

    /// The profile of the rule that fits best, or the one for everything else.
    fn profile(&self, model: Option<&str>) -> &Profile {
        let fit = |profile: &&Profile| fits(&profile.pattern, model.unwrap_or_default());
        let fitting = self.profiles.iter().filter(|profile| fit(profile).is_some());
        fitting.max_by_key(fit).unwrap_or(&self.others)
    }
}

fn read(
    endpoint: Endpoint,
    bytes: &Bytes,
    depth: usize,
    messages: usize,
) -> Result<Result<JsonBody, &'static str>, Refusal> {
    let too = |code, message: String| Refusal::new(StatusCode::BAD_REQUEST, code, message);
    let extent = extent::of(bytes);
    if extent.depth > depth {
        return Err(too("too_deep", format!("the body is nested deeper than {depth} levels")));
    }
    // Whoever allows few messages does not mean small tools.
    let values = messages.max(20_000).saturating_mul(VALUES);
    if extent.values > values {
        let message = format!("the body has {} values, at most {values} are taken", extent.values);
        return Err(too("too_many_values", message));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(Err("the body is not UTF-8")) };
    let Some(body) = JsonBody::parse(endpoint, text) else {
        return Ok(Err("the body is no JSON object with a list of messages"));
    };
    let count = body.message_count();
    if count > messages {
        let message = format!("the body has {count} messages, at most {messages} are taken");
        return Err(too("too_many_messages", message));
    }
    Ok(Ok(body))
}

impl Selected {
    /// A body that nothing was done to.
    pub(crate) fn as_it_came(body: Bytes, code: &'static str, why: &str) -> Self {
        let model = model_of(&body);
        let outcome = Outcome::Passed(Passed { code, why: why.to_owned() });
        Self { body, model, opening: Vec::new(), beta: None, factor: 1.0, outcome }
    }
}

/// The model that a body names, if that can be read.
pub(crate) fn model_of(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        model: String,
    }
    serde_json::from_slice(body).ok().map(|Named { model }| model)
}

/// What a conversation began with: its first message of a user's. It tells conversations apart that
/// nobody has named.
fn opening(body: &CallerBody) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Role {
        role: String,
    }
    let is_user = |json: &&str| {
        let role = serde_json::from_str(json).map(|Role { role }| role);
        role.is_ok_and(|role| role == "user")
    };
    let first = body.messages().take(OPENING).find(is_user).or_else(|| body.messages().next());
    first.unwrap_or_default().as_bytes().to_vec()
}

/// A selected body, shared with what reported on it.
struct Json(Arc<str>);

impl AsRef<[u8]> for Json {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
