//! Files that are no model: an error names the file, the field and what would be valid.

use crate::support::{Folder, table, tensors, tokenizer};
use cupel_model2vec::{LoadError, Model2Vec};
use serde_json::json;

/// The error, which names the file.
fn error(folder: &Folder, file: &str) -> String {
    let error = Model2Vec::load(&folder.0).unwrap_err().to_string();
    assert!(error.contains(file) && error.contains(&folder.0.display().to_string()), "{error}");
    error
}

#[test]
fn a_missing_file_or_folder_is_named_with_what_is_expected() {
    for file in ["tokenizer.json", "model.safetensors", "config.json"] {
        let folder = Folder::new(&format!("missing-{file}"));
        folder.remove(file);
        let error = error(&folder, file);
        assert!(error.contains("expected a folder with tokenizer.json"), "{error}");
    }
    let none = Model2Vec::load("/no/such/folder").unwrap_err();
    assert!(matches!(&none, LoadError::Read { path, .. } if path.starts_with("/no/such/folder")));
}

#[test]
fn the_settings_must_be_settings() {
    let folder = Folder::new("settings");
    for (config, expected) in [
        ("", "JSON: EOF"),
        ("[]", "expected an object of settings"),
        (r#"{"normalize": "yes"}"#, "normalize: must be true or false, got \"yes\""),
    ] {
        folder.write("config.json", config);
        let error = error(&folder, "config.json");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_tokenizer_must_be_one() {
    let folder = Folder::new("tokenizer");
    let mut unknown = tokenizer();
    unknown["model"]["type"] = json!("Magic");
    let mut empty = tokenizer();
    empty["model"]["vocab"] = json!({});
    let mut without = tokenizer();
    without["model"].as_object_mut().unwrap().remove("vocab");
    for (tokenizer, expected) in [
        ("{".to_owned(), "JSON: EOF"),
        ("{}".to_owned(), "missing field `model`"),
        (without.to_string(), "missing field `vocab`"),
        (empty.to_string(), "model.vocab: is empty, expected at least one token"),
        (unknown.to_string(), "the tokenizer: "),
    ] {
        folder.write("tokenizer.json", tokenizer);
        let error = error(&folder, "tokenizer.json");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_table_must_have_a_vector_for_every_token() {
    let folder = Folder::new("table");
    let ids = |ids: [i64; 8]| ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
    let mut odd = table();
    odd[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
    let good = ("embeddings", "F32", &[8_usize, 3][..], table());
    let cases = [
        (vec![], "head: is cut off"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff{}".to_vec(), "head: is cut off"),
        (b"\x02\0\0\0\0\0\0\0[]".to_vec(), "head: invalid type"),
        (
            tensors(&[("vectors", "F32", &[8, 3], table())]),
            "embeddings: is not there, found [\"vectors\"]",
        ),
        (
            tensors(&[("embeddings", "F64", &[4, 3], table())]),
            "embeddings: must be of type F32 or F16 or I8, got F64",
        ),
        (tensors(&[("embeddings", "F32", &[24], table())]), "must have two dimensions"),
        (tensors(&[("embeddings", "F32", &[8, 0], vec![])]), "must have two dimensions"),
        (
            tensors(&[("embeddings", "F32", &[7, 3], table()[12..].to_vec())]),
            "has 7 rows, expected one for each of the tokenizer's 8 tokens",
        ),
        (
            tensors(&[("embeddings", "F32", &[8, 3], odd)]),
            "embeddings: has a value that is no finite number",
        ),
        (
            tensors(&[good.clone(), ("weights", "F32", &[2], vec![0; 8])]),
            "weights: has the shape [2], expected one number for each",
        ),
        (
            tensors(&[good.clone(), ("weights", "I64", &[8], ids([0; 8]))]),
            "weights: must be of type",
        ),
        (
            tensors(&[good.clone(), ("mapping", "I64", &[8], ids([0, 1, 2, 3, 4, 5, 6, 8]))]),
            "mapping: points at row 8, expected one of the 8 rows",
        ),
        (
            tensors(&[good.clone(), ("mapping", "I64", &[8], ids([-1, 1, 2, 3, 4, 5, 6, 7]))]),
            "mapping: points at row -1",
        ),
    ];
    for (file, expected) in cases {
        folder.write("model.safetensors", file);
        let error = error(&folder, "model.safetensors");
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    // Cut off in the middle of the numbers, and more rows than the bytes have.
    let mut cut = tensors(&[good]);
    cut.truncate(cut.len() - 20);
    folder.write("model.safetensors", cut);
    assert!(error(&folder, "model.safetensors").contains("ends beyond the file"));
    folder.write("model.safetensors", tensors(&[("embeddings", "F32", &[9, 3], table())]));
    let short = error(&folder, "model.safetensors");
    assert!(short.contains("has 96 bytes, which do not make up its shape [9, 3]"), "{short}");
}
