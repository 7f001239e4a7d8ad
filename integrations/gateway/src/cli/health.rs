//! Health check by the binary itself, for containers without another HTTP client.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use cupel::config::Format;
use cupel_gateway::PORT;

use super::args::GatewayArgs;

/// Time for the gateway to answer.
const TIME: Duration = Duration::from_secs(5);

/// Longest answer that is read.
const ANSWER_BYTES: u64 = 64 * 1024;

/// Asks the gateway on this machine whether it takes requests.
pub(super) fn run(args: &GatewayArgs) -> Result<(), String> {
    let default = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let named = args.config.as_deref().map(listen_in).transpose()?.flatten();
    let address = reachable(args.listen.or(named).unwrap_or(default));
    let status = ask(address).map_err(|error| format!("no answer from {address}: {error}"))?;
    match status {
        200 => Ok(()),
        503 => Err(format!("the gateway at {address} is stopping")),
        other => Err(format!("the gateway at {address} answered {other}")),
    }
}

/// Reads only the address in a configuration file: the rest may have been changed since the gateway read it.
fn listen_in(file: &Path) -> Result<Option<SocketAddr>, String> {
    let failed = |why: String| format!("{}: {why}", file.display());
    let format = Format::of(file.extension())
        .ok_or_else(|| failed("expected a file named .toml, .json, .yaml or .yml".to_owned()))?;
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    // A parser's message may show a line of the file.
    let tree =
        format.parse(&text, "").map_err(|_| failed(format!("not valid {}", format.name())))?;
    let Some(listen) = tree.get("listen").and_then(|listen| listen.text()) else { return Ok(None) };
    let parsed = listen.parse().map_err(|_| failed(format!("listen: {listen:?} is no address")))?;
    Ok(Some(parsed))
}

/// Returns an address of this machine for one that stands for all of them.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

fn ask(address: SocketAddr) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, TIME)?;
    stream.set_read_timeout(Some(TIME))?;
    stream.set_write_timeout(Some(TIME))?;
    let head = "GET /health/readiness HTTP/1.1\r\nConnection: close\r\n";
    write!(stream, "{head}Host: {address}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer)?;
    let status = answer.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    status.ok_or_else(|| std::io::Error::other("the answer is not HTTP"))
}
