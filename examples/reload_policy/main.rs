//! Replaces the policy of a running layer from a file: `cargo run --features config --example
//! reload_policy`.
//!
//! The file is read again whenever it has changed. A file with mistakes is refused, and calls go on with
//! the policy before it.

#![allow(clippy::print_stdout)]

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cupel::gather::BoxError;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, PolicyHandle};
use cupel::policy::spec::{PolicySpec, ScorerRegistry};
use cupel::scorer::SystemTimeProvider;
use cupel::{ContextBudget, ContextItem};
use tower::{Layer as _, Service as _, ServiceExt as _, service_fn};

const BY_PRIORITY: &str =
    "scorers: [{ type: priority, weight: 1 }]\nslicer: greedy\nplacer: chronological\n";
const BY_RECENCY: &str =
    "scorers: [{ type: recency, weight: 1 }]\nslicer: greedy\nplacer: chronological\n";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let file = std::env::temp_dir().join(format!("cupel-policy-{}.yaml", std::process::id()));
    fs::write(&file, BY_PRIORITY)?;
    let registry = ScorerRegistry::new(SystemTimeProvider);
    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(PolicySpec::from_file(&file)?.to_policy(&registry)?)
        .budget(ContextBudget::builder(20).build()?)
        .build()?;
    let mut watched = PolicyFile::new(&file, layer.policy_handle(), registry);
    let mut model = layer.layer(service_fn(|request: ContextRequest<()>| async move {
        let texts = request.items().map(|item| item.content().to_owned());
        Ok::<_, Infallible>(texts.collect::<Vec<_>>().join(" | "))
    }));
    for (name, text) in
        [("by priority", BY_PRIORITY), ("by recency", BY_RECENCY), ("a mistake", "scorers: best\n")]
    {
        fs::write(&file, text)?;
        if let Err(error) = watched.reload() {
            println!("the file was refused, the policy stays: {error}");
        }
        let sent = model.ready().await?.call(request()?).await?;
        println!("{name:<12} {sent}");
    }
    fs::remove_file(&file)?;
    Ok(())
}

/// A policy file that may change.
struct PolicyFile {
    path: PathBuf,
    read_at: Option<SystemTime>,
    handle: PolicyHandle,
    registry: ScorerRegistry,
}

impl PolicyFile {
    fn new(path: &Path, handle: PolicyHandle, registry: ScorerRegistry) -> Self {
        Self { path: path.to_owned(), read_at: None, handle, registry }
    }

    /// Reads the file again if it has changed. A server calls this every few seconds.
    fn reload(&mut self) -> Result<(), BoxError> {
        let changed_at = Some(fs::metadata(&self.path)?.modified()?);
        if changed_at == self.read_at {
            return Ok(());
        }
        self.read_at = changed_at;
        self.handle.replace_from_file(&self.path, &self.registry)
    }
}

fn request() -> Result<ContextRequest<()>, cupel::CupelError> {
    let item = |text: &str, priority: i64, minute: i64| {
        ContextItem::builder(text, 10)
            .priority(priority)
            .timestamp(chrono::DateTime::from_timestamp(minute * 60, 0).unwrap_or_default())
            .build()
    };
    Ok(ContextRequest::new(())
        .item(item("Deploys are frozen on Fridays.", 9, 1)?)
        .item(item("The build is green.", 5, 2)?)
        .item(item("Lunch is at noon.", 1, 3)?)
        .item(item("It rains.", 0, 4)?))
}
