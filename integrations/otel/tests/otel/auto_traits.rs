//! Everything can be sent and shared, and shows itself.

use std::fmt::Debug;

use cupel_otel::{
    ConversationId, CupelMetrics, CupelOtel, CupelOtelTraceCollector, CupelVerbosity,
};

fn shared<T: Send + Sync + Debug + 'static>() {}
fn cloned<T: Send + Sync + Debug + Clone + 'static>() {}

#[test]
fn the_parts_are_send_sync_and_debug() {
    shared::<CupelOtelTraceCollector>();
    cloned::<CupelOtel>();
    cloned::<CupelMetrics>();
    cloned::<CupelVerbosity>();
    cloned::<ConversationId>();
}
