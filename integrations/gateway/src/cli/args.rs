//! Command-line arguments.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Parser};

const ABOUT: &str =
    "Fits LLM requests to the model's window. A client changes only its base address.";

const EXAMPLES: &str = "\
Examples:
  cupel-gateway --upstream https://api.openai.com/v1
  cupel-gateway --config gateway.toml
  cupel-gateway --demo

CUPEL_LOG sets the log level: off, error, warn, info (the default), debug or trace.
Logs never contain messages or keys.";

#[derive(Debug, Parser)]
#[command(name = "cupel-gateway", version, about = ABOUT, after_help = EXAMPLES)]
#[command(group(ArgGroup::new("start").args(["upstream", "config", "demo"]).required(true).multiple(true)))]
pub(super) struct GatewayArgs {
    /// API that requests are sent to. It gets the client's own key
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    pub(super) upstream: Option<String>,
    /// Configuration file in TOML, JSON or YAML; see the README
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Check the configuration, list every mistake, and exit
    #[arg(long)]
    pub(super) check: bool,
    /// Address to listen on [default: 127.0.0.1:4141]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<SocketAddr>,
    /// Most tokens of prompt and answer together, however large the window is
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub(super) at_most: Option<i64>,
    /// Refuse requests that cannot be fitted, instead of sending them unchanged
    #[arg(long)]
    pub(super) fail_closed: bool,
    /// File for the page's token, instead of the terminal
    #[arg(long, value_name = "FILE", help_heading = "Page of recent calls")]
    pub(super) token_file: Option<PathBuf>,
    /// Keep no calls and show no page
    #[arg(long, help_heading = "Page of recent calls")]
    pub(super) no_page: bool,
    /// Run a gateway, a scripted stand-in for a model, and a client with a long conversation. No key and no
    /// network are needed
    #[arg(long, help_heading = "Demo")]
    pub(super) demo: bool,
    /// End the demo with its conversation
    #[arg(long, requires = "demo", help_heading = "Demo")]
    pub(super) once: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<GatewayArgs, String> {
        GatewayArgs::try_parse_from(["cupel-gateway"].iter().chain(arguments))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_or_a_file_is_needed_and_mistakes_are_named() {
        let args = parse(&["--upstream", "https://a/v1", "--at-most=9", "--check"]).unwrap();
        assert_eq!((args.upstream.as_deref(), args.at_most), (Some("https://a/v1"), Some(9)));
        assert!(args.check);
        let none = parse(&[]).unwrap_err();
        assert!(
            ["--upstream", "--config", "--demo"].iter().all(|way| none.contains(way)),
            "{none}"
        );
        assert!(parse(&["--demo", "--once"]).is_ok() && parse(&["--once"]).is_err());
        let both = parse(&["--upstream", "a", "--config", "b"]).unwrap_err();
        assert!(both.contains("cannot be used with"), "{both}");
        assert!(parse(&["--upstraem", "a"]).unwrap_err().contains("--upstraem"));
        assert!(
            parse(&["--listen", "nowhere", "--upstream", "a"]).unwrap_err().contains("nowhere")
        );
        assert!(parse(&["--upstream"]).is_err());
    }
}
