//! Newest-first trimming: the longest run of the newest messages that fits, which most clients send.

use cupel_json::Endpoint;

use crate::replay::SessionReplay;

/// Positions of the messages that are sent: instructions, and the newest units that fit.
pub(crate) fn kept(replay: &SessionReplay<'_>, known: usize, window: i64) -> Vec<usize> {
    let whole = &replay.whole;
    let is_instruction = |at: usize| whole.instructions.get(at).copied().unwrap_or_default();
    let tokens = |at: &usize| whole.messages.get(*at).copied().unwrap_or_default();
    let instructions: Vec<usize> = (0..known).filter(|at| is_instruction(*at)).collect();
    let mut left = window.saturating_sub(whole.fixed);
    left = instructions.iter().fold(left, |left, at| left.saturating_sub(tokens(at)));
    let mut kept: Vec<usize> = Vec::new();
    for unit in whole.units.iter().rev() {
        let members: Vec<usize> =
            unit.iter().copied().filter(|at| *at < known && !is_instruction(*at)).collect();
        left = members.iter().fold(left, |left, at| left.saturating_sub(tokens(at)));
        if left < 0 {
            break;
        }
        kept.extend(members);
    }
    kept.sort_unstable();
    if replay.session.endpoint == Endpoint::Messages && kept.len() < known {
        // The API wants the user first, and no result without its call.
        let is_opening = |at: &usize| {
            let item = replay.session.items.get(*at);
            item.is_some_and(|item| !item.is_output && item.results.is_empty())
        };
        let start = kept.iter().position(is_opening).unwrap_or(kept.len());
        kept.drain(..start);
    }
    kept.extend(instructions);
    kept.sort_unstable();
    kept
}
