//! The arguments.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use lexopt::prelude::*;

pub(super) const HELP: &str = "\
Context selection in front of any client: only the base address changes.

cupel-gateway --upstream https://api.openai.com/v1
cupel-gateway --config gateway.toml
cupel-gateway --demo

  --upstream URL      the API to stand in front of; it is shown the client's own key
  --config FILE       everything in a file (TOML, JSON or YAML); see the README
  --check             only checks the configuration, and lists every mistake
  --listen ADDRESS    where to listen; 127.0.0.1:4141 unless said
  --at-most TOKENS    for prompt and answer together, however large the window is
  --fail-closed       refuses what cannot be fitted, instead of sending it as it came
  --token-file FILE   where to write the page's token, instead of showing it on a terminal
  --no-page           keeps no calls and shows no page
  --demo              a gateway, a scripted stand-in for a model, and a client with a long
                      conversation; no key and no network are needed
  --once              ends the demonstration with its conversation
  --help, --version

CUPEL_LOG is error, warn, info (unless said), debug or trace. Logs never hold content or keys.
";

/// What is asked for.
#[derive(Debug)]
pub(super) enum Asked {
    Run(Args),
    Help,
    Version,
}

/// How the gateway is to be run.
#[derive(Debug, Default)]
pub(super) struct Args {
    pub(super) upstream: Option<String>,
    pub(super) config: Option<PathBuf>,
    pub(super) check: bool,
    pub(super) listen: Option<SocketAddr>,
    pub(super) at_most: Option<i64>,
    pub(super) fail_closed: bool,
    pub(super) demo: bool,
    pub(super) once: bool,
    pub(super) token_file: Option<PathBuf>,
    pub(super) no_page: bool,
}

impl Args {
    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
        let mut args = Self::default();
        let mut parser = lexopt::Parser::from_iter(arguments);
        let wrong = |error: lexopt::Error| error.to_string();
        while let Some(argument) = parser.next().map_err(wrong)? {
            match argument {
                Long("help") | Short('h') => return Ok(Asked::Help),
                Long("version") | Short('V') => return Ok(Asked::Version),
                Long("check") => args.check = true,
                Long("fail-closed") => args.fail_closed = true,
                Long("demo") => args.demo = true,
                Long("once") => args.once = true,
                Long("no-page") => args.no_page = true,
                Long("token-file") => args.token_file = Some(parser.value().map_err(wrong)?.into()),
                Long("upstream") => {
                    args.upstream = Some(parser.value().and_then(ValueExt::string).map_err(wrong)?);
                }
                Long("config") => args.config = Some(parser.value().map_err(wrong)?.into()),
                Long("listen") => {
                    args.listen =
                        Some(parser.value().and_then(|value| value.parse()).map_err(wrong)?);
                }
                Long("at-most") => {
                    args.at_most =
                        Some(parser.value().and_then(|value| value.parse()).map_err(wrong)?);
                }
                other => return Err(other.unexpected().to_string()),
            }
        }
        match (&args.upstream, &args.config) {
            _ if args.demo => Ok(Asked::Run(args)),
            _ if args.once => Err("--once goes with --demo".to_owned()),
            (None, None) => Err("expected --upstream, --config or --demo".to_owned()),
            (Some(_), Some(_)) => {
                Err("expected either --upstream or --config, got both".to_owned())
            }
            _ => Ok(Asked::Run(args)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Args, String> {
        let all = ["cupel-gateway"].iter().chain(arguments).map(OsString::from);
        match Args::parse(all)? {
            Asked::Run(args) => Ok(args),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn an_address_or_a_file_is_needed_and_mistakes_are_named() {
        let args = parse(&["--upstream", "https://a/v1", "--at-most=9", "--check"]).unwrap();
        assert_eq!((args.upstream.as_deref(), args.at_most), (Some("https://a/v1"), Some(9)));
        assert!(args.check);
        assert!(parse(&[]).unwrap_err().contains("--upstream, --config or --demo"));
        assert!(parse(&["--upstream", "a", "--config", "b"]).unwrap_err().contains("both"));
        assert!(parse(&["--upstraem", "a"]).unwrap_err().contains("--upstraem"));
        assert!(
            parse(&["--listen", "nowhere", "--upstream", "a"]).unwrap_err().contains("nowhere")
        );
        assert!(parse(&["--upstream"]).is_err());
    }
}
