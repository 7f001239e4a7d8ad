//! The browser's process and its folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Error;

/// Names of the program on Debian and other systems.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Arguments for an isolated browser: no window, no sandbox (root cannot have one), and no network
/// activity of its own.
const ARGUMENTS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-proxy-server",
    "--remote-debugging-port=0",
    "--window-size=1200,900",
];

#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pub(super) folder: PathBuf,
    /// Address of the debugging protocol.
    pub(super) address: String,
}

/// The browser's program.
pub(super) fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CUPEL_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .filter(|file| file.is_file());
    found.next()
}

impl Process {
    pub(super) fn start() -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let program = program().ok_or("no chromium: apt-get install chromium, or CUPEL_BROWSER")?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("cupel-browser-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let child = Command::new(&program)
            .args(ARGUMENTS)
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut process = Self { child, folder, address: String::new() };
        process.address = process.wait_for_address()?;
        Ok(process)
    }

    /// The browser writes down where it can be reached.
    fn wait_for_address(&mut self) -> Result<String, Error> {
        let file = self.folder.join("profile/DevToolsActivePort");
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(address) = read_address(&file) {
                return Ok(address);
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the browser has ended: {status}").into());
            }
            sleep(Duration::from_millis(20));
        }
        Err("the browser did not start in time".into())
    }
}

fn read_address(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let (port, path) = text.split_once('\n')?;
    (!path.is_empty()).then(|| format!("ws://127.0.0.1:{port}{}", path.trim_end()))
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Its own children end a moment later, and may still write.
        for _ in 0..40 {
            if fs::remove_dir_all(&self.folder).is_ok() || !self.folder.exists() {
                break;
            }
            sleep(Duration::from_millis(25));
        }
    }
}
