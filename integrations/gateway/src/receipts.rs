//! Receipts of calls, written into a folder beside the calls.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use cupel_audit::{Receipt, ReceiptCall};
use cupel_json::Endpoint;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Semaphore;

use crate::answer::header_value;
use crate::config::ReceiptConfig;
use crate::credentials::{Caller, hex, random};
use crate::select::BodySelector;

/// Header with which a client asks for a receipt, and in which it gets the name of the file.
pub(crate) const RECEIPT: HeaderName = HeaderName::from_static("x-cupel-receipt");

/// Receipts that wait or are written. Further ones are not written.
const WAITING: usize = 64;

/// Receipts that are written at one time.
const AT_ONCE: usize = 2;

/// Writes receipts.
#[derive(Debug)]
pub(crate) struct Receipts {
    waiting: Arc<Semaphore>,
    at_once: Arc<Semaphore>,
}

/// Call that gets a receipt.
pub(crate) struct ReceiptRequest {
    pub(crate) endpoint: Endpoint,
    /// Path of the client's request, which may name the model.
    pub(crate) path: String,
    /// Body as the client sent it, decompressed.
    pub(crate) request: Bytes,
    /// Body as it was sent.
    pub(crate) sent: Bytes,
    pub(crate) caller: Caller,
    /// Number of items from sources.
    pub(crate) sources: u64,
    /// Name of the call on the page.
    pub(crate) report: String,
}

impl Receipts {
    pub(crate) fn new() -> Self {
        let (waiting, at_once) = (Semaphore::new(WAITING), Semaphore::new(AT_ONCE));
        Self { waiting: Arc::new(waiting), at_once: Arc::new(at_once) }
    }

    /// Begins to write the receipt of a call if it is wanted. Returns the header of the answer.
    pub(crate) fn begin(
        &self,
        (config, selector): (Option<&ReceiptConfig>, &Arc<BodySelector>),
        headers: &HeaderMap,
        call: impl FnOnce() -> Result<ReceiptRequest, &'static str>,
    ) -> Option<HeaderValue> {
        let is_asked = headers.contains_key(RECEIPT);
        let Some(config) = config else {
            return is_asked.then(|| HeaderValue::from_static("none: this gateway writes none"));
        };
        if !is_asked && !config.every_call {
            return None;
        }
        let call = match call() {
            Ok(call) => call,
            Err(why) => return Some(header_value(&format!("none: {why}"))),
        };
        let Ok(waiting) = Arc::clone(&self.waiting).try_acquire_owned() else {
            tracing::warn!(report = call.report, "no receipt was written: too many are waiting");
            return Some(HeaderValue::from_static("none: too many are waiting"));
        };
        let name = format!("{}.json", call.report);
        let (at_once, file) = (Arc::clone(&self.at_once), name.clone());
        let (config, selector) = (config.clone(), Arc::clone(selector));
        tokio::spawn(async move {
            let turn = at_once.acquire_owned().await;
            let written = tokio::task::spawn_blocking(move || {
                let report = call.report.clone();
                if let Err(why) = write(&selector, &config, call, &file) {
                    tracing::error!(report, why, "no receipt was written");
                }
            });
            drop(written.await);
            drop((turn, waiting));
        });
        Some(header_value(&name))
    }
}

fn write(
    selector: &BodySelector,
    config: &ReceiptConfig,
    call: ReceiptRequest,
    name: &str,
) -> Result<(), String> {
    let ReceiptRequest { endpoint, path, request, sent, caller, sources, .. } = call;
    let known = selector.dry_planner(endpoint, &path, &request, caller);
    let (planner, factor, body) = known.ok_or("the request cannot be read")?;
    let (budget, grid_window) = planner.budget(&body).map_err(|error| error.to_string())?;
    let planned = planner.plan(body.clone())?;
    let sent = std::str::from_utf8(&sent).map_err(|error| error.to_string())?;
    let call = ReceiptCall {
        policy: planner.policy(),
        planner: planner.settings(),
        budget: &budget,
        grid_window,
        factor,
        sources,
        secret: config.secret.as_ref().map(|secret| secret.expose().as_bytes()),
    };
    let receipt = Receipt::of_planned(&call, &body, &planned, sent)?;
    write_file(&config.folder, name, &receipt.json()).map_err(|error| error.to_string())
}

/// Writes a file for its owner only. It has its name once it is complete.
fn write_file(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let unfinished = folder.join(format!(".{name}.unfinished"));
    let written = create(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&unfinished, folder.join(name)));
    // A part of a receipt would look like one that was changed.
    written.inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Says why no receipts can be written into a folder.
pub(crate) fn problem(folder: &PathBuf) -> Option<String> {
    let probe = folder.join(format!(".{}", hex(&random::<12>().unwrap_or_default())));
    let wrong = |error: &dyn fmt::Display| {
        format!(
            "receipts.folder: {folder:?}: {error}; expected a folder that the gateway may write to"
        )
    };
    if !folder.is_dir() {
        return Some(wrong(&"there is no such folder"));
    }
    let tried = create(&probe).and_then(|_| fs::remove_file(&probe));
    tried.err().map(|error| wrong(&error))
}
