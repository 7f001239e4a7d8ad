//! The binary where people run it: certificates, proxies, reloads, metrics and logs.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "operations/metrics.rs"]
mod metrics;
#[path = "operations/network.rs"]
mod network;
#[path = "operations/packaging.rs"]
mod packaging;
#[path = "operations/process.rs"]
#[allow(dead_code)]
mod process;
#[path = "operations/proof.rs"]
mod proof;
#[path = "operations/proxies.rs"]
mod proxies;
#[path = "operations/proxy_server.rs"]
mod proxy_server;
#[path = "operations/reload.rs"]
mod reload;
#[path = "gateway/tls_server.rs"]
#[allow(dead_code)]
mod tls_server;
