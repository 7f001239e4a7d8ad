//! The table, for people and as JSON.

/// What a row has to reach.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// Ours at least this many times faster.
    Faster(f64),
    /// Ours at most this many times as long.
    AtMost(f64),
}

pub(crate) struct Row {
    name: String,
    n: usize,
    ours_ms: f64,
    against: &'static str,
    against_ms: f64,
    goal: Goal,
}

impl Row {
    pub(crate) fn new(
        name: &str,
        n: usize,
        ours_ms: f64,
        against: &'static str,
        against_ms: f64,
        goal: Goal,
    ) -> Self {
        Self { name: name.to_owned(), n, ours_ms, against, against_ms, goal }
    }

    fn ratio(&self) -> f64 {
        match self.goal {
            Goal::Faster(_) => self.against_ms / self.ours_ms,
            Goal::AtMost(_) => self.ours_ms / self.against_ms,
        }
    }

    fn reached(&self) -> bool {
        match self.goal {
            Goal::Faster(goal) => self.ratio() >= goal,
            Goal::AtMost(goal) => self.ratio() <= goal,
        }
    }

    fn result(&self) -> String {
        match self.goal {
            Goal::Faster(_) => format!("{:.0}x faster", self.ratio()),
            Goal::AtMost(_) => format!("{:.2}x", self.ratio()),
        }
    }

    fn goal(&self) -> String {
        match self.goal {
            Goal::Faster(goal) => format!(">= {goal:.0}x faster"),
            Goal::AtMost(goal) => format!("<= {goal}x"),
        }
    }
}

pub(crate) fn print(rows: &[Row]) {
    println!("| work | N | ours, ms | against | ms | result | goal | |");
    println!("| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |");
    for row in rows {
        println!(
            "| {} | {} | {:.4} | {} | {:.4} | {} | {} | {} |",
            row.name,
            thousands(row.n),
            row.ours_ms,
            row.against,
            row.against_ms,
            row.result(),
            row.goal(),
            if row.reached() { "reached" } else { "MISSED" },
        );
    }
}

fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn write_json(rows: &[Row]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "work": row.name,
                "n": row.n,
                "ours_ms": row.ours_ms,
                "against": row.against,
                "against_ms": row.against_ms,
                "ratio": row.ratio(),
                "goal": row.goal(),
                "reached": row.reached(),
            })
        })
        .collect();
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("versus.json");
    std::fs::write(&path, serde_json::to_string_pretty(&rows).unwrap()).unwrap();
    println!("\nwritten to {}", path.display());
}
