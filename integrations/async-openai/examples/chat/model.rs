//! The bundled server's model: it plans by rules, from the messages it is sent and nothing else.

use serde_json::{Value, json};

use cupel_dev_servers::local_server::Asked;
use cupel_dev_servers::local_server::answer::Reply;

const PARTS: [&str; 5] = ["bolt", "washer", "gear", "spring", "bearing"];

/// Answers the last question, or asks for what is missing to answer it.
pub(crate) fn think(asked: &Asked) -> Reply {
    let sight = Sight::of(&asked.json);
    let question = sight.question.to_lowercase();
    if question.starts_with("remember") {
        return Reply::Text("Noted.".to_owned());
    }
    let parts = sight.parts_of(&question);
    if question.starts_with("who") || question.contains("enough") {
        return sight.wishes(&question, &parts);
    }
    let plan: &[Fact] = if question.contains("worth") {
        &[Fact::Count, Fact::Price, Fact::Worth]
    } else if question.contains("cost") {
        &[Fact::Price]
    } else {
        &[Fact::Count]
    };
    // One step at a time, but for all parts at once.
    for fact in plan {
        let missing: Vec<(String, Value)> =
            parts.iter().filter_map(|part| sight.missing(*fact, part)).collect();
        if !missing.is_empty() {
            return Reply::Calls(missing);
        }
    }
    Reply::Text(sight.conclude(plan, &parts))
}

#[derive(Clone, Copy, PartialEq)]
enum Fact {
    Count,
    Price,
    Worth,
}

/// Words of a message: the last part, because recalled texts come before it.
fn words(content: &Value) -> Option<&str> {
    let last = || content.as_array()?.last()?["text"].as_str();
    content.as_str().or_else(last)
}

/// Facts that can be seen in the messages.
struct Sight {
    question: String,
    said: Vec<String>,
    results: Vec<Value>,
}

impl Sight {
    fn of(request: &Value) -> Self {
        let texts = |role: &str| -> Vec<String> {
            let messages = request["messages"].as_array().into_iter().flatten();
            let spoken = messages.filter(|message| message["role"] == role);
            spoken.filter_map(|message| words(&message["content"]).map(str::to_owned)).collect()
        };
        let said = texts("user");
        let results = texts("tool");
        let results = results.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        Self { question: said.last().cloned().unwrap_or_default(), said, results }
    }

    /// The parts a question is about: those it names, or the one that was spoken of last.
    fn parts_of(&self, question: &str) -> Vec<String> {
        let named = |text: &str| -> Vec<String> {
            let text = text.to_lowercase();
            let named = PARTS.iter().filter(|part| text.contains(*part));
            named.map(|part| format!("{part}s")).collect()
        };
        let mut parts = named(question);
        if parts.is_empty() {
            parts = self
                .said
                .iter()
                .rev()
                .map(|text| named(text))
                .find(|parts| !parts.is_empty())
                .unwrap_or_default();
        }
        parts
    }

    fn number(&self, part: &str, field: &str) -> Option<f64> {
        let about = self
            .results
            .iter()
            .rev()
            .find(|result| result["part"] == part && result[field].is_number())?;
        about[field].as_f64()
    }

    fn worth(&self, part: &str) -> Option<f64> {
        let (count, price) = (self.number(part, "count")?, self.number(part, "price")?);
        let product = self
            .results
            .iter()
            .rev()
            .find(|result| result["a"] == count && result["b"] == price)?;
        product["product"].as_f64()
    }

    /// The call that would bring a fact which cannot be seen.
    fn missing(&self, fact: Fact, part: &str) -> Option<(String, Value)> {
        let call = |name: &str, arguments| Some((name.to_owned(), arguments));
        match fact {
            Fact::Count if self.number(part, "count").is_none() => {
                call("stock", json!({"part": part}))
            }
            Fact::Price if self.number(part, "price").is_none() => {
                call("price", json!({"part": part}))
            }
            Fact::Worth if self.worth(part).is_none() => call(
                "multiply",
                json!({"a": self.number(part, "count"), "b": self.number(part, "price")}),
            ),
            _ => None,
        }
    }

    fn conclude(&self, plan: &[Fact], parts: &[String]) -> String {
        let Some(goal) = plan.last() else { return String::new() };
        let value = |part: &String| match goal {
            Fact::Count => self.number(part, "count"),
            Fact::Price => self.number(part, "price"),
            Fact::Worth => self.worth(part),
        };
        let mut known: Vec<(&String, f64)> =
            parts.iter().filter_map(|part| Some((part, value(part)?))).collect();
        known.sort_by(|a, b| b.1.total_cmp(&a.1));
        match (goal, known.as_slice()) {
            (Fact::Count, [(part, count), ..]) => format!("There are {count} {part}."),
            (Fact::Price, [(part, price), ..]) => {
                format!("One of the {part} costs {price:.2} EUR.")
            }
            (Fact::Worth, [(part, worth)]) => {
                format!("All {part} together are worth {worth:.2} EUR.")
            }
            (Fact::Worth, [(more, most), (less, least), ..]) => {
                format!("The {more}: {most:.2} EUR, against {least:.2} EUR for the {less}.")
            }
            _ => "I do not know which part you mean.".to_owned(),
        }
    }

    /// Questions about what people wanted, which only the user's own words tell.
    fn wishes(&self, question: &str, parts: &[String]) -> Reply {
        let wish = self.said.iter().find_map(|text| {
            let (who, rest) = text.strip_prefix("Remember that ")?.split_once(" wants ")?;
            let (count, part) = rest.trim_end_matches('.').split_once(' ')?;
            parts.contains(&part.to_owned()).then(|| (who, count.parse::<f64>().ok(), part))
        });
        let Some((who, Some(wanted), part)) = wish else {
            return Reply::Text("I cannot see any more what was wanted.".to_owned());
        };
        if question.starts_with("who") {
            return Reply::Text(format!("{who} wanted {wanted} {part}."));
        }
        match self.number(part, "count") {
            None => Reply::Calls(vec![("stock".to_owned(), json!({"part": part}))]),
            Some(count) if count >= wanted => Reply::Text(format!("Yes: {count} {part}.")),
            Some(count) => {
                Reply::Text(format!("No: {who} wants {wanted} {part} and there are {count}."))
            }
        }
    }
}
