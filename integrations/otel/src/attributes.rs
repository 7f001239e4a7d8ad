//! Names of all attributes, as they are exported.
//!
//! By the specification, names that begin with `cupel.` are not stable yet: do not build alerts on them.

/// On `cupel.selection`: the `maxTokens` of the whole request. On `cupel.pipeline`: those of the
/// budget it had, which is the same without the fixed tokens.
pub const BUDGET_MAX_TOKENS: &str = "cupel.budget.max_tokens";
/// On `cupel.pipeline`: the name of the [`CupelVerbosity`](crate::CupelVerbosity).
pub const VERBOSITY: &str = "cupel.verbosity";

/// On a stage: its name in lower case.
pub const STAGE_NAME: &str = "cupel.stage.name";
/// On a stage: number of items that entered it.
pub const STAGE_ITEM_COUNT_IN: &str = "cupel.stage.item_count_in";
/// On a stage: number of items that left it.
pub const STAGE_ITEM_COUNT_OUT: &str = "cupel.stage.item_count_out";

/// On a stage: number of items that it dropped.
pub const EXCLUSION_COUNT: &str = "cupel.exclusion.count";
/// On a `cupel.exclusion` event: the reason's name. Also a label of `cupel.items.excluded`.
pub const EXCLUSION_REASON: &str = "cupel.exclusion.reason";
/// On a `cupel.exclusion` event: the item's kind.
pub const EXCLUSION_ITEM_KIND: &str = "cupel.exclusion.item_kind";
/// On a `cupel.exclusion` event: the item's tokens.
pub const EXCLUSION_ITEM_TOKENS: &str = "cupel.exclusion.item_tokens";

/// On a `cupel.item.included` event: the item's kind.
pub const ITEM_KIND: &str = "cupel.item.kind";
/// On a `cupel.item.included` event: the item's tokens.
pub const ITEM_TOKENS: &str = "cupel.item.tokens";
/// On a `cupel.item.included` event: the score the item was placed with.
pub const ITEM_SCORE: &str = "cupel.item.score";

/// On `cupel.selection`: number of items in the request that is sent.
pub const ITEMS_INCLUDED: &str = "cupel.items.included";
/// On `cupel.selection`: number of candidates that are not sent.
pub const ITEMS_EXCLUDED: &str = "cupel.items.excluded";
/// On `cupel.selection`: tokens that were not up for selection, such as tools and instructions.
pub const TOKENS_FIXED: &str = "cupel.tokens.fixed";
/// On `cupel.selection`: tokens of the request that is sent, those of its items and the fixed ones.
pub const TOKENS_SENT: &str = "cupel.tokens.sent";

/// On `cupel.gather`: number of sources.
pub const SOURCES: &str = "cupel.sources";
/// On a source: its name. Also a label of the sources' metrics.
pub const SOURCE_NAME: &str = "cupel.source.name";
/// On a source: number of its items that became candidates.
pub const SOURCE_ITEMS: &str = "cupel.source.items";
/// On a source: the tokens of those items.
pub const SOURCE_TOKENS: &str = "cupel.source.tokens";
/// On a source: name of its outcome. Also a label of the sources' metrics.
pub const SOURCE_OUTCOME: &str = "cupel.source.outcome";

/// On a model's call: tokens that the prompt cache was expected to read.
pub const TOKENS_CACHED: &str = "cupel.tokens.cached";

/// On `cupel.selection` and on a model's call: `true` if messages were dropped, shortened or quoted.
pub const CONVERSATION_COMPACTED: &str = "gen_ai.conversation.compacted";
/// On a model's call: tokens of the request, as the server reported them.
pub const USAGE_INPUT: &str = "gen_ai.usage.input_tokens";
/// On a model's call: tokens of the answer, as the server reported them.
pub const USAGE_OUTPUT: &str = "gen_ai.usage.output_tokens";
/// On a model's call: tokens that the server read from its prompt cache.
pub const USAGE_CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
/// On a model's call: tokens that the server wrote to its prompt cache.
pub const USAGE_CACHE_CREATION: &str = "gen_ai.usage.cache_creation.input_tokens";
/// On a model's call: the status of the HTTP answer.
pub const HTTP_STATUS: &str = "http.response.status_code";

/// On the topmost span: the conversation, if the caller has [set it](crate::ConversationId).
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// On `cupel.selection`: the model the request is for, if the adapter knows it.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// On an async judge: its name. Also a label of the judges' metrics.
pub const JUDGE_NAME: &str = "cupel.judge.name";
/// On an async judge: number of texts that it was asked about.
pub const JUDGE_TEXTS: &str = "cupel.judge.texts";
/// On an async judge: number of texts with its answer in their hint.
pub const JUDGE_JUDGED: &str = "cupel.judge.judged";
/// On an async judge: number of requests to its model.
pub const JUDGE_REQUESTS: &str = "cupel.judge.requests";
/// On an async judge: number of texts, or pieces of texts, that it knew.
pub const JUDGE_CACHED: &str = "cupel.judge.cached";
/// On an async judge: true if answers of an earlier call of the exchange were used.
pub const JUDGE_REUSED: &str = "cupel.judge.reused";
/// On an async judge: name of its outcome. Also a label of the judges' metrics.
pub const JUDGE_OUTCOME: &str = "cupel.judge.outcome";

/// On a source `retrieval`, on a model's call such as `chat`.
pub const OPERATION_NAME: &str = "gen_ai.operation.name";
/// On a source: its name.
pub const DATA_SOURCE_ID: &str = "gen_ai.data_source.id";
/// On every span that failed, and on the durations of selections and pipelines: the name of the error.
pub const ERROR_TYPE: &str = "error.type";
