//! Output to whoever started the gateway: messages, and the page's token.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use cupel_gateway::{Config, Gateway};
use tokio::net::TcpListener;

/// Writes to the standard output. A closed output is no reason to stop.
pub(super) fn say(text: &str) {
    let mut out = std::io::stdout();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Writes a result to the standard output. A reader that has left is no error, a full disk is one.
pub(super) fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to the standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Makes a gateway; the error lists everything that is wrong.
pub(super) fn gateway(config: Config) -> Result<Gateway, String> {
    Gateway::new(config).map_err(|error| listed(&error))
}

/// Lists everything that is wrong, one line each.
pub(super) fn listed(error: &cupel_gateway::GatewayConfigError) -> String {
    let lines: Vec<String> = error.0.iter().map(|line| format!("\n  {line}")).collect();
    format!("the configuration has mistakes:{}", lines.concat())
}

pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let failed = |error| format!("cannot listen on {address}: {error}");
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

pub(super) fn new_token() -> Result<String, String> {
    cupel_gateway::random_token().ok_or("the operating system gave no random bytes".to_owned())
}

/// Shows the token on a terminal, or writes it to a file for its owner only.
pub(super) fn show_token(
    token: &str,
    file: Option<PathBuf>,
    address: SocketAddr,
) -> Result<(), String> {
    let page = format!("page of recent calls: http://{address}/cupel/");
    if file.is_none() && std::io::stdout().is_terminal() {
        say(&format!("{page}\n  token: {token}\n"));
        return Ok(());
    }
    let file = file.unwrap_or_else(|| default_file(address.port()));
    write(token, &file).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    say(&format!("{page}\n  token: in the file {}\n", file.display()));
    Ok(())
}

fn default_file(port: u16) -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    folder.unwrap_or_else(std::env::temp_dir).join(format!("cupel-gateway-{port}.token"))
}

/// Writes a new file. An existing one is removed first: somebody else may have it open or have chosen where
/// it leads.
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

#[cfg(test)]
#[cfg(unix)]
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
