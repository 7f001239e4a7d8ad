//! What a reason of another implementation carries besides its name.

use std::fmt;

/// The fields of a reason that this version does not know, as they were read.
///
/// They are written again as they are, so that a report can pass through.
///
/// ```
/// # #[cfg(feature = "serde")] {
/// use cupel::ExclusionReason;
///
/// let text = r#"{"reason":"RateCapped","cap":0.5}"#;
/// let reason: ExclusionReason = serde_json::from_str(text).unwrap();
/// let ExclusionReason::Unknown { reason: name, fields } = &reason else { unreachable!() };
/// assert_eq!((name.as_str(), fields.json("cap").as_deref()), ("RateCapped", Some("0.5")));
/// assert_eq!(serde_json::to_string(&reason).unwrap(), text);
/// # }
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UnknownFields {
    #[cfg(feature = "serde")]
    pub(super) fields: serde_json::Map<String, serde_json::Value>,
}

impl UnknownFields {
    /// The names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        #[cfg(feature = "serde")]
        let names = self.fields.keys().map(String::as_str);
        #[cfg(not(feature = "serde"))]
        let names = std::iter::empty();
        names
    }

    /// A field's value as JSON text.
    #[must_use]
    pub fn json(&self, name: &str) -> Option<String> {
        #[cfg(feature = "serde")]
        let value = self.fields.get(name).map(ToString::to_string);
        #[cfg(not(feature = "serde"))]
        let value = {
            let _ = name;
            None
        };
        value
    }
}

/// Names only: the values may be somebody's content.
impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for UnknownFields {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}
