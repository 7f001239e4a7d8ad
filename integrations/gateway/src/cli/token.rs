//! The page's token: shown on a terminal, or in a file for its owner alone.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use super::say;

/// A token that nobody can guess.
pub(super) fn new() -> Result<String, String> {
    cupel_gateway::random_token().ok_or_else(|| "the system has no randomness to give".to_owned())
}

/// Tells whoever started the gateway, and nobody else.
pub(super) fn show(token: &str, file: Option<PathBuf>, address: SocketAddr) -> Result<(), String> {
    let page = format!("http://{address}/cupel/");
    if file.is_none() && std::io::stdout().is_terminal() {
        say(&format!("page at {page}\n  its token: {token}\n"));
        return Ok(());
    }
    let file = file.unwrap_or_else(|| default_file(address.port()));
    write(token, &file).map_err(|error| format!("{}: {error}", file.display()))?;
    say(&format!("page at {page}\n  its token is in {}\n", file.display()));
    Ok(())
}

fn default_file(port: u16) -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    folder.unwrap_or_else(std::env::temp_dir).join(format!("cupel-gateway-{port}.token"))
}

/// Writes a file that did not exist, so that nobody else has it open or chose where it leads.
fn write(token: &str, file: &std::path::Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    writeln!(options.open(file)?, "{token}")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_file_is_for_its_owner_only() {
        let file = std::env::temp_dir().join(format!("cupel-token-{}", std::process::id()));
        for token in ["one", "two"] {
            write(token, &file).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), token);
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::remove_file(&file).unwrap();
    }
}
