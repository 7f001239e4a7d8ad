//! Specs in files: JSON, TOML and YAML.

use std::path::Path;

use super::read::read;
use super::tree::Tree;
use super::{PolicySpec, PolicySpecError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Toml,
    Yaml,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }

    fn of(file: &Path) -> Result<Self, PolicySpecError> {
        let extension = file.extension().map(|extension| extension.to_string_lossy().into_owned());
        match extension.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("json") => Ok(Self::Json),
            Some("toml") => Ok(Self::Toml),
            Some("yaml" | "yml") => Ok(Self::Yaml),
            _ => Err(PolicySpecError::UnknownFormat { extension }),
        }
    }

    fn parse(self, text: &str) -> Result<PolicySpec, PolicySpecError> {
        let tree = match self {
            Self::Json => serde_json::from_str::<Tree>(text).map_err(|error| error.to_string()),
            Self::Toml => toml::from_str::<Tree>(text).map_err(|error| error.to_string()),
            Self::Yaml => yaml_serde::from_str::<Tree>(text).map_err(|error| error.to_string()),
        };
        let tree = tree.map_err(|message| PolicySpecError::Syntax {
            format: self.name(),
            message: message.trim_end().to_owned(),
        })?;
        read(tree)
    }

    fn write(self, spec: &PolicySpec) -> Result<String, PolicySpecError> {
        let text = match self {
            Self::Json => serde_json::to_string_pretty(spec).map_err(|error| error.to_string()),
            Self::Toml => toml::to_string(spec).map_err(|error| error.to_string()),
            Self::Yaml => yaml_serde::to_string(spec).map_err(|error| error.to_string()),
        };
        text.map_err(|message| PolicySpecError::Unwritable { format: self.name(), message })
    }
}

/// Files, with the feature `config`.
impl PolicySpec {
    /// Reads a file; its extension says the format: `json`, `toml`, `yaml` or `yml`.
    ///
    /// ```
    /// use cupel::PolicySpec;
    ///
    /// let error = PolicySpec::from_file("no/such/policy.yaml").unwrap_err();
    /// assert!(error.to_string().starts_with("no/such/policy.yaml: cannot be read: "));
    /// ```
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::File`], which names the file and what is wrong with it.
    pub fn from_file(file: impl AsRef<Path>) -> Result<Self, PolicySpecError> {
        let file = file.as_ref();
        let read = || {
            let format = Format::of(file)?;
            let text = std::fs::read_to_string(file)
                .map_err(|error| PolicySpecError::Unreadable(error.to_string()))?;
            format.parse(&text)
        };
        read().map_err(|error| PolicySpecError::File {
            file: file.to_owned(),
            error: Box::new(error),
        })
    }

    /// Reads JSON.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Syntax`] or [`PolicySpecError::Invalid`].
    pub fn from_json_str(text: &str) -> Result<Self, PolicySpecError> {
        Format::Json.parse(text)
    }

    /// Reads TOML.
    ///
    /// ```
    /// use cupel::PolicySpec;
    ///
    /// let spec = PolicySpec::from_toml_str(
    ///     r#"
    ///     placer = "u_shaped"
    ///     slicer = { type = "knapsack", bucket_size = 50 }
    ///
    ///     [[scorers]]
    ///     type = "reflexive"
    ///     weight = 7
    ///
    ///     [[scorers]]
    ///     type = "decay"
    ///     weight = 3
    ///     curve = { type = "exponential", half_life_secs = 3600 }
    ///     "#,
    /// )?;
    /// assert_eq!(PolicySpec::from_toml_str(&spec.to_toml_string()?)?, spec);
    /// # Ok::<(), cupel::PolicySpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_json_str`](Self::from_json_str).
    pub fn from_toml_str(text: &str) -> Result<Self, PolicySpecError> {
        Format::Toml.parse(text)
    }

    /// Reads YAML.
    ///
    /// ```
    /// use cupel::PolicySpec;
    ///
    /// let error = PolicySpec::from_yaml_str(
    ///     "
    /// scorers:
    ///   - { type: recency, weight: 2 }
    ///   - { type: reflexive, weight: -1 }
    /// slicer: greedy
    /// placer: chronological
    /// ",
    /// );
    /// let error = error.unwrap_err();
    /// assert_eq!(error.to_string(), "scorers[1].weight: must be positive, got -1");
    /// assert_eq!(error.problems()[0].path, "scorers[1].weight");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_json_str`](Self::from_json_str).
    pub fn from_yaml_str(text: &str) -> Result<Self, PolicySpecError> {
        Format::Yaml.parse(text)
    }

    /// Writes JSON, indented.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Unwritable`] when the spec holds a value JSON has no form for.
    pub fn to_json_string(&self) -> Result<String, PolicySpecError> {
        Format::Json.write(self)
    }

    /// Writes TOML.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Unwritable`] when the spec holds a value TOML has no form for.
    pub fn to_toml_string(&self) -> Result<String, PolicySpecError> {
        Format::Toml.write(self)
    }

    /// Writes YAML: a preset written this way is a good start for a policy of your own.
    ///
    /// ```
    /// use cupel::{Policy, PolicySpec, ScorerRegistry, SystemTimeProvider};
    ///
    /// let registry = ScorerRegistry::new(SystemTimeProvider);
    /// let yaml = PolicySpec::from_policy(&Policy::chat(), &registry)?.to_yaml_string()?;
    /// assert!(yaml.starts_with("scorers:\n- type: recency\n  weight: 3.0\n"));
    /// # Ok::<(), cupel::PolicySpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Unwritable`] when the spec holds a value YAML has no form for.
    pub fn to_yaml_string(&self) -> Result<String, PolicySpecError> {
        Format::Yaml.write(self)
    }
}
