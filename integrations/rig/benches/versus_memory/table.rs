//! The table, for people and as JSON.

/// How much longer ours may take than the rival.
const GOAL: f64 = 3.0;

pub(crate) struct Row {
    pub(crate) shape: &'static str,
    pub(crate) counting: &'static str,
    pub(crate) messages: usize,
    pub(crate) budget: i64,
    pub(crate) name: &'static str,
    pub(crate) time_us: f64,
    pub(crate) times_rival: f64,
    pub(crate) used: i64,
    pub(crate) kept: usize,
    /// Whether the user's last question is still there.
    pub(crate) question: bool,
    /// Why the rest is not a conversation in rig's canonical form, if it is not.
    pub(crate) valid: Option<String>,
}

impl Row {
    fn used_percent(&self) -> f64 {
        100.0 * self.used as f64 / self.budget as f64
    }

    fn verdict(&self) -> &'static str {
        match self.name {
            "ours" if self.times_rival > GOAL => "MISSED",
            "ours" => "reached",
            _ => "",
        }
    }
}

pub(crate) fn print(rows: &[Row]) {
    println!(
        "| counter | history | messages | budget | | us | times | goal | kept | used | question | tool pairs |"
    );
    println!("| --- | --- | ---: | ---: | --- | ---: | ---: | --- | ---: | ---: | --- | --- |");
    for row in rows {
        println!(
            "| {} | {} | {} | {} | {} | {:.1} | {:.2}x | {} | {} | {:.1} % | {} | {} |",
            row.counting,
            row.shape,
            row.messages,
            row.budget,
            row.name,
            row.time_us,
            row.times_rival,
            row.verdict(),
            row.kept,
            row.used_percent(),
            if row.question { "kept" } else { "LOST" },
            row.valid.as_deref().map_or("whole", |_| "BROKEN"),
        );
    }
    println!("\ngoal: ours in at most {GOAL} times the time of TokenWindowMemory");
}

pub(crate) fn write_json(rows: &[Row]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "counter": row.counting,
                "history": row.shape,
                "messages": row.messages,
                "budget": row.budget,
                "contestant": row.name,
                "us": row.time_us,
                "times_rival": row.times_rival,
                "kept": row.kept,
                "used_percent": row.used_percent(),
                "question_kept": row.question,
                "problem": row.valid,
                "verdict": row.verdict(),
            })
        })
        .collect();
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("rig.json");
    std::fs::write(&path, serde_json::to_string_pretty(&rows).unwrap()).unwrap();
    println!("\nwritten to {}", path.display());
}
