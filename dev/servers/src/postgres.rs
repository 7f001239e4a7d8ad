//! A PostgreSQL server of the tests' own, in a temporary folder, that ends with the test.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The password of the role `cupel` over TCP; over the socket none is asked for.
pub const PASSWORD: &str = "pa55-of-the-tests";

/// A running server.
pub struct Server {
    folder: PathBuf,
    port: u16,
    bin: PathBuf,
    user: Option<(u32, u32)>,
    running: Mutex<Option<Running>>,
}

/// The server's process. It lives as long as the pipe to its keeper: when the test ends, even by a
/// signal, the pipe closes and the keeper stops the server and removes its folder.
struct Running {
    keeper: Child,
    pipe: Option<ChildStdin>,
}

/// The server that the tests of this process share; none where PostgreSQL is not installed.
pub fn shared() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    SHARED.get_or_init(Server::start).as_ref()
}

/// Skips a test because something is missing; fails if `CUPEL_REQUIRE_POSTGRES` is set.
pub fn skip(what: &str) {
    assert!(
        std::env::var_os("CUPEL_REQUIRE_POSTGRES").is_none(),
        "CUPEL_REQUIRE_POSTGRES is set, but {what}"
    );
    // Past the capture of a test's output: a skip must be seen.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

impl Server {
    /// Starts a server; none, with a line that says so, where there is no PostgreSQL.
    pub fn start() -> Option<Self> {
        let Some(bin) = binaries() else {
            skip(
                "PostgreSQL is not installed (apt-get install postgresql), so nothing of it is tested",
            );
            return None;
        };
        let folder = tempfile::Builder::new().prefix("cupel-pg").tempdir_in("/tmp").unwrap().keep();
        let user = unprivileged(&folder);
        if let Some((uid, gid)) = user {
            chown(&folder, Some(uid), Some(gid)).unwrap();
        }
        let password = folder.join("password");
        fs::write(&password, PASSWORD).unwrap();
        fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
        let server = Self { port: free_port(), folder, bin, user, running: Mutex::new(None) };
        let made = server
            .command("initdb")
            .args(["--username=cupel", "--encoding=UTF8", "--no-locale", "--no-instructions"])
            .args(["--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile"])
            .arg(&password)
            .arg("-D")
            .arg(server.folder.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.run();
        Some(server)
    }

    /// Starts the process and waits until it answers.
    pub fn run(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.try_run() {
            assert!(Instant::now() < until, "no answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Starts the process. It may refuse while processes of a server that was killed are still there.
    fn try_run(&self) -> bool {
        // The keeper is the server's parent, so that nobody who is dead seems to be alive.
        let keep = r#"
            "$0" -D "$1/data" -k "$1" -p "$2" -c listen_addresses=127.0.0.1 -c max_connections=200 \
                -c shared_buffers=64MB >"$1/log" 2>&1 & server=$!
            while read -r word; do
                kill -KILL $server; wait $server; exit 0
            done
            kill -INT $server; wait $server; rm -rf "$1""#;
        let mut keeper = self
            .command("sh")
            .args(["-c", keep])
            .arg(self.bin.join("postgres"))
            .arg(&self.folder)
            .arg(self.port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pipe = keeper.stdin.take();
        *self.running.lock().unwrap() = Some(Running { keeper, pipe });
        let until = Instant::now() + Duration::from_secs(30);
        while !self.answers() {
            let refused = self.log().contains("FATAL:  ") && !self.log().contains("starting up");
            if refused || Instant::now() > until {
                self.kill();
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Kills the server and all its processes, as they are.
    pub fn kill(&self) {
        let Some(mut running) = self.running.lock().unwrap().take() else { return };
        let mut pipe = running.pipe.take().unwrap();
        let _ = pipe.write_all(b"KILL\n");
        running.keeper.wait().unwrap();
        // Those who wait for a lock of somebody who was killed would wait for ever.
        loop {
            let left = processes_in(&self.data());
            if left.is_empty() {
                return;
            }
            let _ = Command::new("kill").arg("-KILL").args(left).output();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the server in order, and keeps its folder.
    pub fn stop(&self) {
        let Some(mut running) = self.running.lock().unwrap().take() else { return };
        running.keeper.kill().unwrap();
        running.keeper.wait().unwrap();
        let stopped = self
            .command("pg_ctl")
            .args(["stop", "-w", "-m", "fast", "-D"])
            .arg(self.folder.join("data"))
            .output()
            .unwrap();
        assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    }

    fn answers(&self) -> bool {
        let ready = self
            .command("pg_isready")
            .args(["-q", "-U", "cupel", "-h"])
            .arg(&self.folder)
            .args(["-p", &self.port.to_string()])
            .status();
        ready.is_ok_and(|status| status.success())
    }

    /// The address of a database over the socket.
    pub fn address(&self, database: &str) -> String {
        format!(
            "postgres://cupel@localhost:{}/{database}?host={}",
            self.port,
            self.folder.display()
        )
    }

    /// The address of a database over TCP, with a password.
    pub fn tcp_address(&self, database: &str, password: &str) -> String {
        format!("postgres://cupel:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a new database and returns its name.
    pub fn database(&self) -> String {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Runs a statement of the test itself.
    pub fn sql(&self, database: &str, statement: &str) {
        self.answer(database, statement);
    }

    /// Returns true if the server can make this extension.
    pub fn has_extension(&self, name: &str) -> bool {
        let count = format!("SELECT count(*) FROM pg_available_extensions WHERE name = '{name}'");
        self.answer("postgres", &count) == "1"
    }

    fn answer(&self, database: &str, statement: &str) -> String {
        let ran = self
            .command("psql")
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "cupel", "-h"])
            .arg(&self.folder)
            .args(["-p", &self.port.to_string(), "-d", database, "-c", statement])
            .output()
            .unwrap();
        assert!(ran.status.success(), "{statement}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    }

    /// The folder of the server's data.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Gives a folder to the server's user.
    pub fn give(&self, folder: &Path) {
        if let Some((uid, gid)) = self.user {
            chown(folder, Some(uid), Some(gid)).unwrap();
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// A command of the server's user: `initdb` and `postgres` refuse root.
    fn command(&self, program: &str) -> Command {
        let path = self.bin.join(program);
        let mut command = if path.exists() { Command::new(path) } else { Command::new(program) };
        command.current_dir("/").env("LC_ALL", "C");
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match self.running.lock().unwrap().take() {
            Some(mut running) => {
                drop(running.pipe.take());
                let _ = running.keeper.wait();
            }
            None => {
                let _ = fs::remove_dir_all(&self.folder);
            }
        }
    }
}

/// The processes that work in a folder, as all of a server's do in that of its data.
fn processes_in(folder: &Path) -> Vec<String> {
    let works_there = |process: &fs::DirEntry| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|there| there == *folder)
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter(works_there);
    processes.filter_map(|process| process.file_name().into_string().ok()).collect()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// User that runs the server: ourselves, or an unprivileged user if we are root.
fn unprivileged(folder: &Path) -> Option<(u32, u32)> {
    if fs::metadata(folder).unwrap().uid() != 0 {
        return None;
    }
    let mut passwd = String::new();
    fs::File::open("/etc/passwd").unwrap().read_to_string(&mut passwd).unwrap();
    let ids = |name: &str| {
        let line = passwd.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

/// The folder of the server's programs: on the path, or where Debian puts it.
fn binaries() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").into_iter();
    let on_path = on_path.flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    versions.sort();
    on_path.chain(versions.into_iter().rev()).find(|folder| folder.join("initdb").exists())
}
