//! The text about a whole folder: a table, bars and every problem of each pipeline.

use std::error::Error;
use std::path::Path;

use cupel::CupelError;
use cupel::contract::{BudgetContract, CheckedContract, ContractError, ContractFolder, StepBudget};
use cupel::tokens::{HeuristicCounter, TokenCounter};

use super::bars::{LEGEND, Scale};

pub(crate) struct Report {
    pub(crate) text: String,
    pub(crate) holds: bool,
}

pub(crate) fn check(folder: &Path) -> Report {
    let mut report = Report { text: String::new(), holds: true };
    let opened = ContractFolder::open(folder);
    let pipelines = opened.and_then(|opened| Ok((opened.pipelines()?, opened)));
    match pipelines {
        Err(error) => report.problems(&error),
        Ok((names, folder)) => {
            let failed = names.iter().filter(|name| !report.pipeline(&folder, name)).count();
            let all = names.len();
            report.line(&match failed {
                0 => format!("All {all} pipelines hold."),
                failed => format!("{failed} of {all} pipelines do not hold."),
            });
        }
    }
    report
}

impl Report {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn problems(&mut self, error: &ContractError) {
        self.holds = false;
        for problem in error.problems() {
            self.line(&format!("  error: {problem}"));
        }
    }

    /// Checks one pipeline, and returns true if it fits.
    fn pipeline(&mut self, folder: &ContractFolder, name: &str) -> bool {
        self.line(name);
        let checked = self.load_and_check(folder, name);
        match &checked {
            Ok(checked) => self.remarks(checked),
            Err(error) => match error.downcast_ref() {
                Some(error) => self.problems(error),
                None => {
                    self.holds = false;
                    self.line(&format!("  error: {error}"));
                }
            },
        }
        self.line("");
        checked.is_ok()
    }

    fn load_and_check(
        &mut self,
        folder: &ContractFolder,
        name: &str,
    ) -> Result<CheckedContract, Box<dyn Error>> {
        let contract = folder.load(name)?;
        let counter = counter(&contract)?;
        if let Ok(steps) = contract.measure(&*counter) {
            self.table(&steps, counter.name());
        }
        Ok(contract.check(&*counter)?)
    }

    fn table(&mut self, steps: &[StepBudget], counted_by: &str) {
        let width = steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0).max(4);
        let heads =
            ["fixed", "history", "context", "answer", "margin", "sum", "window", "headroom"];
        let heads = heads.map(|head| format!("{head:>9}")).concat();
        self.line("");
        self.line(&format!("  {:width$}{heads}  verdict", "step"));
        for step in steps {
            let parts =
                [step.fixed_prompt, step.history, step.context, step.output, step.safety_margin];
            let sums = [step.sum(), step.window, step.headroom()];
            let numbers: String = parts
                .iter()
                .chain(&sums)
                .map(|number| format!("{:>9}", grouped(*number)))
                .collect();
            let verdict = match step.headroom() {
                0.. => "fits".to_owned(),
                over => format!("OVER by {}", grouped(over.saturating_neg())),
            };
            self.line(&format!("  {:width$}{numbers}  {verdict}", step.name));
        }
        self.line("");
        let scale = Scale::of(steps);
        for step in steps {
            self.line(&format!("  {:width$}  {}", step.name, scale.bar(step)));
        }
        self.line(&format!("  {:width$}  {LEGEND}", ""));
        self.line("");
        self.line(&format!("  tokens by {counted_by}"));
    }

    fn remarks(&mut self, checked: &CheckedContract) {
        for clamp in checked.clamps() {
            self.line(&format!("  warning: {clamp}"));
        }
        // The table shows the files; this is what a request gets instead.
        for step in checked.steps().iter().filter(|_| !checked.clamps().is_empty()) {
            self.line(&format!("  clamped: {step}"));
        }
        for note in checked.notes() {
            self.line(&format!("  note: {note}"));
        }
    }
}

/// Exact counts if the files name a model, else an estimate.
fn counter(contract: &BudgetContract) -> Result<Box<dyn TokenCounter>, CupelError> {
    match contract.model_name() {
        #[cfg(feature = "tiktoken")]
        Some(model) => Ok(Box::new(cupel::tokens::BpeCounter::for_model(model)?)),
        _ => Ok(Box::new(HeuristicCounter)),
    }
}

/// `20707` as `20,707`.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
