//! Gradual start: the conversations that are fitted, and those that are planned beside the call only.

use ring::digest;

/// Way in which requests are handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatewayMode {
    /// Requests are fitted.
    #[default]
    Fit,
    /// Requests are sent byte for byte. Page and metrics show the requests that would have been sent.
    Shadow,
}

/// Share of the conversations that are fitted.
///
/// ```
/// use cupel_gateway::Rollout;
///
/// let mut rollout = Rollout::default();
/// assert!(rollout.fits("conversation-1"));
/// rollout.fit = 0.1;
/// let fitted = (0..1_000).filter(|number| rollout.fits(&format!("conversation-{number}"))).count();
/// assert!((60..140).contains(&fitted), "{fitted}");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rollout {
    /// Way in which requests are handled.
    pub mode: GatewayMode,
    /// Share of the conversations that are fitted, from 0 to 1.
    pub fit: f64,
    /// Salt of the hash that decides. Gateways with the same salt decide alike.
    pub salt: String,
}

impl Default for Rollout {
    fn default() -> Self {
        Self { mode: GatewayMode::Fit, fit: 1.0, salt: String::new() }
    }
}

impl Rollout {
    /// Returns whether a conversation with this name is fitted, in every process.
    #[must_use]
    pub fn fits(&self, conversation: impl AsRef<[u8]>) -> bool {
        if self.mode == GatewayMode::Shadow || self.fit >= 1.0 {
            return self.mode == GatewayMode::Fit;
        }
        let mut context = digest::Context::new(&digest::SHA256);
        // The length keeps salt and name apart.
        context.update(&u64::try_from(self.salt.len()).unwrap_or(u64::MAX).to_be_bytes());
        context.update(self.salt.as_bytes());
        context.update(conversation.as_ref());
        let hash = context.finish();
        let first = hash.as_ref().first_chunk().copied().unwrap_or_default();
        (u64::from_be_bytes(first) as f64) < self.fit * 2_f64.powi(64)
    }

    /// Returns whether some requests are not fitted.
    pub(crate) fn is_partial(&self) -> bool {
        self.mode == GatewayMode::Shadow || self.fit < 1.0
    }

    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !(0.0..=1.0).contains(&self.fit) {
            let fit = self.fit;
            problems.push(format!("fit: is {fit}, expected a share of conversations from 0 to 1"));
        } else if self.mode == GatewayMode::Shadow && self.fit < 1.0 {
            problems.push(
                "fit: in mode \"shadow\" nothing is fitted, expected only one of both".to_owned(),
            );
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_of_a_conversation_is_the_same_in_every_process() {
        let rollout = Rollout { fit: 0.25, salt: "pepper".to_owned(), ..Rollout::default() };
        let fitted: Vec<u32> = (0..32).filter(|at| rollout.fits(format!("talk-{at}"))).collect();
        // Worked out with another implementation of SHA-256.
        assert_eq!(fitted, EXPECTED);
        // A larger share keeps those that are fitted already.
        let more = Rollout { fit: 0.5, ..rollout.clone() };
        assert!(fitted.iter().all(|at| more.fits(format!("talk-{at}"))));
        let none = Rollout { fit: 0.0, ..rollout };
        assert!((0..1_000).all(|at| !none.fits(format!("talk-{at}"))));
    }

    const EXPECTED: [u32; 5] = [1, 9, 11, 13, 16];
}
