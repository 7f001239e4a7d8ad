//! The gateway as its clients and upstreams see it, over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "gateway/attacks.rs"]
mod attacks;
#[path = "gateway/azure.rs"]
mod azure;
#[path = "gateway/clients.rs"]
mod clients;
#[path = "gateway/counting.rs"]
mod counting;
#[path = "gateway/doors.rs"]
mod doors;
#[path = "gateway/fitting.rs"]
mod fitting;
#[path = "gateway/keys.rs"]
mod keys;
#[path = "gateway/large.rs"]
mod large;
#[path = "gateway/limits.rs"]
mod limits;
#[path = "gateway/local.rs"]
mod local;
#[path = "gateway/local_stand_in.rs"]
mod local_stand_in;
#[path = "gateway/meaning.rs"]
mod meaning;
#[path = "gateway/messages.rs"]
mod messages;
#[path = "gateway/oddities.rs"]
mod oddities;
#[path = "gateway/page.rs"]
mod page;
#[path = "gateway/passing.rs"]
mod passing;
#[path = "gateway/raw.rs"]
mod raw;
#[path = "gateway/routing.rs"]
mod routing;
#[path = "gateway/shadow.rs"]
mod shadow;
#[path = "gateway/sources.rs"]
mod sources;
#[path = "gateway/streams.rs"]
mod streams;
#[path = "gateway/summaries.rs"]
mod summaries;
#[path = "gateway/support.rs"]
mod support;
#[path = "gateway/tls.rs"]
mod tls;
#[path = "gateway/tls_server.rs"]
mod tls_server;
