//! The binary as an operator starts it: a configuration file and variables.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than anything takes that is going to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A gateway in a process of its own; it is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
    pub(crate) folder: TempDir,
    log: Arc<Mutex<String>>,
}

impl Process {
    /// Starts it with a file `gateway.toml`; `listen` is added to it.
    pub(crate) fn start(config: &str, variables: &[(&str, &str)]) -> Self {
        Self::start_with(config, variables, &[])
    }

    pub(crate) fn start_with(config: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.toml");
        std::fs::write(&file, config).unwrap();
        let mut child = Self::command(&file, variables)
            .args(["--listen", "127.0.0.1:0", "--no-page"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, written) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                written.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{}", log.lock().unwrap()));
        let address = address.trim_end_matches("/v1").to_owned();
        Self { child, address, folder, log }
    }

    /// The binary with a configuration file, and no variables of the machine's that are about networks.
    pub(crate) fn command(file: &Path, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cupel-gateway"));
        for name in ["http", "https", "all", "no"].map(|name| format!("{name}_proxy")) {
            command.env_remove(&name).env_remove(name.to_uppercase());
        }
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        command.arg("--config").arg(file).envs(variables.iter().copied());
        command
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("gateway.toml")
    }

    /// Everything that was logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until a text is logged `times` times.
    pub(crate) fn wait_for(&self, text: &str, times: usize) {
        let started = Instant::now();
        while self.log().matches(text).count() < times {
            assert!(started.elapsed() < PATIENCE, "{text:?} is not logged:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Opens a connection and sends the head of a request.
    pub(crate) fn send(&self, head: &str) -> TcpStream {
        let mut client = TcpStream::connect(&self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(client, "{head}\r\nHost: {}\r\n\r\n", self.address).unwrap();
        client
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
