//! The long texts that have just come in, which are counted before a request is taken apart.

use std::cell::{Cell, RefCell};

use cupel::layer::CountAhead;
use serde_json::Value;

use crate::request::Parts;

/// Fields of images, sounds, files and sealed thoughts, which are not counted as text.
const NO_TEXT: [&str; 4] = ["data", "file_data", "encrypted_content", "signature"];

/// Notes down the long texts of the newest messages.
pub(crate) fn note_long_texts(request: &impl Parts, ahead: &mut CountAhead) {
    let seen = Cell::new(0);
    let ahead = RefCell::new(ahead);
    request.look_back(|json| {
        if json.len() >= CountAhead::LONG_TEXT {
            if let Ok(message) = serde_json::from_str(json) {
                note(&message, &mut ahead.borrow_mut());
            }
        }
        seen.set(seen.get() + 1);
        (seen.get() == CountAhead::NEWEST).then_some(())
    });
}

fn note(value: &Value, ahead: &mut CountAhead) {
    match value {
        Value::String(text) if !text.starts_with("data:") => ahead.text(text),
        Value::Array(values) => values.iter().for_each(|value| note(value, ahead)),
        Value::Object(fields) => {
            let texts = fields.iter().filter(|(name, _)| !NO_TEXT.contains(&name.as_str()));
            texts.for_each(|(_, value)| note(value, ahead));
        }
        _ => {}
    }
}
