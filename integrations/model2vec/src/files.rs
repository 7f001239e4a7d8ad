//! The three files of a model, read and checked.
//!
//! `model2vec-rs` takes a folder at its word: a table with fewer rows than the vocabulary has tokens
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

    fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, LoadError> {
        serde_json::from_slice(&self.bytes).map_err(|error| self.invalid("JSON", error.to_string()))
    }

    /// Whether vectors are brought to length 1, from `config.json`.
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

    /// How many tokens there are, counting to the highest number, from `tokenizer.json`.
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
    fn check_tensors(&self, tokens: usize) -> Result<(), LoadError> {
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
        let Some(rows) = rows(table) else {
            let problem = format!(
                "must have two dimensions, tokens and numbers of a vector, got {:?}",
                table.shape
            );
            return Err(self.invalid(name, problem));
        };
        if let Some(weights) = tensors.get("weights") {
            self.check_type("weights", weights, &["F64", "F32", "F16"])?;
            self.check_length("weights", weights, tokens)?;
        }
        let Some(mapping) = tensors.get("mapping") else {
            return match rows >= tokens {
                true => Ok(()),
                false => Err(self.invalid(
                    name,
                    format!(
                        "has {rows} rows, expected one for each of the tokenizer's {tokens} tokens"
                    ),
                )),
            };
        };
        self.check_type("mapping", mapping, &["I64", "I32"])?;
        self.check_length("mapping", mapping, tokens)?;
        let wrong =
            self.numbers(mapping).find(|row| usize::try_from(*row).map_or(true, |row| row >= rows));
        match wrong {
            None => Ok(()),
            Some(row) => Err(self.invalid(
                "mapping",
                format!("points at row {row}, expected one of the {rows} rows of {name}"),
            )),
        }
    }

    fn check_type(&self, name: &str, tensor: &Tensor, types: &[&str]) -> Result<(), LoadError> {
        if !types.contains(&&*tensor.dtype) {
            let problem = format!("must be of type {}, got {}", types.join(" or "), tensor.dtype);
            return Err(self.invalid(name, problem));
        }
        let data = self.data(tensor).ok_or_else(|| {
            let [from, to] = tensor.data_offsets;
            self.invalid(name, format!("ends beyond the file: its bytes are {from} to {to}"))
        })?;
        let width = match &*tensor.dtype {
            "F64" | "I64" => 8_usize,
            "F32" | "I32" => 4,
            "F16" => 2,
            _ => 1,
        };
        let expected = tensor.shape.iter().try_fold(width, |size, next| size.checked_mul(*next));
        if expected != Some(data.len()) {
            let (bytes, shape) = (data.len(), &tensor.shape);
            let problem = format!("has {bytes} bytes, which do not make up its shape {shape:?}");
            return Err(self.invalid(name, problem));
        }
        let is_number = match &*tensor.dtype {
            // All bits of the exponent set: infinite, or not a number.
            "F32" => data
                .chunks_exact(4)
                .all(|b| !matches!(b, [.., c, d] if (d & 0x7f) == 0x7f && (c & 0x80) == 0x80)),
            "F16" => data.chunks_exact(2).all(|b| !matches!(b, [_, b] if (b & 0x7c) == 0x7c)),
            _ => true,
        };
        match is_number {
            true => Ok(()),
            false => Err(self.invalid(name, "has a value that is no finite number")),
        }
    }

    fn check_length(&self, name: &str, tensor: &Tensor, tokens: usize) -> Result<(), LoadError> {
        if matches!(tensor.shape.as_slice(), [length] if *length >= tokens) {
            return Ok(());
        }
        let problem = format!(
            "has the shape {:?}, expected one number for each of the tokenizer's {tokens} tokens",
            tensor.shape
        );
        Err(self.invalid(name, problem))
    }

    /// What the head of the file says is in it.
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

/// The rows of a table whose rows have something in them.
fn rows(table: &Tensor) -> Option<usize> {
    match *table.shape.as_slice() {
        [rows, columns] if columns > 0 => Some(rows),
        _ => None,
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
