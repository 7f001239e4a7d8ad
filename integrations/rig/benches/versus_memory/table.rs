//! The table, for people and as JSON.

/// Most time of ours, as a multiple of the rival's.
const GOAL: f64 = 3.0;

/// One history under one budget.
pub(crate) struct Row {
    pub(crate) counter: &'static str,
    pub(crate) history: &'static str,
    pub(crate) messages: usize,
    pub(crate) budget: i64,
    pub(crate) theirs: Outcome,
    pub(crate) ours: Outcome,
    pub(crate) with_report: Outcome,
    pub(crate) all_messages: Outcome,
}

/// Result of one contestant.
pub(crate) struct Outcome {
    pub(crate) time_us: f64,
    pub(crate) used: i64,
    /// True if the user's last question is still there.
    pub(crate) question: bool,
    /// True if it is a conversation in rig's canonical form: no call without its result.
    pub(crate) valid: bool,
}

impl Row {
    fn times(&self, ours: &Outcome) -> f64 {
        ours.time_us / self.theirs.time_us
    }

    fn reached(&self) -> bool {
        let all = [&self.ours, &self.with_report, &self.all_messages];
        let sound = all.iter().all(|ours| ours.question && ours.valid && ours.used <= self.budget);
        self.times(&self.ours) <= GOAL && sound
    }

    fn used_percent(&self, outcome: &Outcome) -> f64 {
        100.0 * outcome.used as f64 / self.budget as f64
    }
}

impl Outcome {
    fn question(&self) -> &'static str {
        if self.question { "kept" } else { "LOST" }
    }

    fn pairs(&self) -> &'static str {
        if self.valid { "whole" } else { "BROKEN" }
    }
}

pub(crate) fn print(rows: &[Row]) {
    println!(
        "| counter | history | messages | budget | rival, us | ours, us | result | goal | | \
         with a report | all messages | used | question | pairs |"
    );
    println!(
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: | ---: | --- | --- | --- |"
    );
    for row in rows {
        let Row { theirs, ours, .. } = row;
        println!(
            "| {} | {} | {} | {} | {:.0} | {:.0} | {:.2}x | <= {GOAL}x | {} | {:.2}x | {:.2}x | \
             {:.1} / {:.1} % | {} / {} | {} / {} |",
            row.counter,
            row.history,
            row.messages,
            row.budget,
            theirs.time_us,
            ours.time_us,
            row.times(ours),
            if row.reached() { "reached" } else { "MISSED" },
            row.times(&row.with_report),
            row.times(&row.all_messages),
            row.used_percent(theirs),
            row.used_percent(ours),
            theirs.question(),
            ours.question(),
            theirs.pairs(),
            ours.pairs(),
        );
    }
}

pub(crate) fn write_json(rows: &[Row]) {
    let outcome = |row: &Row, outcome: &Outcome| {
        serde_json::json!({
            "us": outcome.time_us,
            "times_rival": row.times(outcome),
            "used_percent": row.used_percent(outcome),
            "question_kept": outcome.question,
            "valid": outcome.valid,
        })
    };
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "counter": row.counter,
                "history": row.history,
                "messages": row.messages,
                "budget": row.budget,
                "token_window_memory": outcome(row, &row.theirs),
                "ours": outcome(row, &row.ours),
                "ours_with_report": outcome(row, &row.with_report),
                "ours_all_messages": outcome(row, &row.all_messages),
                "reached": row.reached(),
            })
        })
        .collect();
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("rig.json");
    std::fs::write(&path, serde_json::to_string_pretty(&rows).unwrap()).unwrap();
    println!("\nwritten to {}", path.display());
}
