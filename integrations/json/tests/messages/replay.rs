//! Recorded runs, turn by turn, in windows that are too small: nothing is refused.

use cupel::Policy;
use serde_json::Value;

use crate::support::{Session, Thinking, layer, planned, scored, send};
use cupel_dev_servers::local_server::messages;
use cupel_dev_servers::replay::runs;

const WINDOWS: [i64; 3] = [6_000, 9_000, 16_000];

#[derive(Debug, Default, PartialEq)]
struct Came {
    taken: usize,
    trimmed: usize,
    no_room: usize,
}

fn replay(policy: Policy, thinking: Thinking, window: i64) -> Came {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/turns/data");
    let layer = layer(window, policy);
    let mut came = Came::default();
    for run in runs::read(folder).unwrap() {
        let mut session = Session::new(&run.messages, &run.tools(), window, thinking);
        for known in session.calls() {
            let body = session.body(known);
            let sent = match send(&layer, &body) {
                Ok((sent, _)) => sent,
                Err(why) => {
                    assert!(why.contains("tokens"), "{}: {why}", run.name);
                    came.no_room += 1;
                    continue;
                }
            };
            came.trimmed += usize::from(sent.json() != body);
            let beta = sent.needs_beta().unwrap_or_default();
            let checked = messages::check(sent.json().as_bytes(), beta);
            let json: Value = checked.unwrap_or_else(|refused| {
                panic!("{} {window} {thinking:?} message {known}: {refused:?}", run.name)
            });
            came.taken += 1;
            session.think(known, &json);
        }
    }
    came
}

#[test]
fn recorded_runs_are_never_refused() {
    for (at, window) in WINDOWS.into_iter().enumerate() {
        let other = [Thinking::None, Thinking::Manual][at % 2];
        for thinking in [Thinking::Bound, other] {
            let came = replay(planned(), thinking, window);
            assert!(came.taken > 100 && came.no_room == 0, "{window} {thinking:?}: {came:?}");
            assert!(came.trimmed > 15, "{window} {thinking:?}: {came:?}");
        }
    }
    let came = replay(scored(), Thinking::Manual, 9_000);
    assert!(came.taken > 80 && came.trimmed > 15, "scored: {came:?}");
}
