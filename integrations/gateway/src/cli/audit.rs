//! The command `audit`: replays recorded conversations, and prints what would be sent of them.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use cupel::Policy;
use cupel_audit::{Audit, AuditProgress, InputPrice, PriceTable, Receipt, Verification};

use super::output::print;

/// Commands besides the gateway itself.
#[derive(Debug, Clone, Subcommand)]
pub(super) enum GatewayCommand {
    /// Replay recorded conversations: what would be sent, cached and missed. Nothing leaves the machine
    Audit(AuditArgs),
}

impl GatewayCommand {
    pub(super) fn run(self) -> Result<(), String> {
        match self {
            Self::Audit(args) => args.run(),
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  cupel-gateway audit transcripts
  cupel-gateway audit a.jsonl b.jsonl --window 8000,32000 --preset chat,tool_use
  cupel-gateway audit transcripts --model my-model --price my-model=1.25,0.125 --no-content
  cupel-gateway audit --verify receipt.json request.json --secret-env RECEIPT_SECRET";

/// Arguments of `audit`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AuditArgs {
    /// Files with recordings (JSON lines, or one JSON document), or folders with such files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Windows to replay at: the most tokens of a prompt
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_value = "8000,32000")]
    #[arg(value_parser = clap::value_parser!(i64).range(1..))]
    window: Vec<i64>,
    /// Presets to replay with: chat, tool_use, rag, document_qa
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "chat,tool_use")]
    preset: Vec<String>,
    /// Model of recordings that name none
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    model: String,
    /// Price of models whose names begin so, in dollars for a million tokens: MODEL=INPUT,CACHED[,WRITTEN]
    #[arg(long, value_name = "PRICE")]
    price: Vec<String>,
    /// File for the page
    #[arg(long, value_name = "FILE", default_value = "audit.html")]
    page: PathBuf,
    /// Write no page
    #[arg(long, conflicts_with = "page")]
    no_page: bool,
    /// Leave texts and values of the conversations out of the page
    #[arg(long)]
    no_content: bool,
    /// Verify the receipt of a call instead. PATH is the request as the client sent it
    #[arg(long, value_name = "RECEIPT")]
    verify: Option<PathBuf>,
    /// Environment variable with the secret that keys the receipt's hashes
    #[arg(long, value_name = "NAME", requires = "verify")]
    secret_env: Option<String>,
    /// File for all numbers as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl AuditArgs {
    fn run(self) -> Result<(), String> {
        if let Some(receipt) = &self.verify {
            return self.verify(receipt);
        }
        let mut audit = Audit::new().model(&self.model).prices(prices(&self.price)?);
        for window in &self.window {
            audit = audit.window(*window);
        }
        for name in &self.preset {
            audit = audit.way(name, preset(name)?);
        }
        let mut bar = ProgressBar::new();
        let report = audit.files(&self.paths, &mut |progress| bar.show(&progress));
        bar.clear();
        let report = report.map_err(|error| error.to_string())?;
        print(&report.to_string())?;
        if let Some(path) = &self.json {
            let json = serde_json::to_vec_pretty(&report).map_err(|error| error.to_string())?;
            write(path, &json)?;
        }
        if !self.no_page {
            let page = report.page();
            let page = if self.no_content { page.without_content() } else { page };
            write(&self.page, page.to_string().as_bytes())?;
            print(&format!("\npage: {}\n", self.page.display()))?;
        }
        Ok(())
    }
}

impl AuditArgs {
    fn verify(&self, receipt: &Path) -> Result<(), String> {
        let [request] = self.paths.as_slice() else {
            return Err("--verify: expected one request".to_owned());
        };
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let secret = self.secret_env.as_deref().map(|name| {
            std::env::var(name).map_err(|error| format!("--secret-env {name}: {error}"))
        });
        let secret = secret.transpose()?;
        let secret = secret.as_deref().map(str::as_bytes);
        match Receipt::verify(&read(receipt)?, &read(request)?, secret)? {
            Verification::Reproduced { sent } => {
                print(&format!("reproduced: {} bytes are as they were sent\n", sent.len()))
            }
            Verification::NotReproducible { why } => print(&format!("not reproducible: {why}\n")),
            Verification::Different { differences } => {
                let lines: Vec<String> = differences.iter().map(|it| format!("\n  {it}")).collect();
                Err(format!("the receipt does not match:{}", lines.concat()))
            }
            _ => Err("the receipt was verified with an unknown result".to_owned()),
        }
    }
}

/// Writes a file. Recordings hold what users said, so only its owner may read it.
fn write(path: &PathBuf, bytes: &[u8]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(bytes).map_err(|error| {
        // A part of a page looks like a whole one.
        if path.metadata().is_ok_and(|facts| facts.is_file()) {
            drop(std::fs::remove_file(path));
        }
        failed(error)
    })
}

fn preset(name: &str) -> Result<Policy, String> {
    match name {
        "chat" => Ok(Policy::chat()),
        "tool_use" => Ok(Policy::tool_use()),
        "rag" => Ok(Policy::rag()),
        "document_qa" => Ok(Policy::document_qa()),
        _ => Err(format!("--preset: {name:?}, expected chat, tool_use, rag or document_qa")),
    }
}

/// Reads prices such as `my-model=2.5,0.25`.
fn prices(written: &[String]) -> Result<PriceTable, String> {
    let mut prices = PriceTable::new();
    for price in written {
        let wrong = || {
            format!("--price: {price:?}, expected MODEL=INPUT,CACHED or MODEL=INPUT,CACHED,WRITTEN")
        };
        let (model, parts) = price.rsplit_once('=').ok_or_else(wrong)?;
        let parts = parts.split(',').map(|part| part.trim().parse::<f64>());
        let parts: Vec<f64> = parts.collect::<Result<_, _>>().map_err(|_| wrong())?;
        let is_valid = |part: &f64| part.is_finite() && *part >= 0.0;
        prices = match parts.as_slice() {
            parts if model.is_empty() || !parts.iter().all(is_valid) => return Err(wrong()),
            [input, cached] => prices.with(model, InputPrice::new(*input, *cached, *input)),
            [input, cached, written] => {
                prices.with(model, InputPrice::new(*input, *cached, *written))
            }
            _ => return Err(wrong()),
        };
    }
    Ok(prices)
}

/// Progress on the terminal, for audits that take long.
struct ProgressBar {
    is_shown: bool,
    began: Instant,
    last: Option<Instant>,
}

impl ProgressBar {
    const WIDTH: u64 = 30;
    const FIRST: Duration = Duration::from_millis(500);
    const PAUSE: Duration = Duration::from_millis(100);

    fn new() -> Self {
        Self { is_shown: std::io::stderr().is_terminal(), began: Instant::now(), last: None }
    }

    fn show(&mut self, progress: &AuditProgress) {
        let is_due = self
            .last
            .map_or(self.began.elapsed() >= Self::FIRST, |last| last.elapsed() >= Self::PAUSE);
        if !self.is_shown || !is_due {
            return;
        }
        self.last = Some(Instant::now());
        let AuditProgress { bytes, of_bytes, sessions, calls, .. } = *progress;
        let done = bytes.saturating_mul(Self::WIDTH) / of_bytes.max(1);
        let bar: String = (0..Self::WIDTH).map(|at| if at < done { '#' } else { '.' }).collect();
        drop(write!(std::io::stderr(), "\r[{bar}] {sessions} sessions, {calls} calls"));
    }

    /// Removes the bar.
    fn clear(&self) {
        if self.last.is_some() {
            drop(write!(std::io::stderr(), "\r\x1b[2K"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_and_mistakes_are_shown() {
        let one = |price: &str| prices(&[price.to_owned()]);
        assert_eq!(one("my=2.5,0.25").unwrap().get("my-1"), Some(InputPrice::new(2.5, 0.25, 2.5)));
        let claude = one("anthropic/c=3,0.3,3.75").unwrap();
        assert_eq!(claude.get("anthropic/c"), None);
        for wrong in ["my", "my=1", "my=a,b", "=1,2", "my=1,2,3,4", "my=-1,2", "my=NaN,1"] {
            assert!(one(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
        assert!(preset("chta").unwrap_err().contains("chta"));
    }
}
