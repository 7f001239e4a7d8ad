//! The table, for people and as JSON.

/// What a row has to reach.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// Ours at most this many times as long.
    AtMost(f64),
    /// Ours at most this many times as long, and this many microseconds on top.
    AtMostAndMicros(f64, f64),
    /// Nothing: the row is there to compare with.
    ForScale,
}

pub(crate) struct Row {
    name: &'static str,
    n: usize,
    ours_us: f64,
    against: &'static str,
    against_us: f64,
    goal: Goal,
}

impl Row {
    pub(crate) fn new(
        name: &'static str,
        n: usize,
        ours_us: f64,
        against: &'static str,
        against_us: f64,
        goal: Goal,
    ) -> Self {
        Self { name, n, ours_us, against, against_us, goal }
    }

    fn ratio(&self) -> f64 {
        self.ours_us / self.against_us
    }

    /// The longest that ours may take, in microseconds.
    fn allowed_us(&self) -> Option<f64> {
        match self.goal {
            Goal::AtMost(times) => Some(times * self.against_us),
            Goal::AtMostAndMicros(times, micros) => Some(times * self.against_us + micros),
            Goal::ForScale => None,
        }
    }

    fn reached(&self) -> Option<bool> {
        self.allowed_us().map(|allowed| self.ours_us <= allowed)
    }

    fn goal(&self) -> String {
        match self.goal {
            Goal::AtMost(times) => format!("<= {times}x"),
            Goal::AtMostAndMicros(times, micros) => format!("<= {times}x + {micros} us"),
            Goal::ForScale => "for scale".to_owned(),
        }
    }
}

pub(crate) fn print(rows: &[Row]) {
    println!("| work | N | ours, us | against | us | result | goal | |");
    println!("| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |");
    for row in rows {
        let verdict = match row.reached() {
            Some(true) => "reached",
            Some(false) => "MISSED",
            None => "",
        };
        println!(
            "| {} | {} | {:.3} | {} | {:.3} | {:.2}x | {} | {verdict} |",
            row.name,
            row.n,
            row.ours_us,
            row.against,
            row.against_us,
            row.ratio(),
            row.goal(),
        );
    }
}

pub(crate) fn write_json(rows: &[Row]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "work": row.name,
                "n": row.n,
                "ours_us": row.ours_us,
                "against": row.against,
                "against_us": row.against_us,
                "ratio": row.ratio(),
                "allowed_us": row.allowed_us(),
                "goal": row.goal(),
                "reached": row.reached(),
            })
        })
        .collect();
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("layer.json");
    std::fs::write(&path, serde_json::to_string_pretty(&rows).unwrap()).unwrap();
    println!("\nwritten to {}", path.display());
}
