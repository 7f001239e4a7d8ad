//! Drives headless Chromium over its debugging protocol, for tests of pages.
//!
//! ```no_run
//! use cupel_browser::Browser;
//!
//! let mut browser = Browser::start()?;
//! let mut tab = browser.open("data:text/html,<title>hello</title>")?;
//! assert_eq!(tab.eval("document.title")?, "hello");
//! assert!(tab.errors()?.is_empty());
//! # Ok::<(), cupel_browser::Error>(())
//! ```
//!
//! The browser is Debian's `chromium`, or what `CUPEL_BROWSER` names. Tests begin with [`for_tests`],
//! which lets them be skipped where there is none, unless `CUPEL_REQUIRE_BROWSER` is set.

mod process;
mod tab;
mod wire;

use std::io::Write as _;
use std::path::PathBuf;

pub use tab::{Key, Tab};

use process::Process;
use wire::Wire;

/// Whatever goes wrong.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A running browser, with a folder of its own. Both are gone when it is dropped.
#[derive(Debug)]
pub struct Browser {
    wire: Wire,
    process: Process,
}

impl Browser {
    /// Starts a browser.
    ///
    /// # Errors
    ///
    /// When there is none, or it does not answer.
    pub fn start() -> Result<Self, Error> {
        let process = Process::start()?;
        let wire = Wire::connect(&process.address)?;
        Ok(Self { wire, process })
    }

    /// Opens a page in a tab of its own and waits until it is loaded.
    ///
    /// # Errors
    ///
    /// When the page cannot be loaded.
    pub fn open(&mut self, address: &str) -> Result<Tab<'_>, Error> {
        let mut tab = Tab::new(&mut self.wire)?;
        tab.go(address)?;
        Ok(tab)
    }

    /// Opens a page that is given as text: as a file, as somebody would who was sent one.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or the page not be loaded.
    pub fn open_page(&mut self, html: &str) -> Result<Tab<'_>, Error> {
        let file = self.file("page.html");
        std::fs::write(&file, html)?;
        self.open(&format!("file://{}", file.display()))
    }

    /// A path in the browser's own folder.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.process.folder.join(name)
    }
}

/// A browser for a test, or none where there is none: the test says so and is over.
///
/// # Errors
///
/// When the browser does not start, or is missing while `CUPEL_REQUIRE_BROWSER` is set.
pub fn for_tests() -> Result<Option<Browser>, Error> {
    if process::program().is_none() && std::env::var_os("CUPEL_REQUIRE_BROWSER").is_none() {
        let mut err = std::io::stderr();
        writeln!(err, "skipped: no chromium here (apt-get install chromium, or CUPEL_BROWSER)")?;
        return Ok(None);
    }
    Browser::start().map(Some)
}
