//! Asks what another budget or another policy would have selected for the quickstart's question, and
//! sent of a conversation.
//!
//! Run it with `cargo run --example what_if`.

mod scenario;

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::time::Duration;

use cupel::analytics::BudgetPoint;
use cupel::conversation::{Conversation, Message, Rehearsal, Role, Rules};
use cupel::diagnostics::ExclusionReason;
use cupel::explain::{Explanation, Section};
use cupel::placer::UShapedPlacer;
use cupel::scorer::{CompositeScorer, DecayCurve, DecayScorer, FixedTimeProvider, KindScorer};
use cupel::slicer::{QuotaSet, QuotaSlice};
use cupel::{
    ContextBudget, ContextItem, ContextKind, CupelError, GreedySlice, OverflowStrategy, Policy,
    ReflexiveScorer, SelectionReport, policy_sensitivity,
};
use cupel_dev::terminal::{Paint, WIDTH, area, bar, clip, count, items, thousands};
use scenario::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::load()?;
    let what_if = WhatIf {
        per_token: policy(&scenario, None)?,
        by_kind: policy(&scenario, Some(shares()?))?,
        paint: Paint::for_stdout(),
        scenario,
    };
    let answers = [
        what_if.more_tokens()?,
        what_if.needed_budgets()?,
        what_if.other_policy()?,
        what_if.diminishing_returns()?,
        what_if.conversation()?,
    ];
    let mut out = BufWriter::new(io::stdout().lock());
    let mut lines = answers.iter().flatten();
    match lines.try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush()) {
        // `| head` has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => Ok(printed?),
    }
}

/// Relevance above all, then age and kind; the most score per token, or shares for kinds.
fn policy(scenario: &Scenario, shares: Option<QuotaSet>) -> Result<Policy, CupelError> {
    let half_hour = DecayCurve::exponential(Duration::from_secs(30 * 60))?;
    let age = DecayScorer::new(FixedTimeProvider::new(scenario.now), half_hour)
        .null_timestamp_score(0.1)?;
    let scorer = CompositeScorer::builder()
        .add(ReflexiveScorer, 0.80)
        .add(age, 0.15)
        .add(KindScorer::default(), 0.05)
        .build()?;
    let policy = Policy::builder()
        .scorer(scorer)
        .placer(UShapedPlacer)
        .overflow_strategy(OverflowStrategy::Truncate);
    match shares {
        Some(shares) => policy.slicer(QuotaSlice::new(shares, GreedySlice)).build(),
        None => policy.slicer(GreedySlice).build(),
    }
}

/// Documents and tool outputs are sure of most of the context, memories get little of it.
fn shares() -> Result<QuotaSet, CupelError> {
    QuotaSet::builder()
        .require(ContextKind::document(), 50.0)
        .require(ContextKind::tool_output(), 25.0)
        .cap(ContextKind::memory(), 5.0)
        .build()
}

/// One column of the plot.
const STEP: i64 = 250;
/// Number of budgets in the plot: enough for every candidate.
const COLUMNS: i64 = 84;
/// Lines of the plot.
const HEIGHT: usize = 12;
/// Items shown of each list.
const SHOWN: usize = 6;

/// The questions, and what it takes to answer them.
struct WhatIf {
    scenario: Scenario,
    /// The most score per token, whatever the kind.
    per_token: Policy,
    /// The same scores, with a share of the context for each kind.
    by_kind: Policy,
    paint: Paint,
}

impl WhatIf {
    fn heading(&self, title: &str, note: &str) -> Vec<String> {
        vec![String::new(), self.paint.heading(title, note), String::new()]
    }

    /// Changes of another selection, as the library explains them.
    fn instead(&self, now: &Explanation, then: &Explanation) -> String {
        let text = then.text().previous(now).sections(&[Section::Changes]).rows(SHOWN).for_stdout();
        text.to_string().trim_end().to_owned()
    }

    /// Prints the items that 500 more tokens add.
    fn more_tokens(&self) -> Result<Vec<String>, CupelError> {
        let today = &self.scenario.budget;
        let larger = ContextBudget::builder(today.max_tokens() + 500)
            .output_reserve(today.output_reserve())
            .build()?;
        let pipeline = self.per_token.to_pipeline();
        let bought = pipeline.get_marginal_items(&self.scenario.items, &larger, 500)?;
        let budgets =
            format!("{} → {}", thousands(today.max_tokens()), thousands(larger.max_tokens()));
        let mut lines = self.heading("WHICH ITEMS WOULD 500 MORE TOKENS BUY?", &budgets);
        let tokens = bought.iter().map(ContextItem::tokens).sum();
        lines.push(format!("  {}, {} tokens", items(bought.len()), thousands(tokens)));
        let explain = |budget: &ContextBudget| {
            let report = pipeline.dry_run(&self.scenario.items, budget)?;
            Ok::<_, CupelError>(Explanation::new(report).budget(budget.clone()))
        };
        lines.push(self.instead(&explain(today)?, &explain(&larger)?));
        Ok(lines)
    }

    /// The smallest context that would hold each of the best documents that stayed out.
    fn needed_budgets(&self) -> Result<Vec<String>, CupelError> {
        let Scenario { items, budget, .. } = &self.scenario;
        let report = self.per_token.dry_run(items, budget)?;
        let left_out = report.excluded.iter().filter(|out| {
            *out.item.kind() == ContextKind::document()
                // No budget brings back the second copy of a text.
                && matches!(out.reason, ExclusionReason::BudgetExceeded { .. })
        });
        let pipeline = self.per_token.to_pipeline();
        let (today, ceiling) = (budget.target_tokens(), STEP * COLUMNS);
        let note = format!("the best that stayed out of {} tokens", thousands(today));
        let mut lines = self.heading("WHAT BUDGET DOES THIS DOCUMENT NEED?", &note);
        lines.push(self.paint.faint("  score  tokens     needs     more  text"));
        for out in left_out.take(SHOWN) {
            let (needs, more) = match pipeline.find_min_budget_for(items, &out.item, ceiling)? {
                Some(needs) => (thousands(needs), thousands(needs - today)),
                None => (format!("> {}", thousands(ceiling)), String::new()),
            };
            let (tokens, text) = (out.item.tokens(), clip(out.item.content(), WIDTH - 37));
            lines.push(format!("  {:>5.2}  {tokens:>6}  {needs:>8}  {more:>7}  {text}", out.score));
        }
        Ok(lines)
    }

    /// Prints the changes by shares for kinds.
    fn other_policy(&self) -> Result<Vec<String>, CupelError> {
        let Scenario { items: candidates, budget, .. } = &self.scenario;
        let variants = [("per token", &self.per_token), ("by kind", &self.by_kind)];
        let report = policy_sensitivity(candidates, budget, &variants)?;
        let swing: HashSet<&str> = report.diffs.iter().map(|diff| diff.content.as_str()).collect();
        let note = format!("{} of {} swing", count(swing.len()), items(candidates.len()));
        let mut lines = self.heading("HOW DO TWO POLICIES DIFFER?", &note);
        for ((label, selection), meaning) in report.variants.iter().zip(MEANINGS) {
            let used = selection.included.iter().map(|entry| entry.item.tokens()).sum();
            let (number, used) = (items(selection.included.len()), thousands(used));
            lines.push(format!("  {label:<9}  {number}, {used} tokens: {meaning}"));
        }
        if let [(_, per_token), (_, by_kind)] = report.variants.as_slice() {
            let explain = |selection: &SelectionReport| {
                Explanation::new(selection.clone()).budget(budget.clone())
            };
            lines.push(String::new());
            lines.push(self.instead(&explain(per_token), &explain(by_kind)));
        }
        Ok(lines)
    }

    /// The score that each budget buys, as a plot, and the price of the next percent.
    fn diminishing_returns(&self) -> Result<Vec<String>, CupelError> {
        let contexts = (1..=COLUMNS).map(|column| column * STEP);
        let budgets = contexts.map(|tokens| ContextBudget::builder(tokens).build());
        let budgets = budgets.collect::<Result<Vec<_>, _>>()?;
        let pipeline = self.per_token.to_pipeline();
        let curve = pipeline.budget_curve(&self.scenario.items, &budgets)?;
        let all = curve.iter().map(|point| point.total_score).fold(f64::MIN_POSITIVE, f64::max);
        let parts: Vec<f64> = curve.iter().map(|point| point.total_score / all).collect();

        let note = "share of all there is to score, by context tokens";
        let mut lines = self.heading("WHERE DOES MORE BUDGET STOP PAYING?", note);
        let today = self.scenario.budget.target_tokens();
        let columns = usize::try_from(today / STEP).unwrap_or(0);
        for (row, line) in area(&parts, HEIGHT).into_iter().enumerate() {
            let label = match row {
                0 => "100 % ┤",
                row if row == HEIGHT / 2 => " 50 % ┤",
                _ => "      │",
            };
            let paid: String = line.chars().take(columns).collect();
            let more: String = line.chars().skip(columns).collect();
            lines.push(format!("  {label}{}{}", self.paint.fill(&paid), self.paint.faint(&more)));
        }
        lines.extend(axis(columns));
        lines.push(String::new());
        let held = columns.checked_sub(1).and_then(|last| parts.get(last)).unwrap_or(&0.0);
        let (tokens, percent) = (thousands(today), held * 100.0);
        lines.push(format!("  Today's {tokens} tokens hold {percent:.0} % of the score."));
        lines.extend(self.prices(&curve, &parts));
        Ok(lines)
    }

    /// The same questions about the messages of a conversation, whose turns `chat` plans.
    fn conversation(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let rehearsal = Rehearsal::new(Conversation::new(messages()?, &Rules::new())?)?;
        let (planned, scored) = (Policy::chat(), Policy::chat().without_plan());
        let budget = ContextBudget::builder(2_000).build()?;
        let mut lines = self.heading("AND WHAT WOULD BE SENT OF A CONVERSATION?", "2,000 tokens");
        let compared = rehearsal.compare(&[("planned", &planned), ("scored", &scored)], &budget)?;
        for (label, turn) in &compared.turns {
            let (kept, tokens) = (turn.edits.kept.len(), thousands(turn.sent.tokens));
            let quoted = turn.edits.quotation.as_ref().map_or(0, |quote| quote.messages.len());
            lines.push(format!(
                "  {label:<9}  {kept} messages and {quoted} quoted, {tokens} tokens"
            ));
        }
        let differ = compared.differences.len();
        lines.push(format!("  {differ} messages are sent in one way only, or in different forms"));
        let gain = rehearsal.gained_by(&planned, &budget, 500)?;
        lines.push(format!("  500 more tokens bring {} messages into view", gain.into_view.len()));
        let needs = rehearsal.smallest_budget_for(&planned, 0, 500..=20_000)?;
        let needs = needs.map_or("> 20,000".to_owned(), thousands);
        lines.push(format!("  the first message is in view from {needs} tokens on"));
        Ok(lines)
    }

    /// Price of one more percent of the score, from stretch to stretch.
    fn prices(&self, curve: &[BudgetPoint], parts: &[f64]) -> Vec<String> {
        let (mut before, mut stretches) = ((0.0, 0), Vec::new());
        for goal in [0.5, 0.75, 0.9, 0.95, 0.99, 1.0] {
            let reached = curve.iter().zip(parts).find(|(_, part)| **part >= goal - 1e-9);
            if let Some((point, part)) = reached {
                let (tokens, (part_before, tokens_before)) = (point.budget.max_tokens(), before);
                let percent = (part - part_before) * 100.0;
                let price =
                    if percent > 0.0 { (tokens - tokens_before) as f64 / percent } else { 0.0 };
                stretches.push((goal, tokens, price));
                before = (*part, tokens);
            }
        }
        let dearest = stretches.iter().map(|(.., price)| *price).fold(1.0, f64::max);
        let columns = "  share of the score    takes tokens    tokens for one more percent";
        let mut lines = vec![String::new(), self.paint.faint(columns)];
        lines.extend(stretches.into_iter().map(|(goal, tokens, price)| {
            let bar = self.paint.warn(bar(price / dearest, 50).trim_end());
            let (goal, tokens) = (goal * 100.0, thousands(tokens));
            let price = thousands(price.round() as i64);
            format!("  {goal:>16.0} %    {tokens:>12}    {price:>6} {bar}")
        }));
        lines
    }
}

/// A house is renovated, over two hundred messages, and somebody asks about the beginning.
fn messages() -> Result<Vec<Message>, serde_json::Error> {
    let text = include_str!("recall_conversation.json");
    let file: serde_json::Value = serde_json::from_str(text)?;
    let said = |message: &serde_json::Value, field: &str| {
        message.get(field).and_then(|text| text.as_str()).unwrap_or_default().to_owned()
    };
    let message = |role: Role, text: String| {
        let tokens = (text.chars().count() / 4 + 4) as i64;
        Message::new(role, text, tokens)
    };
    let all = file.get("messages").and_then(|list| list.as_array()).into_iter().flatten();
    let all = all.map(|entry| {
        let by_user = said(entry, "role") == "user";
        message(if by_user { Role::User } else { Role::Assistant }, said(entry, "content"))
    });
    let question = "Which rooms did we want to have ready before I have to leave my flat?";
    Ok(all.chain([message(Role::User, question.to_owned())]).collect())
}

/// The policies that are compared, in words.
const MEANINGS: [&str; 2] = [
    "the most score per token, whatever the kind",
    "at least 50 % documents, 25 % tool outputs; memories up to 5 %",
];

/// The lines below the plot: the axis, its numbers, and where today's budget is.
fn axis(today: usize) -> [String; 3] {
    let (mut line, mut numbers) = (String::from("    0 % ┼"), " ".repeat(9));
    for column in 1..=COLUMNS {
        let labelled = (column * STEP) % 5_000 == 0;
        line.push(if labelled { '┴' } else { '─' });
        if labelled {
            let label = thousands(column * STEP);
            let start = 9 + usize::try_from(column).unwrap_or(0) - label.len() / 2 - 1;
            numbers = format!("{numbers:<start$}{label}");
        }
    }
    let marker = format!("{}▲ today", " ".repeat(8 + today));
    [line, numbers, marker]
}
