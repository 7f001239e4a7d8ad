//! Estimates beside an independent count: they do not fall short once the margin is added.

use cupel::Policy;
use serde_json::Value;

use crate::local_server::messages;
use crate::runs;
use crate::support::{Session, Thinking, layer, send};

#[test]
fn estimates_with_the_margin_cover_the_count_of_every_recorded_request() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/turns/data");
    let layer = layer(400_000, Policy::chat());
    let (mut lowest, mut highest) = (f64::MAX, 0.0_f64);
    for run in runs::read(folder).unwrap() {
        let session = Session::new(&run.messages, &run.tools(), 400_000, Thinking::None);
        for known in session.calls().into_iter().step_by(5) {
            let body = session.body(known);
            let (sent, report) = send(&layer, &body).unwrap();
            assert_eq!(sent.json(), body);
            let json: Value = serde_json::from_str(&body).unwrap();
            let exact = messages::count::request(&json) as f64;
            let ratio = (report.sent.tokens + report.fixed_tokens) as f64 / exact;
            lowest = lowest.min(ratio);
            highest = highest.max(ratio);
        }
    }
    assert!(lowest >= 0.95, "{lowest}..{highest}");
    assert!(highest <= 1.4, "{lowest}..{highest}");
}
