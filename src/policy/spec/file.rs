//! Specs in files: JSON, TOML and YAML.

use std::io::{Error, ErrorKind};
use std::path::Path;

use super::{PolicySpec, PolicySpecError};
use crate::config::limits::FILE_BYTES;
use crate::config::{Format, read_file};

fn parse(format: Format, text: &str) -> Result<PolicySpec, PolicySpecError> {
    let tree = format.parse(text, "");
    let tree =
        tree.map_err(|message| PolicySpecError::Syntax { format: format.name(), message })?;
    PolicySpec::read(tree)
}

fn write(format: Format, spec: &PolicySpec) -> Result<String, PolicySpecError> {
    let text = format.write(spec);
    text.map_err(|message| PolicySpecError::Unwritable { format: format.name(), message })
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
            let extension = file.extension();
            let format = Format::of(extension).ok_or_else(|| PolicySpecError::UnknownFormat {
                extension: extension.map(|name| name.to_string_lossy().into_owned()),
            })?;
            let text = read_file(file, FILE_BYTES).and_then(|bytes| {
                String::from_utf8(bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))
            });
            let text = text.map_err(|error| PolicySpecError::Unreadable(error.to_string()))?;
            parse(format, &text)
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
        parse(Format::Json, text)
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
    /// # Ok::<(), cupel::policy::spec::PolicySpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_json_str`](Self::from_json_str).
    pub fn from_toml_str(text: &str) -> Result<Self, PolicySpecError> {
        parse(Format::Toml, text)
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
        parse(Format::Yaml, text)
    }

    /// Writes JSON, indented.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Unwritable`] when the spec holds a value JSON has no form for.
    pub fn to_json_string(&self) -> Result<String, PolicySpecError> {
        write(Format::Json, self)
    }

    /// Writes TOML.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Unwritable`] when the spec holds a value TOML has no form for.
    pub fn to_toml_string(&self) -> Result<String, PolicySpecError> {
        write(Format::Toml, self)
    }

    /// Writes YAML: a preset written this way is a good start for a policy of your own.
    ///
    /// ```
    /// use cupel::{Policy, PolicySpec};
    /// use cupel::policy::spec::ScorerRegistry;
    /// use cupel::scorer::SystemTimeProvider;
    ///
    /// let registry = ScorerRegistry::new(SystemTimeProvider);
    /// let yaml = PolicySpec::from_policy(&Policy::chat(), &registry)?.to_yaml_string()?;
    /// assert!(yaml.starts_with("scorers:\n- type: age\n  weight: 3.0\n"));
    /// # Ok::<(), cupel::policy::spec::PolicySpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Unwritable`] when the spec holds a value YAML has no form for.
    pub fn to_yaml_string(&self) -> Result<String, PolicySpecError> {
        write(Format::Yaml, self)
    }
}
