//! Command-line arguments.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Parser};
use clap_complete::Shell;

use super::audit::GatewayCommand;

const ABOUT: &str =
    "Fits LLM requests to the model's window. A client changes only its base address.";

const EXAMPLES: &str = "\
Examples:
  cupel-gateway --upstream https://api.openai.com/v1
  cupel-gateway --upstream http://127.0.0.1:8080/v1 --window 8192
  cupel-gateway --config gateway.toml --watch
  cupel-gateway --config gateway.toml --check
  cupel-gateway --demo
  cupel-gateway --completions bash > /etc/bash_completion.d/cupel-gateway
  cupel-gateway audit transcripts --window 8000,32000

Signals: SIGHUP reloads the configuration, SIGTERM stops after the calls in progress.
CUPEL_LOG sets the log level: off, error, warn, info (the default), debug or trace.
Logs never contain messages or keys.";

#[derive(Debug, Clone, Parser)]
#[command(name = "cupel-gateway", version, about = ABOUT, after_help = EXAMPLES)]
#[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
#[command(group(ArgGroup::new("start").args(["upstream", "config", "demo", "health", "completions"]).required(true).multiple(true)))]
pub(super) struct GatewayArgs {
    #[command(subcommand)]
    pub(super) command: Option<GatewayCommand>,
    /// API that requests are sent to. It gets the client's own key
    #[arg(long, value_name = "URL", conflicts_with = "config", help_heading = "Start")]
    pub(super) upstream: Option<String>,
    /// Configuration file in TOML, JSON or YAML; see the README
    #[arg(long, value_name = "FILE", help_heading = "Start")]
    pub(super) config: Option<PathBuf>,
    /// Check the configuration, list every mistake, and exit
    #[arg(long, help_heading = "Check")]
    pub(super) check: bool,
    /// Ask the gateway that runs here whether it takes requests, and exit: for containers. `--listen` or
    /// `--config` says where, if it is not the default
    #[arg(long, help_heading = "Check", conflicts_with_all = ["check", "demo", "upstream"])]
    pub(super) health: bool,
    /// Print completions for a shell, and exit
    #[arg(long, value_name = "SHELL", help_heading = "Check", exclusive = true)]
    pub(super) completions: Option<Shell>,
    /// Reload the configuration when its file changes, and not only on SIGHUP
    #[arg(long, requires = "config", help_heading = "Start")]
    pub(super) watch: bool,
    /// Address to listen on [default: 127.0.0.1:4141]
    #[arg(long, value_name = "ADDRESS", help_heading = "Start")]
    pub(super) listen: Option<SocketAddr>,
    /// Window of all models that the configuration has no window for: the context size with which a local
    /// server runs. Without it the server is asked
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Requests")]
    pub(super) window: Option<i64>,
    /// Most tokens of prompt and answer together, however large the window is
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Requests")]
    pub(super) at_most: Option<i64>,
    /// Refuse requests that cannot be fitted, instead of sending them unchanged
    #[arg(long, help_heading = "Requests")]
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
        assert!(parse(&["--health"]).is_ok() && parse(&["--health", "--demo"]).is_err());
        assert!(parse(&["--completions", "fish"]).is_ok());
    }
}
