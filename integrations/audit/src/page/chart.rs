//! Chart of the page: the share of each call's tokens that a prompt cache would have read, turn by turn.

use std::fmt::Write as _;

use super::escape::escape;
use crate::report::{TurnPoint, WayReport, WindowReport};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 28.0;

/// Most points of a line. Longer sessions are drawn by groups of calls.
const POINTS: usize = 240;

/// Draws the chart of a window.
pub(super) fn cached_by_turn(window: &WindowReport) -> String {
    let ways: Vec<&WayReport> = window.ways.iter().chain([&window.newest_first]).collect();
    let turns = ways.iter().map(|way| way.turns.len()).max().unwrap_or(0);
    if turns < 2 {
        return String::new();
    }
    let group = turns.div_ceil(POINTS).max(1);
    let mut svg = String::from(
        "<h3>Read from the prompt cache, by call of the session</h3>\n<ul class=\"key\">",
    );
    for (number, way) in ways.iter().enumerate() {
        let class = class(number, ways.len());
        let name = escape(&way.name);
        let _ = write!(
            svg,
            "<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"line {class}\" \
             d=\"M0 5H26\"/></svg>{name}</li>"
        );
    }
    let label = format!("Share of tokens read from the prompt cache in {turns} calls");
    let _ = write!(
        svg,
        "</ul>\n<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\">"
    );
    for percent in [0, 25, 50, 75, 100] {
        let y = vertical(f64::from(percent) / 100.0);
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{LEFT} {y:.1}H{WIDTH}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{percent} %</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (at, anchor) in [(1, "start"), (turns, "end")] {
        let x = horizontal(at - 1, turns);
        let y = HEIGHT - 8.0;
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">call {at}</text>"
        );
    }
    for (number, way) in ways.iter().enumerate() {
        let class = class(number, ways.len());
        let _ =
            write!(svg, "<path class=\"line {class}\" d=\"{}\"/>", line(&way.turns, turns, group));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Newest-first trimming is the last line, and dashed.
fn class(number: usize, ways: usize) -> String {
    if number + 1 == ways { "other".to_owned() } else { format!("c{}", number % 4) }
}

fn line(points: &[TurnPoint], turns: usize, group: usize) -> String {
    let mut path = String::new();
    for (number, group_points) in points.chunks(group).enumerate() {
        let sum = |part: fn(&TurnPoint) -> i64| {
            group_points.iter().map(part).fold(0, i64::saturating_add)
        };
        let (tokens, cached) = (sum(|point| point.tokens), sum(|point| point.cached));
        if tokens <= 0 {
            continue;
        }
        let command = if path.is_empty() { 'M' } else { 'L' };
        let (x, y) = (horizontal(number * group, turns), vertical(cached as f64 / tokens as f64));
        let _ = write!(path, "{command}{x:.1} {y:.1}");
    }
    path
}

fn horizontal(turn: usize, turns: usize) -> f64 {
    LEFT + (WIDTH - LEFT - 4.0) * turn as f64 / (turns.max(2) - 1) as f64
}

fn vertical(share: f64) -> f64 {
    let top = 8.0;
    top + (HEIGHT - BOTTOM - top) * (1.0 - share.clamp(0.0, 1.0))
}
