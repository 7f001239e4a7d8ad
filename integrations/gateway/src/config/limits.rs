//! How much is too much, and how long too long.

use std::time::Duration;

/// Limits of a gateway. Beyond one a request is refused, or cut off, whatever else is configured.
///
/// ```
/// use cupel_gateway::Limits;
///
/// let limits = Limits { body_bytes: 4 << 20, ..Limits::default() };
/// assert_eq!(limits.depth, 128);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The body of a request that is read; others stream through.
    pub body_bytes: usize,
    /// How deep its JSON may be nested.
    pub depth: usize,
    /// How many messages it may have.
    pub messages: usize,
    /// The bodies of all requests that wait for their selection, together.
    pub waiting_bytes: usize,
    /// Connections at one time; more have to wait.
    pub connections: usize,
    /// For a client to send a body that is read.
    pub body_time: Duration,
    /// For gathering and selecting.
    pub selection_time: Duration,
    /// For an upstream to begin its answer.
    pub answer_time: Duration,
    /// Without a byte, in either direction, once one has come.
    pub stall_time: Duration,
    /// For streams to end when the gateway is told to stop.
    pub shutdown_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            depth: 128,
            messages: 20_000,
            waiting_bytes: 512 << 20,
            connections: 4_096,
            body_time: Duration::from_secs(60),
            selection_time: Duration::from_secs(10),
            answer_time: Duration::from_secs(600),
            stall_time: Duration::from_secs(300),
            shutdown_time: Duration::from_secs(30),
        }
    }
}
