//! Counting by a model's own files: its `tokenizer.json` and its chat template.

#![cfg(feature = "tokenizers")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cupel::tokens::{
    ChatTemplate, FormatOverhead, HeuristicCounter, ModelFiles, TokenCounter, TokenizerFile,
};
use serde_json::{Value, json};

/// A tokenizer of bytes, with some longer tokens: `th`, `the` and the marks of ChatML.
fn tokenizer_json() -> Value {
    // The letters that stand for bytes, as GPT-2 chose them.
    let printable = |byte: &u32| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut letters: Vec<char> =
        (0..=255_u32).filter(printable).filter_map(char::from_u32).collect();
    let others = 256 - letters.len();
    letters.extend((0..others).filter_map(|index| char::from_u32(256 + index as u32)));
    let mut vocab: serde_json::Map<String, Value> =
        letters.iter().enumerate().map(|(id, letter)| (letter.to_string(), json!(id))).collect();
    vocab.insert("th".to_owned(), json!(256));
    vocab.insert("the".to_owned(), json!(257));
    let special = |id: usize, content: &str| {
        json!({ "id": id, "content": content, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true })
    };
    json!({
        "version": "1.0", "normalizer": null, "post_processor": null, "decoder": null,
        "truncation": { "direction": "Right", "max_length": 16, "strategy": "LongestFirst", "stride": 0 },
        "padding": { "strategy": { "Fixed": 32 }, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "!" },
        "added_tokens": [special(258, "<|im_start|>"), special(259, "<|im_end|>")],
        "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
            "use_regex": true },
        "model": { "type": "BPE", "vocab": vocab, "merges": ["t h", "th e"] },
    })
}

fn tokenizer() -> TokenizerFile {
    TokenizerFile::from_json("tiny", tokenizer_json().to_string().as_bytes()).unwrap()
}

const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}\
    {% if message['content'] %}{{ message['content'] | trim }}{% endif %}\
    {% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}\
    {{ '<|im_end|>\\n' }}{% endfor %}\
    {% if tools %}# Tools {% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}\
    {% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("model-files").join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_text_is_counted_whole_whatever_the_file_says_of_truncation_and_padding() {
    let counter = tokenizer();
    assert_eq!((counter.count(""), counter.count("the"), counter.count("th is")), (0, 1, 4));
    assert_eq!(counter.count(&"ab ".repeat(1_000)), 3_000);
    assert_eq!(counter.count("<|im_start|>the<|im_end|>"), 3);
}

#[test]
fn a_file_that_is_no_tokenizer_is_an_error_that_says_what_it_is() {
    let folder = Folder::new("foreign");
    let config = r#"{"chat_template": "x", "bos_token": "<s>"}"#;
    let broken = tokenizer_json().to_string();
    for (name, content, expected) in [
        ("m.gguf", &b"GGUF\x03\0\0\0"[..], "it is a GGUF file, expected the tokenizer.json"),
        ("m.zip", b"PK\x03\x04", "it is an archive"),
        ("tokenizer.model", b"\n\x0e\n\x05<unk>", "it is a SentencePiece model"),
        ("empty.json", b"", "it is empty"),
        ("list.json", b"[]", "it is no JSON object"),
        (
            "tokenizer_config.json",
            config.as_bytes(),
            "it has no `model`, and begins with bos_token, chat_template",
        ),
        ("cut.json", &broken.as_bytes()[..broken.len() / 2], "it is no valid tokenizer.json: EOF"),
        ("other.json", br#"{"model": {"type": "New"}}"#, "it is no valid tokenizer.json: "),
    ] {
        let error = TokenizerFile::open(folder.write(name, content)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(name), "{error}");
    }
    let error = ModelFiles::open(folder.0.join("none.json")).unwrap_err().to_string();
    assert!(error.contains("none.json: "), "{error}");
    let huge = folder.write("huge.json", "{}");
    fs::File::options().write(true).open(&huge).unwrap().set_len(100 << 20).unwrap();
    let error = TokenizerFile::open(&huge).unwrap_err().to_string();
    assert!(error.ends_with("it has 104857600 bytes, expected at most 67108864"), "{error}");
    // Weights are as large, and the likeliest file to be taken for a tokenizer.
    fs::write(&huge, "GGUF\u{3}").unwrap();
    fs::File::options().write(true).open(&huge).unwrap().set_len(100 << 20).unwrap();
    let error = TokenizerFile::open(&huge).unwrap_err().to_string();
    assert!(error.contains("it is a GGUF file, expected the tokenizer.json"), "{error}");
}

#[test]
fn a_file_that_changes_does_not_change_a_counter_that_exists() {
    let folder = Folder::new("changes");
    let path = folder.write("tokenizer.json", tokenizer_json().to_string());
    let files = ModelFiles::open(&folder.0).unwrap();
    assert_eq!(files.counter().count("the"), 1);
    fs::write(&path, "broken").unwrap();
    assert_eq!(files.counter().count("the the"), 3);
    assert!(ModelFiles::open(&folder.0).is_err());
}

#[test]
fn the_template_beside_a_tokenizer_is_found_wherever_it_stands() {
    let folder = Folder::new("beside");
    folder.write("tokenizer.json", tokenizer_json().to_string());
    assert!(ModelFiles::open(&folder.0).unwrap().template().is_none());
    let config =
        |template: Value| json!({ "bos_token": null, "chat_template": template }).to_string();
    let listed = json!([{ "name": "default", "template": CHATML }, { "name": "tool_use", "template": CHATML }]);
    let overhead =
        |folder: &Folder| ModelFiles::open(&folder.0).unwrap().template().unwrap().overhead();
    let mut found = Vec::new();
    for template in [json!(CHATML), listed] {
        folder.write("tokenizer_config.json", config(template));
        found.push(overhead(&folder));
    }
    folder.write("tokenizer_config.json", config(json!("{% broken")));
    let error = ModelFiles::open(&folder.0).unwrap_err().to_string();
    assert!(error.contains("tokenizer_config.json: its chat template cannot be read"), "{error}");
    folder.write("chat_template.jinja", CHATML);
    found.push(overhead(&folder));
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
    folder.write("chat_template.jinja", "{{ raise_exception('no users here') }}");
    let error = ModelFiles::open(&folder.0).unwrap_err().to_string();
    assert!(
        error.contains("cannot render a user's message") && error.contains("no users here"),
        "{error}"
    );
}

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::new("test", source, Arc::new(tokenizer())).unwrap()
}

/// Tokens of a conversation by the overhead, as adapters add them up.
fn sum(format: FormatOverhead, messages: &Value) -> i64 {
    let counter = tokenizer();
    let text = |value: &Value| value.as_str().map_or(0, |text| counter.count(text));
    let of_message = |message: &Value| {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| {
            let arguments = call["function"]["arguments"].to_string().replace(':', ": ");
            format.per_call + text(&call["function"]["name"]) + counter.count(&arguments)
        });
        format.message(&counter, message["role"].as_str().unwrap())
            + text(&message["content"])
            + calls.sum::<i64>()
    };
    messages.as_array().unwrap().iter().map(of_message).sum::<i64>() + format.answer
}

#[test]
fn the_sum_of_the_messages_is_the_rendered_conversation() {
    let template = template(CHATML);
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "find", "arguments": { "key": "door" } } });
    let plain = json!([
        { "role": "system", "content": "the rules" },
        { "role": "user", "content": "Where is the key?" },
        { "role": "assistant", "content": "Under the mat." },
        { "role": "user", "content": "And the other one, 17?" },
    ]);
    let rendered = template.count(&plain.to_string(), None).unwrap();
    let counted = sum(template.overhead(), &plain);
    assert!(counted >= rendered && counted <= rendered + 16, "{counted} {rendered}");
    let called = json!([
        { "role": "user", "content": "Where is the key?" },
        { "role": "assistant", "content": "", "tool_calls": [call("1"), call("2")] },
        { "role": "tool", "tool_call_id": "1", "content": "{\"found\": true}" },
        { "role": "tool", "tool_call_id": "2", "content": "\n\nthe end\n" },
        { "role": "assistant", "content": "Under the mat." },
        { "role": "user", "content": "Thanks" },
    ]);
    let rendered = template.count(&called.to_string(), None).unwrap();
    let counted = sum(template.overhead(), &called);
    assert!(counted >= rendered && counted <= rendered + 40, "{counted} {rendered}");
}

#[test]
fn tools_cost_what_the_template_writes_and_json_where_it_writes_none() {
    let tools = r#"[{"type":"function","function":{"name":"the","parameters":{}}}]"#;
    let written = r#"{"type": "function", "function": {"name": "the", "parameters": {}}}"#;
    let counter = tokenizer();
    let shown = template(CHATML).tools(tools);
    assert_eq!(shown, counter.count(&format!("# Tools {written}")));
    let hidden = template("{% for m in messages %}{{ m.content }}{% endfor %}").tools(tools);
    assert!(hidden >= counter.count(tools), "{hidden}");
}

#[test]
fn results_that_a_template_escapes_count_as_json_strings() {
    let folder = Folder::new("escaped");
    folder.write("tokenizer.json", tokenizer_json().to_string());
    let escaping = "{% for m in messages %}<|im_start|>{% if m.role == 'tool' %}{{ m.content | tojson }}\
        {% else %}{{ m.content }}{% endif %}<|im_end|>{% endfor %}";
    let text = "{\"a\": \"b\"}\n".repeat(30);
    folder.write("chat_template.jinja", CHATML);
    let plain = ModelFiles::open(&folder.0).unwrap();
    assert!(!plain.template().unwrap().escapes_results());
    folder.write("chat_template.jinja", escaping);
    let files = ModelFiles::open(&folder.0).unwrap();
    let template = files.template().unwrap();
    assert!(template.escapes_results());
    assert_eq!(files.counter().count("the end"), plain.counter().count("the end"));
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": "" },
        { "role": "tool", "tool_call_id": "1", "content": text },
    ]);
    let rendered = template.count(&messages.to_string(), None).unwrap();
    let sum = |files: &ModelFiles| {
        let counter = files.counter();
        let texts = counter.count("go") + counter.count(&text);
        let overhead = template.overhead();
        texts + 3 * overhead.per_message + overhead.per_result + overhead.answer
    };
    assert!(sum(&plain) < rendered && sum(&files) >= rendered, "{rendered}");
}

#[test]
fn templates_that_insist_on_turns_are_understood() {
    let strict = "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\
        {{ raise_exception('roles must alternate') }}{% endif %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}";
    let overhead = template(strict).overhead();
    assert!((2..=4).contains(&overhead.per_message), "{overhead:?}");
}

#[test]
fn the_python_that_templates_use_works() {
    let used = "{%- set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}\
        {{ m.content.strip().split('x')[0].upper() }}{{ m.get('name', '') }}{% if not loop.last %}{% continue %}{% endif %}\
        {{ strftime_now('%d %b %Y') }}{{ messages[1:] | length }}{{ bos_token }}{% generation %}{% endgeneration %}{% endfor %}";
    let once = template(used).count(r#"[{"role":"user","content":" thex"}]"#, None).unwrap();
    assert_eq!(once, tokenizer().count("THE30 Sep 20260"));
    let error = template(used).count("no json", None).unwrap_err().to_string();
    assert!(error.starts_with("test: no JSON"), "{error}");
}

// A rule that backtracks gives up on such a text; it must neither panic nor take minutes.
#[test]
fn long_texts_without_words_are_counted() {
    let counter = tokenizer();
    for text in
        [" ".repeat(200_000), "a".repeat(200_000), "\n ".repeat(50_000), "\u{301}".repeat(50_000)]
    {
        let tokens = counter.count(&text);
        assert!(tokens > 0 && tokens <= text.len() as i64, "{tokens}");
    }
}

#[test]
fn counters_of_files_cross_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<TokenizerFile>();
    shared::<ChatTemplate>();
    shared::<ModelFiles>();
    assert!(tokenizer().nanoseconds_per_byte() > HeuristicCounter.nanoseconds_per_byte());
}
