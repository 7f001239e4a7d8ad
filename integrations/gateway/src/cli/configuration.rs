//! Configuration that the command line asks for: a file or an upstream, and options over it.

use cupel_gateway::{Config, Upstream};

use super::args::GatewayArgs;
use super::output::listed;

/// Reads the configuration that the arguments name.
pub(super) fn configure(args: &GatewayArgs) -> Result<Config, String> {
    let mut config = match (&args.config, args.upstream.as_deref()) {
        (Some(file), _) => Config::from_file(file).map_err(|error| listed(&error))?,
        (None, upstream) => Config::new(Upstream::new(upstream.unwrap_or_default())?),
    };
    config.listen = args.listen.unwrap_or(config.listen);
    config.window = args.window.or(config.window);
    config.at_most = args.at_most.or(config.at_most);
    config.fail_closed |= args.fail_closed;
    if let Some(file) = &args.token_file {
        config.page.token_file = Some(file.clone());
    }
    Ok(config)
}
