//! Selection in request bodies: the body to send, or the reason why it is sent unchanged.

mod counting;
mod dry_planner;
mod profile;
mod server_window;

use std::sync::Arc;

use bytes::Bytes;
use cupel::layer::{Selection, off_executor};
use cupel::tokens::{Encoding, TokenCounter as _, shared_counter};
use cupel_json::{Endpoint, JsonBody};
use http::request::Parts;
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use crate::answer::Refusal;
use crate::api_path::deployment;
use crate::config::{Config, GatewayLimits, Protocol, Upstream, find_upstream, fits};
use crate::credentials::{Caller, CallerBody};
use crate::guard::decoded;
use crate::meaning;
use crate::proxy::UpstreamClient;
use crate::summaries::{self, SummaryParts};
pub(crate) use dry_planner::DryPlanner;
use profile::{Profile, ProfileParts};
use server_window::ServerWindows;

/// Nanoseconds for reading a byte of a JSON body.
pub(crate) const JSON_BYTE: u64 = 8;

/// JSON values that a body may have for each message: more than any conversation needs.
const VALUES: usize = 50;

/// Messages among which the user's first one is looked for.
const OPENING: usize = 16;

/// Loads the encoding that most models have.
pub(crate) async fn load() {
    // It takes about 10 ms.
    drop(off_executor(10_000_000, || shared_counter(Encoding::O200k).count("load")).await);
}

/// Selects in bodies, by the profile of their model.
#[derive(Debug)]
pub(crate) struct BodySelector {
    profiles: Vec<Profile>,
    /// Profile of models that no rule names.
    others: Profile,
    limits: GatewayLimits,
    upstreams: Vec<Upstream>,
    windows: ServerWindows,
    /// Set if upstreams are never asked for windows.
    is_silent: bool,
}

/// Body to send, and how it came about.
#[derive(Debug)]
pub(crate) struct SelectedBody {
    pub(crate) body: Bytes,
    /// Size of the body that the client sent.
    pub(crate) original_bytes: usize,
    /// Model that the body names.
    pub(crate) model: Option<String>,
    /// Hash of the conversation's first message. It tells conversations without a name apart.
    pub(crate) opening: Vec<u8>,
    /// Value that `anthropic-beta` needs.
    pub(crate) beta: Option<&'static str>,
    /// Number of the model's tokens that one of ours stands for.
    pub(crate) factor: f64,
    /// Window that the upstream told, and the ratio of its count to ours, as far as they were used.
    pub(crate) window: Option<i64>,
    pub(crate) counted: Option<f32>,
    pub(crate) outcome: Result<Box<Selection>, PassReason>,
}

/// Reason why a body is sent unchanged.
#[derive(Debug)]
pub(crate) struct PassReason {
    /// Name, for logs.
    pub(crate) code: &'static str,
    /// Explanation, for the client.
    pub(crate) why: String,
}

impl BodySelector {
    /// # Errors
    ///
    /// Returns why a layer cannot be built.
    pub(crate) fn new(
        config: &Config,
        client: &UpstreamClient,
        summaries: Option<&SummaryParts>,
    ) -> Result<Self, String> {
        let meaning = config.meaning.as_ref().map(|meaning| meaning::judge(meaning, client));
        let compaction = config.compaction.as_ref().zip(summaries).and_then(|(settings, parts)| {
            summaries::compaction(settings, &config.upstreams, client, parts)
        });
        let shared = ProfileParts { meaning, compaction };
        let profile = |(index, rule)| {
            let profile = Profile::new(config, Some(rule), client, &shared);
            profile.map_err(|error| format!("models[{index}]: {error}"))
        };
        let profiles = config.models.iter().enumerate().map(profile).collect::<Result<_, _>>()?;
        let others = Profile::new(config, None, client, &shared)?;
        let (limits, upstreams) = (config.limits.clone(), config.upstreams.clone());
        let windows = ServerWindows::new(client.clone(), limits.count_time);
        Ok(Self { profiles, others, limits, upstreams, windows, is_silent: false })
    }

    /// Makes a selector that asks nobody: no source, no archive, no upstream, no model for summaries.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub(crate) fn silent(config: &Config, client: &UpstreamClient) -> Result<Self, String> {
        let (sources, code_sources) = (Vec::new(), Vec::new());
        let config = Config { sources, code_sources, meaning: None, ..config.clone() };
        Ok(Self { is_silent: true, ..Self::new(&config, client, None)? })
    }

    /// Selects in a body, as far as it can be read and fitted.
    ///
    /// # Errors
    ///
    /// Refuses a body beyond the limits of depth, values or messages, and a selection that takes too long.
    pub(crate) async fn select(
        &self,
        endpoint: Endpoint,
        client: &Parts,
        bytes: Bytes,
        mut caller: Caller,
    ) -> Result<SelectedBody, Refusal> {
        let (depth, messages) = (self.limits.depth, self.limits.messages);
        let (steps, shared) = (JSON_BYTE.saturating_mul(bytes.len() as u64), bytes.clone());
        let read = off_executor(steps, move || read(endpoint, &shared, depth, messages)).await;
        match read.unwrap_or(Ok(Err("reading the body failed")))? {
            Ok((mut body, opening)) => {
                if let Some(name) = deployment(client.uri.path()) {
                    body = body.with_model(decoded(name));
                }
                let model = body.model().unwrap_or_default();
                if !self.is_silent
                    && caller.window.is_none()
                    && self.profile(Some(model)).needs_window(endpoint, model)
                {
                    caller.window = self.server_window(endpoint, model, client).await;
                }
                self.fit(body.with_companion(caller), opening, bytes).await
            }
            Err(why) => Ok(SelectedBody::unchanged(bytes, "unreadable", why).await),
        }
    }

    /// Asks the upstream of a model for its window.
    async fn server_window(&self, endpoint: Endpoint, model: &str, client: &Parts) -> Option<i64> {
        let protocol = match endpoint {
            Endpoint::Messages => Protocol::Anthropic,
            _ => Protocol::OpenAi,
        };
        let upstream = find_upstream(&self.upstreams, protocol, Some(model))?;
        self.windows.window(upstream, model, client).await
    }

    async fn fit(
        &self,
        body: CallerBody,
        opening: Vec<u8>,
        bytes: Bytes,
    ) -> Result<SelectedBody, Refusal> {
        let model = body.model().map(str::to_owned);
        let Caller { window, counted, .. } = *body.companion();
        let profile = self.profile(model.as_deref());
        let limit = self.limits.selection_time;
        let Ok(selected) = tokio::time::timeout(limit, profile.select(body)).await else {
            let message = format!("the selection took longer than {} s", limit.as_secs_f64());
            return Err(Refusal::new(503, "selection_time", message).retry_after());
        };
        let original_bytes = bytes.len();
        let (mut body, mut beta) = (bytes, None);
        let outcome = match selected {
            Some(Ok(selected)) => {
                let (fitted, selection) = selected.into_parts();
                beta = fitted.needs_beta();
                let json = fitted.into_json();
                if json.as_bytes() != &*body {
                    body = Bytes::from_owner(SharedJson(json));
                }
                Ok(Box::new(selection))
            }
            Some(Err(error)) => Err(PassReason { code: error.name(), why: error.to_string() }),
            None => {
                let name = model.as_deref().unwrap_or_default();
                let why = format!(
                    "the window of model {name:?} is not known; start the gateway with --window, or set \
                     `window`, `unknown_window` or a rule in `models` in its configuration"
                );
                Err(PassReason { code: "unknown_model", why })
            }
        };
        let factor = profile.factor;
        Ok(SelectedBody {
            body,
            original_bytes,
            model,
            opening,
            beta,
            factor,
            window,
            counted,
            outcome,
        })
    }

    /// Reads a body again, for a plan beside its call. `None` if nobody can plan it.
    pub(crate) fn dry_planner(
        &self,
        endpoint: Endpoint,
        path: &str,
        bytes: &[u8],
        caller: Caller,
    ) -> Option<(&DryPlanner, f64, CallerBody)> {
        let mut body = JsonBody::parse(endpoint, std::str::from_utf8(bytes).ok()?)?;
        if let Some(name) = deployment(path) {
            body = body.with_model(decoded(name));
        }
        let profile = self.profile(body.model());
        let (planner, body) = profile.dry_planner(body.with_companion(caller))?;
        Some((planner, profile.factor, body))
    }

    /// Returns the profile of the rule that fits best, or the one for other models.
    fn profile(&self, model: Option<&str>) -> &Profile {
        let fit = |profile: &&Profile| fits(&profile.pattern, model.unwrap_or_default());
        let fitting = self.profiles.iter().filter(|profile| fit(profile).is_some());
        fitting.max_by_key(fit).unwrap_or(&self.others)
    }
}

/// Parses a body, and hashes its first message; the inner error says why it cannot be selected in.
fn read(
    endpoint: Endpoint,
    bytes: &Bytes,
    depth: usize,
    messages: usize,
) -> Result<Result<(JsonBody, Vec<u8>), &'static str>, Refusal> {
    let refusal = |code, message: String| Err(Refusal::new(400, code, message));
    let extent = Extent::of(bytes);
    if extent.depth > depth {
        return refusal("too_deep", format!("the body is nested deeper than {depth} levels"));
    }
    // A low limit of messages must not make tools too large.
    let values = messages.max(20_000).saturating_mul(VALUES);
    if extent.values > values {
        let message = format!("the body has {} values, expected at most {values}", extent.values);
        return refusal("too_many_values", message);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(Err("the body is not UTF-8")) };
    let Some(body) = JsonBody::parse(endpoint, text) else {
        return Ok(Err("the body is not a JSON object with a list of messages"));
    };
    let count = body.message_count();
    if count > messages {
        let message = format!("the body has {count} messages, expected at most {messages}");
        return refusal("too_many_messages", message);
    }
    let opening = hashed(opening(&body));
    Ok(Ok((body, opening)))
}

impl SelectedBody {
    /// Wraps a body that is sent unchanged.
    pub(crate) async fn unchanged(body: Bytes, code: &'static str, why: &str) -> Self {
        #[derive(Deserialize)]
        struct ModelField {
            model: String,
        }
        let (steps, shared) = (JSON_BYTE.saturating_mul(body.len() as u64), body.clone());
        let read = move || serde_json::from_slice(&shared).ok().map(|ModelField { model }| model);
        let model = off_executor(steps, read).await.ok().flatten();
        let (original_bytes, opening) = (body.len(), Vec::new());
        let outcome = Err(PassReason { code, why: why.to_owned() });
        Self {
            body,
            original_bytes,
            model,
            opening,
            beta: None,
            factor: 1.0,
            window: None,
            counted: None,
            outcome,
        }
    }
}

/// Returns the first message of a user, or the first message. It tells conversations without a name apart.
fn opening(body: &JsonBody) -> &str {
    #[derive(Deserialize)]
    struct RoleField {
        role: String,
    }
    let is_user = |json: &&str| {
        let role = serde_json::from_str(json).map(|RoleField { role }| role);
        role.is_ok_and(|role| role == "user")
    };
    let first = body.messages().take(OPENING).find(is_user).or_else(|| body.messages().next());
    first.unwrap_or_default()
}

/// Hashes a text of any size, so that nobody has to hold it or to hash it on the executor.
pub(crate) fn hashed(text: impl AsRef<[u8]>) -> Vec<u8> {
    digest(&SHA256, text.as_ref()).as_ref().to_vec()
}

/// Selected body, shared with the report on it.
struct SharedJson(Arc<str>);

impl AsRef<[u8]> for SharedJson {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Depth and size of a JSON text, found without parsing. Any other text gets some numbers, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    /// Deepest level of lists and objects.
    depth: usize,
    /// Approximate number of lists, objects and their members. Each takes many times its bytes when parsed.
    values: usize,
}

impl Extent {
    fn of(json: &[u8]) -> Self {
        let (mut depth, mut deepest, mut values) = (0_usize, 0, 0);
        let mut rest = json.iter();
        while let Some(byte) = rest.next() {
            match byte {
                b'"' => skip_string(&mut rest),
                b',' => values += 1,
                b'[' | b'{' => {
                    depth += 1;
                    values += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        Self { depth: deepest, values }
    }
}

/// Moves behind the end of a string. Most of a body is strings, so their bytes are not looked at one by one.
fn skip_string(rest: &mut std::slice::Iter<'_, u8>) {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest.as_slice()) {
        if rest.nth(at) == Some(&b'"') {
            return;
        }
        // An escaped character does not end the string.
        rest.next();
    }
    *rest = [].iter();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_commas_in_texts_do_not_count() {
        let depth = |json: &[u8]| Extent::of(json).depth;
        assert_eq!(depth(br#"{"a":[{"b":1},[[]]],"c":"[[[[[[\"[[["}"#), 4);
        assert_eq!(depth(br#"{"a\\":[{}],"\\\\":[[[""]]]}"#), 4);
        assert_eq!(depth(br#"["never ends [[[ \"#), 1);
        assert_eq!(depth(b""), 0);
        assert_eq!(depth(b"]]]]["), 1);
        assert_eq!(depth("[".repeat(100_000).as_bytes()), 100_000);
        assert_eq!(Extent::of(br#"{"a":[1,2,",,,[["],"b":3}"#).values, 5);
    }
}
