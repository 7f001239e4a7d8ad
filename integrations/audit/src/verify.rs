//! Verification of receipts: the bytes that were sent, reproduced, or what differs.

use cupel::policy::spec::ScorerRegistry;
use cupel::scorer::SystemTimeProvider;
use cupel_json::{Endpoint, JsonBody};

use crate::receipt::{Hasher, Receipt, ReceiptCall};

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verification {
    /// The request gives exactly the bytes that were sent.
    Reproduced {
        /// The bytes.
        sent: String,
    },
    /// Receipt and request belong together, but more than the request decided what was sent.
    NotReproducible {
        /// Description of the rest.
        why: String,
    },
    /// The receipt or the request is not what it was.
    Different {
        /// Everything that differs.
        differences: Vec<String>,
    },
}

impl Receipt {
    /// Verifies a receipt against the client's request.
    ///
    /// ```
    /// use cupel::{ContextBudget, Policy};
    /// use cupel_audit::{PlannerSettings, Receipt, ReceiptCall, Verification};
    /// use cupel_json::{Endpoint, JsonBody};
    ///
    /// let json = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;
    /// let body = JsonBody::parse(Endpoint::Chat, json).ok_or("no messages")?;
    /// let call = ReceiptCall {
    ///     policy: &Policy::chat(),
    ///     planner: &PlannerSettings::default(),
    ///     budget: &ContextBudget::builder(8_000).build()?,
    ///     grid_window: None,
    ///     factor: 1.0,
    ///     sources: 0,
    ///     secret: None,
    /// };
    /// let receipt = Receipt::new(&call, &body, json)?.json();
    /// let sent = json.to_owned();
    /// assert_eq!(Receipt::verify(&receipt, json, None)?, Verification::Reproduced { sent });
    /// let Verification::Different { differences } =
    ///     Receipt::verify(&receipt, &json.replace("Hi", "Ho"), None)? else { panic!() };
    /// assert_eq!(differences, ["message 0 of the request has other bytes"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Says why the receipt is none, or why the hashes cannot be computed.
    pub fn verify(
        receipt: &str,
        request: &str,
        secret: Option<&[u8]>,
    ) -> Result<Verification, String> {
        let text = receipt.trim_end_matches(['\n', '\r']);
        let receipt: Self =
            serde_json::from_str(text).map_err(|error| format!("not a receipt: {error}"))?;
        let hasher = match receipt.hash.as_str() {
            "sha256" => Hasher::new(None),
            _ if secret.is_none() => {
                return Err("the hashes of the receipt are keyed: the secret is needed".to_owned());
            }
            _ => Hasher::new(secret),
        };
        let mut differences = receipt.own_differences(text, &hasher);
        let body = JsonBody::parse(receipt.endpoint(), request);
        let Some(mut body) = body else {
            differences.push("the request is no body of its API".to_owned());
            return Ok(Verification::Different { differences });
        };
        // The address named the model, as Azure's do.
        if let (None, Some(model)) = (body.model(), &receipt.model) {
            body = body.with_model(model.clone());
        }
        differences.extend(receipt.request_differences(&body, &hasher));
        if !differences.is_empty() {
            return Ok(Verification::Different { differences });
        }
        if receipt.sources > 0 {
            let why = format!("{} items from sources", receipt.sources);
            return Ok(Verification::NotReproducible { why });
        }
        if receipt.planner.files {
            let why = "tokens were counted by files of the model".to_owned();
            return Ok(Verification::NotReproducible { why });
        }
        if !receipt.reproducible {
            let why = "the selection had less time, or more to go by, than the request".to_owned();
            return Ok(Verification::NotReproducible { why });
        }
        receipt.reproduce(&body, &hasher, secret)
    }

    fn endpoint(&self) -> Endpoint {
        match self.endpoint.as_str() {
            "responses" => Endpoint::Responses,
            "messages" => Endpoint::Messages,
            _ => Endpoint::Chat,
        }
    }

    /// Differences of the receipt from what was written.
    fn own_differences(&self, text: &str, hasher: &Hasher) -> Vec<String> {
        let mut differences = Vec::new();
        let written = self.json();
        if written != text {
            let same = written.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            differences.push(format!("the receipt is not as it was written, from byte {same} on"));
        }
        if self.seal_by(hasher) != self.seal {
            let what = "the receipt was changed after it was written, or the secret is another one";
            differences.push(what.to_owned());
        }
        differences
    }

    /// Differences of a request from the one that the receipt is for.
    fn request_differences(&self, body: &JsonBody, hasher: &Hasher) -> Vec<String> {
        if hasher.hash(body.json()) == self.request {
            return Vec::new();
        }
        let mut differences = Vec::new();
        let (count, known) = (body.message_count(), self.units.len());
        if count != known {
            differences.push(format!("the request has {count} messages, the receipt {known}"));
        }
        for (at, (json, unit)) in body.messages().zip(&self.units).enumerate() {
            if hasher.hash(json) != unit.hash {
                differences.push(format!("message {at} of the request has other bytes"));
            }
        }
        if differences.is_empty() {
            differences.push("bytes of the request outside of its messages differ".to_owned());
        }
        differences
    }

    /// Plans the request again, and compares everything.
    fn reproduce(
        &self,
        body: &JsonBody,
        hasher: &Hasher,
        secret: Option<&[u8]>,
    ) -> Result<Verification, String> {
        let registry = ScorerRegistry::new(SystemTimeProvider);
        let policy = self.policy.to_policy(&registry).map_err(|error| error.to_string())?;
        let planner = self.planner.planner()?.grid_window(self.grid_window);
        let planned = planner.plan(body.clone(), &policy, &self.budget)?;
        let sent = planned.body.json();
        let call = ReceiptCall {
            policy: &policy,
            planner: &self.planner,
            budget: &self.budget,
            grid_window: self.grid_window,
            factor: self.factor,
            sources: self.sources,
            secret: secret.filter(|_| self.hash != "sha256"),
        };
        let again = Self::new(&call, body, sent)?;
        let mut differences = Vec::new();
        if hasher.hash(sent) != self.sent {
            differences.push("other bytes would be sent".to_owned());
        }
        for (at, (now, then)) in again.units.iter().zip(&self.units).enumerate() {
            if now.form != then.form {
                let (now, then) = (now.form, then.form);
                differences.push(format!("message {at}: {now:?} now, {then:?} in the receipt"));
            }
        }
        if again.counts != self.counts {
            let (now, then) = (again.counts, self.counts);
            differences.push(format!("counts: {now:?} now, {then:?} in the receipt"));
        }
        if again.version != self.version && !differences.is_empty() {
            let (now, then) = (&again.version, &self.version);
            differences.push(format!("version: {now} now, {then} in the receipt"));
        }
        Ok(match differences.is_empty() {
            true => Verification::Reproduced { sent: sent.to_owned() },
            false => Verification::Different { differences },
        })
    }
}
