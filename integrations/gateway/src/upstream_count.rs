//! Counts of requests by the upstream that will get them, over the routes that servers have for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use cupel_json::Endpoint;
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use crate::config::Upstream;
use crate::proxy::UpstreamClient;

/// Longest answer of a route that lists every token.
const ANSWER_BYTES: usize = 8 << 20;

/// Time for which an upstream that cannot count is not asked again.
const PAUSE: Duration = Duration::from_secs(60);

/// Counts requests at upstreams.
#[derive(Debug)]
pub(crate) struct UpstreamCounts {
    client: UpstreamClient,
    /// For an upstream and a protocol: the route that counts there.
    known: Mutex<BTreeMap<(String, &'static str), KnownRoute>>,
}

#[derive(Debug, Clone, Copy)]
enum KnownRoute {
    Counts(CountRoute),
    /// No route counted, and none is tried until then.
    NoneUntil(Instant),
}

/// Route that counts the tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountRoute {
    /// `/messages/count_tokens` of Anthropic and llama.cpp.
    Messages,
    /// `/chat/completions/input_tokens` of llama.cpp.
    Chat,
    /// `/responses/input_tokens` of OpenAI and llama.cpp.
    Responses,
    /// `/tokenize` of vLLM, which takes a chat.
    Tokenize,
    /// `/apply-template` and `/tokenize` of older versions of llama.cpp.
    Template,
}

impl CountRoute {
    /// Lists the routes of a protocol, in the order in which they are tried.
    fn of(endpoint: Endpoint, upstream: &Upstream) -> &'static [Self] {
        match endpoint {
            Endpoint::Messages => &[Self::Messages],
            Endpoint::Responses => &[Self::Responses],
            Endpoint::Chat if upstream.is_vendors() => &[],
            Endpoint::Chat => &[Self::Chat, Self::Tokenize, Self::Template],
            _ => &[],
        }
    }

    /// Lists the fields of a request that the route takes. Some routes refuse all others.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Messages => &[
                "messages",
                "model",
                "system",
                "thinking",
                "tool_choice",
                "tools",
                "cache_control",
            ],
            Self::Responses => &[
                "conversation",
                "input",
                "instructions",
                "model",
                "parallel_tool_calls",
                "previous_response_id",
                "reasoning",
                "text",
                "tool_choice",
                "tools",
                "truncation",
            ],
            Self::Chat | Self::Tokenize | Self::Template => &[
                "add_generation_prompt",
                "chat_template",
                "chat_template_kwargs",
                "continue_final_message",
                "messages",
                "model",
                "parallel_tool_calls",
                "reasoning_effort",
                "reasoning_format",
                "response_format",
                "tool_choice",
                "tools",
            ],
        }
    }
}

/// Reason why a route gave no count.
enum NoCount {
    /// The upstream does not have the route.
    NoRoute,
    /// The upstream has it, and does not count this request.
    Refused,
}

impl From<Option<StatusCode>> for NoCount {
    fn from(status: Option<StatusCode>) -> Self {
        match status {
            Some(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
            | Some(StatusCode::NOT_IMPLEMENTED)
            | None => Self::NoRoute,
            Some(_) => Self::Refused,
        }
    }
}

impl UpstreamCounts {
    pub(crate) fn new(client: UpstreamClient) -> Self {
        Self { client, known: Mutex::default() }
    }

    /// Counts the tokens of a request; `None` if the upstream does not count it until `until`.
    pub(crate) async fn count(
        &self,
        endpoint: Endpoint,
        upstream: &Upstream,
        client: &Parts,
        body: &[u8],
        until: Instant,
    ) -> Option<i64> {
        let protocol = match endpoint {
            Endpoint::Messages => "messages",
            Endpoint::Responses => "responses",
            _ => "chat",
        };
        let key = (upstream.name.clone(), protocol);
        let known = self.known().get(&key).copied();
        let known_route;
        let routes = match known {
            Some(KnownRoute::NoneUntil(end)) if Instant::now() < end => return None,
            Some(KnownRoute::Counts(route)) => {
                known_route = [route];
                &known_route
            }
            _ => CountRoute::of(endpoint, upstream),
        };
        if routes.is_empty() {
            return None;
        }
        let mut is_late = false;
        for route in routes {
            let Ok(counted) = timeout_at(until, self.ask(*route, upstream, client, body)).await
            else {
                is_late = true;
                break;
            };
            match counted {
                Ok(tokens) => {
                    self.known().insert(key, KnownRoute::Counts(*route));
                    return Some(tokens);
                }
                Err(NoCount::NoRoute) => {}
                Err(NoCount::Refused) => return None,
            }
        }
        // A call must not wait again and again for an upstream that does not count.
        self.known().insert(key, KnownRoute::NoneUntil(Instant::now() + PAUSE));
        tracing::warn!(
            upstream = upstream.name,
            protocol,
            is_late,
            "the upstream gave no token count, so `exact_from` has no effect for a minute; requests are \
             fitted by the gateway's own count"
        );
        None
    }

    async fn ask(
        &self,
        route: CountRoute,
        upstream: &Upstream,
        client: &Parts,
        body: &[u8],
    ) -> Result<i64, NoCount> {
        #[derive(Deserialize)]
        struct InputTokens {
            input_tokens: i64,
        }
        #[derive(Deserialize)]
        struct Tokenized {
            count: i64,
        }
        #[derive(Deserialize)]
        struct Prompt {
            prompt: String,
        }
        #[derive(Deserialize)]
        struct Tokens {
            tokens: Vec<IgnoredAny>,
        }
        let mut fields: BTreeMap<&str, &RawValue> =
            serde_json::from_slice(body).map_err(|_| NoCount::Refused)?;
        fields.retain(|name, _| route.fields().contains(name));
        let question = serde_json::to_vec(&fields).map_err(|_| NoCount::Refused)?;
        let question = Bytes::from(question);
        let read = |path: &'static str| {
            self.client.read((upstream, path), client, question.clone(), ANSWER_BYTES)
        };
        let root = upstream.without_version();
        let counted = match route {
            CountRoute::Messages => read("/messages/count_tokens").await,
            CountRoute::Chat => read("/chat/completions/input_tokens").await,
            CountRoute::Responses => read("/responses/input_tokens").await,
            CountRoute::Tokenize => {
                let target = (&root, "/tokenize");
                let asked = self.client.read(target, client, question, ANSWER_BYTES).await;
                asked.map(|Tokenized { count }| InputTokens { input_tokens: count })
            }
            CountRoute::Template => {
                let target = (&root, "/apply-template");
                let Prompt { prompt } =
                    self.client.read(target, client, question, ANSWER_BYTES).await?;
                let text = json!({"content": prompt, "add_special": true, "parse_special": true});
                let (target, text) = ((&root, "/tokenize"), text.to_string().into());
                let Tokens { tokens } =
                    self.client.read(target, client, text, ANSWER_BYTES).await?;
                let input_tokens = i64::try_from(tokens.len()).unwrap_or(i64::MAX);
                Ok(InputTokens { input_tokens })
            }
        };
        match counted {
            Ok(InputTokens { input_tokens }) if input_tokens > 0 => Ok(input_tokens),
            Ok(_) => Err(NoCount::NoRoute),
            Err(status) => Err(status.into()),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, &'static str), KnownRoute>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
