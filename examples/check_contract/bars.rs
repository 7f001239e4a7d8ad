//! A step's tokens as a bar beside the model's window.

use cupel::contract::StepBudget;

/// Cells of the longest bar.
const WIDTH: i64 = 72;

/// A step that is over by more than this share of the window is cut off.
const LONGEST: f64 = 1.3;

pub(crate) const LEGEND: &str =
    "█ fixed prompt  ▓ history  ▒ context  ░ answer  · margin  │ window";

/// Bars for several steps on one scale.
pub(crate) struct Scale {
    tokens: i64,
}

impl Scale {
    pub(crate) fn of(steps: &[StepBudget]) -> Self {
        let window = steps.iter().map(|step| step.window).max().unwrap_or(1);
        let longest = (window as f64 * LONGEST) as i64;
        let sum = steps.iter().map(StepBudget::sum).max().unwrap_or(1).min(longest);
        Self { tokens: sum.max(window).max(1) }
    }

    /// The cell a number of tokens reaches to.
    fn cell(&self, tokens: i64) -> i64 {
        let share = tokens as f64 / self.tokens as f64;
        ((share * WIDTH as f64).round() as i64).clamp(0, WIDTH)
    }

    pub(crate) fn bar(&self, step: &StepBudget) -> String {
        let parts = [
            ('█', step.fixed_prompt),
            ('▓', step.history),
            ('▒', step.context),
            ('░', step.output),
            ('·', step.safety_margin),
        ];
        let mut cells: Vec<char> = Vec::new();
        let mut sum = 0_i64;
        for (sign, tokens) in parts {
            sum = sum.saturating_add(tokens);
            // Something small is still something, as long as there is room.
            let least = cells.len() + usize::from(tokens > 0);
            let until = usize::try_from(self.cell(sum)).unwrap_or(0).max(least);
            cells.resize(until.min(WIDTH as usize), sign);
        }
        if sum > self.tokens {
            cells.pop();
            cells.push('»');
        }
        let window = usize::try_from(self.cell(step.window)).unwrap_or(0);
        let filled = cells.len();
        cells.resize(filled.max(window), ' ');
        cells.insert(window.min(cells.len()), '│');
        cells.into_iter().collect()
    }
}
