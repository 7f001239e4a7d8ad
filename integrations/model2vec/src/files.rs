//! The three files of a model, read and checked.
//!
//! `model2vec-rs` does not check a folder: a table with fewer rows than the vocabulary has tokens
//! panics when such a token is met. So everything is checked here first, and an error names the file,
//! the field and what would be valid.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use model2vec_rs::model::StaticModel;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::LoadError;

/// Reads a model from its folder.
pub(crate) fn load(folder: &Path) -> Result<StaticModel, LoadError> {
    let tokenizer = File::read(folder, "tokenizer.json")?;
    let model = File::read(folder, "model.safetensors")?;
    let config = File::read(folder, "config.json")?;
    let normalize = config.normalize()?;
    let tokens = tokenizer.tokens()?;
    model.check_tensors(tokens)?;
    let loaded =
        StaticModel::from_bytes(&tokenizer.bytes, &model.bytes, &config.bytes, Some(normalize));
    // All but the tokenizer's inner workings has been looked at.
    loaded.map_err(|error| tokenizer.invalid("the tokenizer", format!("{error:#}")))
}

type Checked = Result<(), LoadError>;

struct File {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl File {
    fn read(folder: &Path, name: &str) -> Result<Self, LoadError> {
        let path = folder.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(source) => Err(LoadError::Read { path, source }),
        }
    }

    fn invalid(&self, field: impl Into<String>, problem: impl Into<String>) -> LoadError {
        let (field, problem) = (field.into(), problem.into());
        LoadError::Invalid { path: self.path.clone(), field, problem }
    }

    /// An error unless it holds.
    fn check(&self, holds: bool, field: &str, problem: impl FnOnce() -> String) -> Checked {
        if holds { Ok(()) } else { Err(self.invalid(field, problem())) }
    }

    fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, LoadError> {
        serde_json::from_slice(&self.bytes).map_err(|error| self.invalid("JSON", error.to_string()))
    }

    /// Reads from `config.json` if vectors are normalized to length 1.
    fn normalize(&self) -> Result<bool, LoadError> {
        let config: Value = self.json()?;
        let Value::Object(config) = &config else {
            return Err(self.invalid("JSON", "expected an object of settings"));
        };
        match config.get("normalize") {
            None => Ok(true), // as model2vec has it
            Some(Value::Bool(normalize)) => Ok(*normalize),
            Some(other) => {
                Err(self.invalid("normalize", format!("must be true or false, got {other}")))
            }
        }
    }

    /// Reads the number of tokens from `tokenizer.json`: the highest id plus 1.
    fn tokens(&self) -> Result<usize, LoadError> {
        let Tokenizer { added_tokens, model } = self.json()?;
        let highest = match &model.vocab {
            Vocab::Numbered(vocab) => vocab.values().max().copied(),
            Vocab::Listed(vocab) => vocab.len().checked_sub(1),
        };
        let added = added_tokens.iter().map(|token| token.id).max();
        match highest.max(added) {
            Some(highest) => Ok(highest.saturating_add(1)),
            None => Err(self.invalid("model.vocab", "is empty, expected at least one token")),
        }
    }

    /// Checks that every token has a vector, in `model.safetensors`.
    fn check_tensors(&self, tokens: usize) -> Checked {
        let tensors = self.tensors()?;
        let named = |names: &[&'static str]| {
            names.iter().find_map(|name| Some((*name, tensors.get(*name)?)))
        };
        let Some((name, table)) = named(&["embeddings", "0", "embedding.weight"]) else {
            let mut found: Vec<&str> = tensors.keys().map(String::as_str).collect();
            found.sort_unstable();
            let problem = format!("is not there, found {found:?}");
            return Err(self.invalid("embeddings", problem));
        };
        self.check_type(name, table, &["F32", "F16", "I8"])?;
        let [rows, 1..=usize::MAX] = *table.shape.as_slice() else {
            let shape = &table.shape;
            let problem = "must have two dimensions, tokens and numbers of a vector";
            return Err(self.invalid(name, format!("{problem}, got {shape:?}")));
        };
        if let Some(weights) = tensors.get("weights") {
            self.check_type("weights", weights, &["F64", "F32", "F16"])?;
            self.check_length("weights", weights, tokens)?;
        }
        let Some(mapping) = tensors.get("mapping") else {
            return self.check(rows >= tokens, name, || {
                format!("has {rows} rows, expected one for each of the tokenizer's {tokens} tokens")
            });
        };
        self.check_type("mapping", mapping, &["I64", "I32"])?;
        self.check_length("mapping", mapping, tokens)?;
        let wrong =
            self.numbers(mapping).find(|row| usize::try_from(*row).map_or(true, |row| row >= rows));
        self.check(wrong.is_none(), "mapping", || {
            let row = wrong.unwrap_or_default();
            format!("points at row {row}, expected one of the {rows} rows of {name}")
        })
    }

    fn check_type(&self, name: &str, tensor: &Tensor, types: &[&str]) -> Checked {
        let Tensor { dtype, shape, .. } = tensor;
        self.check(types.contains(&&**dtype), name, || {
            format!("must be of type {}, got {dtype}", types.join(" or "))
        })?;
        let data = self.data(tensor).ok_or_else(|| {
            let [from, to] = tensor.data_offsets;
            self.invalid(name, format!("ends beyond the file: its bytes are {from} to {to}"))
        })?;
        let width = match &**dtype {
            "F64" | "I64" => 8_usize,
            "F32" | "I32" => 4,
            "F16" => 2,
            _ => 1,
        };
        let expected = shape.iter().try_fold(width, |size, next| size.checked_mul(*next));
        self.check(expected == Some(data.len()), name, || {
            format!("has {} bytes, which do not make up its shape {shape:?}", data.len())
        })?;
        let is_number = match &**dtype {
            // All bits of the exponent set: infinite, or not a number.
            "F32" => data
                .chunks_exact(4)
                .all(|b| !matches!(b, [.., c, d] if (d & 0x7f) == 0x7f && (c & 0x80) == 0x80)),
            "F16" => data.chunks_exact(2).all(|b| !matches!(b, [_, b] if (b & 0x7c) == 0x7c)),
            _ => true,
        };
        self.check(is_number, name, || "has a value that is no finite number".to_owned())
    }

    fn check_length(&self, name: &str, tensor: &Tensor, tokens: usize) -> Checked {
        let shape = &tensor.shape;
        self.check(matches!(**shape, [length] if length >= tokens), name, || {
            let expected = format!("one number for each of the tokenizer's {tokens} tokens");
            format!("has the shape {shape:?}, expected {expected}")
        })
    }

    /// Reads the list of tensors from the head of the file.
    fn tensors(&self) -> Result<HashMap<String, Tensor>, LoadError> {
        let head = self.head().ok_or_else(|| {
            let problem = "is cut off or no safetensors at all: expected the length of a JSON head, \
                           the head, and numbers";
            self.invalid("head", problem)
        })?;
        let wrong = |error: serde_json::Error| self.invalid("head", error.to_string());
        let mut tensors: HashMap<String, Value> = serde_json::from_slice(head).map_err(wrong)?;
        tensors.remove("__metadata__");
        let read = |(name, tensor)| Ok((name, serde_json::from_value(tensor).map_err(wrong)?));
        tensors.into_iter().map(read).collect()
    }

    fn head(&self) -> Option<&[u8]> {
        let (length, rest) = self.bytes.split_first_chunk::<8>()?;
        rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)
    }

    fn data(&self, tensor: &Tensor) -> Option<&[u8]> {
        let start = self.head()?.len().checked_add(8)?;
        let [from, to] = tensor.data_offsets;
        self.bytes.get(start.checked_add(from)?..start.checked_add(to)?)
    }

    fn numbers(&self, tensor: &Tensor) -> impl Iterator<Item = i64> {
        let width = if tensor.dtype == "I32" { 4 } else { 8 };
        self.data(tensor).unwrap_or_default().chunks_exact(width).map(|bytes| match *bytes {
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => -1,
        })
    }
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

#[derive(Deserialize)]
struct Tokenizer {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    model: TokenizerModel,
}

#[derive(Deserialize)]
struct AddedToken {
    id: usize,
}

#[derive(Deserialize)]
struct TokenizerModel {
    vocab: Vocab,
}

/// Tokens with their numbers, or in their order.
#[derive(Deserialize)]
#[serde(untagged)]
enum Vocab {
    Numbered(HashMap<String, usize>),
    Listed(Vec<IgnoredAny>),
}
