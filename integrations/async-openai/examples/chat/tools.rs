//! The tools, which run in this process.

use async_openai::types::chat::ChatCompletionTools;
use serde_json::{Value, json};

struct Part {
    name: &'static str,
    count: u32,
    price: f64,
    shelf: &'static str,
}

const PARTS: [Part; 5] = [
    Part { name: "bolts", count: 1_200, price: 0.08, shelf: "B4" },
    Part { name: "washers", count: 150, price: 0.02, shelf: "B5" },
    Part { name: "gears", count: 14, price: 12.5, shelf: "C1" },
    Part { name: "springs", count: 60, price: 1.1, shelf: "C3" },
    Part { name: "bearings", count: 33, price: 4.75, shelf: "D2" },
];

/// Tools that the model may call.
pub(crate) fn definitions() -> Result<Vec<ChatCompletionTools>, serde_json::Error> {
    let part = json!({"part": {"type": "string", "description": "The part, in the plural."}});
    let numbers = json!({
        "a": {"type": "number", "description": "A number."},
        "b": {"type": "number", "description": "Another number."},
    });
    let function = |name: &str, description: &str, properties: &Value| {
        json!({"type": "function", "function": {"name": name, "description": description,
            "parameters": {"type": "object", "properties": properties}}})
    };
    [
        function("stock", "Counts a part and lists how the count came about.", &part),
        function("price", "The price of one piece, and who sells it.", &part),
        function("multiply", "Multiplies two numbers.", &numbers),
    ]
    .into_iter()
    .map(serde_json::from_value)
    .collect()
}

/// Runs a tool. What goes wrong goes back to the model.
pub(crate) fn run(name: &str, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let wanted = arguments["part"].as_str().unwrap_or_default();
    let part = PARTS.iter().find(|part| part.name == wanted);
    let result = match (name, part) {
        ("stock", Some(part)) => stock(part),
        ("price", Some(part)) => json!({
            "part": part.name, "price": part.price, "currency": "EUR",
            "sellers": ["Nuts & Sons", "Hardware Hall", "The Thread Shop"],
        }),
        ("multiply", _) => match (arguments["a"].as_f64(), arguments["b"].as_f64()) {
            (Some(a), Some(b)) => {
                json!({"a": a, "b": b, "product": (a * b * 100.0).round() / 100.0})
            }
            _ => json!({"error": "two numbers are needed"}),
        },
        _ => json!({"error": format!("no part {wanted:?} or no tool {name:?}")}),
    };
    result.to_string()
}

/// The count with the movements that led to it: tools say more than they are asked.
fn stock(part: &Part) -> Value {
    let months = ["January", "February", "March", "April", "May", "June"];
    let movements: Vec<String> = months
        .iter()
        .zip(1_u32..)
        .map(|(month, number)| {
            let moved = part.count / 10 * number % 97 + number;
            format!("{month}: {moved} in, {} out, counted by hand", moved / 2)
        })
        .collect();
    json!({"part": part.name, "count": part.count, "shelf": part.shelf, "movements": movements})
}
