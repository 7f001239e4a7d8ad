//! Tools, and questions that need some of them.

use std::path::{Path, PathBuf};

use serde_json::Value;

pub struct ToolSet {
    pub name: String,
    pub tools: Vec<Value>,
    pub questions: Vec<Turn>,
    pub conversations: Vec<Vec<Turn>>,
}

/// Words of a user, and the tools that they need.
pub struct Turn {
    pub user: String,
    pub needs: Vec<String>,
}

impl ToolSet {
    /// Tokens of all definitions, four characters each.
    pub fn offered_tokens(&self) -> i64 {
        self.tools.iter().map(|tool| tool.to_string().len() as i64 / 4).sum()
    }
}

pub fn sets() -> Vec<ToolSet> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let given = std::env::var_os("CUPEL_TOOLS_DIR").map(PathBuf::from);
    let mut files: Vec<PathBuf> = [Some(own), given]
        .into_iter()
        .flatten()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
    let lines: Vec<String> =
        texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.iter().filter(|line| !line.trim().is_empty()).map(|line| read(line)).collect()
}

fn read(line: &str) -> ToolSet {
    let set: Value = serde_json::from_str(line).unwrap();
    let list = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
    let turn = |value: &Value| Turn {
        user: value["user"].as_str().or(value["question"].as_str()).unwrap().to_owned(),
        needs: list(value, "needs").iter().map(|it| it.as_str().unwrap().to_owned()).collect(),
    };
    ToolSet {
        name: set["name"].as_str().unwrap().to_owned(),
        tools: list(&set, "tools"),
        questions: list(&set, "questions").iter().map(turn).collect(),
        conversations: list(&set, "conversations")
            .iter()
            .map(|it| list(it, "turns").iter().map(turn).collect())
            .collect(),
    }
}
