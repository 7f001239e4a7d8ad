//! The table, for people and as JSON.

/// Goal of a row.
#[derive(Clone, Copy)]
pub enum Goal {
    /// Ours at least this many times faster.
    Faster(f64),
    /// Ours at most this many times as long.
    AtMost(f64),
    /// Ours at most this many times as long, and this much time on top.
    AtMostPlus(f64, f64),
    /// Nothing: the row is there to compare with.
    ForScale,
}

pub struct Row {
    name: String,
    n: usize,
    ours: f64,
    against: &'static str,
    theirs: f64,
    goal: Goal,
}

impl Row {
    pub fn new(
        name: impl Into<String>,
        n: usize,
        ours: f64,
        against: &'static str,
        theirs: f64,
        goal: Goal,
    ) -> Self {
        Self { name: name.into(), n, ours, against, theirs, goal }
    }

    fn ratio(&self) -> f64 {
        match self.goal {
            Goal::Faster(_) => self.theirs / self.ours,
            _ => self.ours / self.theirs,
        }
    }

    fn reached(&self) -> Option<bool> {
        match self.goal {
            Goal::Faster(times) => Some(self.ratio() >= times),
            Goal::AtMost(times) => Some(self.ratio() <= times),
            Goal::AtMostPlus(times, extra) => Some(self.ours <= times * self.theirs + extra),
            Goal::ForScale => None,
        }
    }

    fn result(&self) -> String {
        match self.goal {
            Goal::Faster(_) => format!("{:.0}x faster", self.ratio()),
            _ => format!("{:.2}x", self.ratio()),
        }
    }

    fn goal(&self, unit: &str) -> String {
        match self.goal {
            Goal::Faster(times) => format!(">= {times:.0}x faster"),
            Goal::AtMost(times) => format!("<= {times}x"),
            Goal::AtMostPlus(times, extra) => format!("<= {times}x + {extra} {unit}"),
            Goal::ForScale => "for scale".to_owned(),
        }
    }
}

/// Prints the rows, whose times are in `unit`, and writes them to `<name>.json` in the
/// target folder. `target_tmpdir` is the benchmark's `CARGO_TARGET_TMPDIR`.
pub fn show(name: &str, unit: &str, target_tmpdir: &str, rows: &[Row]) {
    println!("| work | N | ours, {unit} | against | {unit} | result | goal | |");
    println!("| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |");
    for row in rows {
        let verdict = match row.reached() {
            Some(true) => "reached",
            Some(false) => "MISSED",
            None => "",
        };
        println!(
            "| {} | {} | {:.4} | {} | {:.4} | {} | {} | {verdict} |",
            row.name,
            thousands(row.n),
            row.ours,
            row.against,
            row.theirs,
            row.result(),
            row.goal(unit),
        );
    }
    write_json(name, unit, target_tmpdir, rows);
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

fn write_json(name: &str, unit: &str, target_tmpdir: &str, rows: &[Row]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "work": row.name,
                "n": row.n,
                "unit": unit,
                "ours": row.ours,
                "against": row.against,
                "theirs": row.theirs,
                "ratio": row.ratio(),
                "goal": row.goal(unit),
                "reached": row.reached(),
            })
        })
        .collect();
    let target = std::path::Path::new(target_tmpdir).parent().unwrap();
    let path = target.join(name).with_extension("json");
    std::fs::write(&path, serde_json::to_string_pretty(&rows).unwrap()).unwrap();
    println!("\nwritten to {}", path.display());
}
