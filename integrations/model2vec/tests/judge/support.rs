//! A small model, written to a folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The words that the model knows, with the direction that each points in.
pub(crate) const WORDS: [(&str, [f32; 3]); 8] = [
    ("[UNK]", [9.0, 9.0, 9.0]),
    ("car", [1.0, 0.1, 0.0]),
    ("automobile", [0.9, 0.0, 0.1]),
    ("rent", [0.6, 0.3, 0.0]),
    ("hire", [0.5, 0.4, 0.1]),
    ("tea", [0.0, 1.0, 0.0]),
    ("weather", [0.0, 0.1, 1.0]),
    ("rain", [0.1, 0.0, 0.9]),
];

/// A folder of its own for each test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// A folder with a model in it.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("model2vec").join(name);
        fs::create_dir_all(&folder).unwrap();
        let folder = Self(folder);
        folder.write("tokenizer.json", tokenizer().to_string());
        folder.write("config.json", json!({"normalize": true}).to_string());
        folder.write("model.safetensors", tensors(&[("embeddings", "F32", &[8, 3], table())]));
        folder
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.0.join(name)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// As BERT's: lower case, words and their pieces.
pub(crate) fn tokenizer() -> Value {
    let vocab: serde_json::Map<String, Value> =
        WORDS.iter().enumerate().map(|(id, (word, _))| ((*word).to_owned(), json!(id))).collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": null,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab},
    })
}

/// The directions as bytes.
pub(crate) fn table() -> Vec<u8> {
    WORDS.iter().flat_map(|(_, vector)| vector).flat_map(|value| value.to_le_bytes()).collect()
}

/// A file of tensors: name, type, shape and bytes of each.
pub(crate) fn tensors(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let (mut head, mut data) = (serde_json::Map::new(), Vec::<u8>::new());
    for (name, dtype, shape, bytes) in tensors {
        let from = data.len();
        data.extend(bytes);
        let tensor = json!({"dtype": dtype, "shape": shape, "data_offsets": [from, data.len()]});
        head.insert((*name).to_owned(), tensor);
    }
    let mut head = Value::Object(head).to_string();
    // Numbers begin at a multiple of 8.
    head.push_str(&" ".repeat(head.len().next_multiple_of(8) - head.len()));
    let mut file = (head.len() as u64).to_le_bytes().to_vec();
    file.extend(head.as_bytes());
    file.extend(data);
    file
}
