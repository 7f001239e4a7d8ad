//! Receipts of calls: what was kept, shortened, quoted and dropped, as hashes.

use cupel::conversation::RehearsedMessage;
use cupel::policy::spec::ScorerRegistry;
use cupel::scorer::SystemTimeProvider;
use cupel::{ContextBudget, Policy, PolicySpec};
use cupel_json::{Endpoint, JsonBody};
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};

use crate::planner::PlannedRequest;
use crate::planner_settings::PlannerSettings;

/// Receipt of one call. It holds no content: hashes, counts and settings.
///
/// [`Receipt::verify`] reproduces the request that was sent from the one that came, in any process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Receipt {
    /// Version of this form.
    pub format: u32,
    /// Version of the library.
    pub version: String,
    /// Kind of the hashes: `sha256`, or `hmac-sha256` with a secret.
    pub hash: String,
    /// API: `chat`, `responses` or `messages`.
    pub endpoint: String,
    /// Model that the request names.
    pub model: Option<String>,
    /// Policy of the selection.
    pub policy: PolicySpec,
    /// Settings by which the request was read and counted.
    pub planner: PlannerSettings,
    /// Budget of the request, in our tokens.
    pub budget: ContextBudget,
    /// Window on which the grid of the plan depended, if it was not that of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid_window: Option<i64>,
    /// Number of the model's tokens that one of ours stands for.
    pub factor: f64,
    /// Number of items from sources.
    pub sources: u64,
    /// Set if the request alone gives the bytes that were sent.
    pub reproducible: bool,
    /// Numbers of messages, and tokens.
    pub counts: ReceiptCounts,
    /// Hash of the client's request.
    pub request: String,
    /// Hash of the request as it was sent.
    pub sent: String,
    /// Each message of the request.
    pub units: Vec<ReceiptUnit>,
    /// Hash of everything above.
    pub seal: String,
}

/// Numbers of messages in a receipt, and the tokens that were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReceiptCounts {
    /// Messages that were sent unchanged.
    pub kept: u64,
    /// Messages that were sent with excerpts of results.
    pub excerpted: u64,
    /// Messages that were quoted.
    pub recalled: u64,
    /// Messages that were not sent.
    pub dropped: u64,
    /// Tokens that were sent, in our count.
    pub tokens: i64,
}

/// One message in a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReceiptUnit {
    /// Form in which it was sent.
    pub form: ReceiptForm,
    /// Hash of its bytes in the request.
    pub hash: String,
}

/// Form in which a message was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReceiptForm {
    /// It was sent.
    Kept,
    /// It was sent with an excerpt of a result.
    Excerpted,
    /// It was quoted.
    Recalled,
    /// It was not sent.
    Dropped,
}

impl ReceiptForm {
    fn of(form: RehearsedMessage) -> Self {
        match form {
            RehearsedMessage::Whole => Self::Kept,
            RehearsedMessage::Excerpt => Self::Excerpted,
            RehearsedMessage::Quoted => Self::Recalled,
            _ => Self::Dropped,
        }
    }
}

/// Settings of the call that a receipt is for.
#[derive(Debug, Clone)]
pub struct ReceiptCall<'a> {
    /// Policy of the selection.
    pub policy: &'a Policy,
    /// Settings by which the request was read and counted.
    pub planner: &'a PlannerSettings,
    /// Budget of the request.
    pub budget: &'a ContextBudget,
    /// Window on which the grid of the plan depends, if it is not that of the budget.
    pub grid_window: Option<i64>,
    /// Number of the model's tokens that one of ours stands for.
    pub factor: f64,
    /// Number of items from sources.
    pub sources: u64,
    /// Secret that keys the hashes. Without one, short texts can be guessed from them.
    pub secret: Option<&'a [u8]>,
}

impl Receipt {
    /// Writes the receipt of a call, from the request that the client sent and the one that was sent on.
    ///
    /// # Errors
    ///
    /// Says why the policy is no data, or the request cannot be planned.
    pub fn new(call: &ReceiptCall<'_>, request: &JsonBody, sent: &str) -> Result<Self, String> {
        let planner = call.planner.planner()?.grid_window(call.grid_window);
        let planned = planner.plan(request.clone(), call.policy, call.budget)?;
        Self::of_planned(call, request, &planned, sent)
    }

    /// Writes the receipt of a call whose request was planned already.
    ///
    /// # Errors
    ///
    /// Says why the policy is no data.
    pub fn of_planned<T>(
        call: &ReceiptCall<'_>,
        request: &JsonBody<T>,
        planned: &PlannedRequest<T>,
        sent: &str,
    ) -> Result<Self, String> {
        let registry = ScorerRegistry::new(SystemTimeProvider);
        let policy =
            PolicySpec::from_policy(call.policy, &registry).map_err(|it| it.to_string())?;
        let hasher = Hasher::new(call.secret);
        let units = units(planned, request, sent, call.sources, &hasher);
        let count = |form| units.iter().filter(|unit| unit.form == form).count() as u64;
        let mut receipt = Self {
            format: 1,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            hash: hasher.kind().to_owned(),
            endpoint: name_of(request.endpoint()).to_owned(),
            model: request.model().map(str::to_owned),
            policy,
            planner: call.planner.clone(),
            budget: call.budget.clone(),
            grid_window: call.grid_window,
            factor: call.factor,
            sources: call.sources,
            reproducible: call.sources == 0 && !call.planner.files && planned.body.json() == sent,
            counts: ReceiptCounts {
                kept: count(ReceiptForm::Kept),
                excerpted: count(ReceiptForm::Excerpted),
                recalled: count(ReceiptForm::Recalled),
                dropped: count(ReceiptForm::Dropped),
                tokens: planned.tokens,
            },
            request: hasher.hash(request.json()),
            sent: hasher.hash(sent),
            units,
            seal: String::new(),
        };
        receipt.seal = receipt.seal_by(&hasher);
        Ok(receipt)
    }

    /// The receipt as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        // Strings and numbers: there is nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn seal_by(&self, hasher: &Hasher) -> String {
        hasher.hash(&Self { seal: String::new(), ..self.clone() }.json())
    }
}

/// The messages, with what became of each. What sources bring changes what is quoted, so only messages whose
/// bytes were sent are then known to be kept.
fn units<T>(
    planned: &PlannedRequest<T>,
    request: &JsonBody<T>,
    sent: &str,
    sources: u64,
    hasher: &Hasher,
) -> Vec<ReceiptUnit> {
    let is_planned = sources == 0 && planned.body.json() == sent;
    let forms = planned.forms.iter().map(|form| ReceiptForm::of(*form));
    request
        .messages()
        .zip(forms)
        .map(|(json, form)| {
            let form = match (is_planned, sent.contains(json)) {
                (true, _) => form,
                (false, true) => ReceiptForm::Kept,
                (false, false) if form == ReceiptForm::Kept => ReceiptForm::Dropped,
                (false, false) => form,
            };
            ReceiptUnit { form, hash: hasher.hash(json) }
        })
        .collect()
}

pub(crate) fn name_of(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Responses => "responses",
        Endpoint::Messages => "messages",
        _ => "chat",
    }
}

/// Hashes of a receipt.
pub(crate) struct Hasher(Option<hmac::Key>);

impl Hasher {
    pub(crate) fn new(secret: Option<&[u8]>) -> Self {
        Self(secret.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }

    pub(crate) fn kind(&self) -> &'static str {
        if self.0.is_some() { "hmac-sha256" } else { "sha256" }
    }

    pub(crate) fn hash(&self, text: &str) -> String {
        // The secret may have other uses.
        const LABEL: &[u8] = b"cupel receipt\0";
        match &self.0 {
            None => hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref()),
            Some(key) => {
                let mut context = hmac::Context::with_key(key);
                context.update(LABEL);
                context.update(text.as_bytes());
                hex(context.sign().as_ref())
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
