//! Policy for a contract that does not hold.

use std::fmt;
use std::str::FromStr;

use super::problem::{ContractError, ContractProblem, Place};

/// The environment variable that may ask for [`LimitsPolicy::AutoClamp`].
pub const POLICY_VARIABLE: &str = "PIPELINE_LIMITS_POLICY";

/// Reaction to a step that does not fit the window.
///
/// ```
/// use cupel::contract::LimitsPolicy;
///
/// assert_eq!(LimitsPolicy::default(), LimitsPolicy::FailFast);
/// assert_eq!("auto_clamp".parse(), Ok(LimitsPolicy::AutoClamp));
/// assert_eq!(
///     "lenient".parse::<LimitsPolicy>().unwrap_err().to_string(),
///     r#"policy: got "lenient", expected "fail_fast" or "auto_clamp""#,
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LimitsPolicy {
    /// It is an error. The only policy for production.
    #[default]
    FailFast,
    /// Limits shrink until it fits, in memory only, and every change is reported and logged:
    /// the context of the whole pipeline first, then the answers of the steps that are still
    /// over. For development and tests.
    AutoClamp,
}

impl LimitsPolicy {
    /// The policy that [`POLICY_VARIABLE`] asks for, if it is set.
    ///
    /// # Errors
    ///
    /// [`ContractError`] when the variable is set to anything but a policy.
    pub fn from_env() -> Result<Option<Self>, ContractError> {
        match std::env::var_os(POLICY_VARIABLE) {
            None => Ok(None),
            Some(word) => Self::parse_at(&word.to_string_lossy(), POLICY_VARIABLE).map(Some),
        }
    }

    fn parse_at(word: &str, key: &str) -> Result<Self, ContractError> {
        match word {
            "fail_fast" => Ok(Self::FailFast),
            "auto_clamp" => Ok(Self::AutoClamp),
            word => {
                let expected = "\"fail_fast\" or \"auto_clamp\"";
                let problem =
                    ContractProblem::invalid(Place::key(key), format!("{word:?}"), expected);
                Err(problem.into())
            }
        }
    }
}

impl fmt::Display for LimitsPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FailFast => "fail_fast",
            Self::AutoClamp => "auto_clamp",
        })
    }
}

impl FromStr for LimitsPolicy {
    type Err = ContractError;

    fn from_str(word: &str) -> Result<Self, ContractError> {
        Self::parse_at(word, "policy")
    }
}
