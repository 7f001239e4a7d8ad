//! Takes a picture of a page.
//!
//! `cargo run -p cupel-browser --example screenshot -- page.html picture.png`, with `--width`,
//! `--height`, `--dark`, `--print` or `--run <script>` before the picture is taken.

#![allow(clippy::print_stderr)]

use base64::Engine as _;
use cupel_browser::{Browser, Error};

const USAGE: &str = "usage: screenshot page.html picture.png [--width 1200] [--height 1240] [--dark] \
                     [--print] [--run script]";

fn main() -> Result<(), Error> {
    let (mut width, mut height, mut colours, mut medium) = (1_200, 1_240, "light", "screen");
    let mut script = None;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().ok_or_else(|| format!("{argument} needs a value; {USAGE}"));
        match argument.as_str() {
            "--width" => width = value()?.parse()?,
            "--height" => height = value()?.parse()?,
            "--dark" => colours = "dark",
            "--print" => medium = "print",
            "--run" => script = Some(value()?),
            _ if argument.starts_with("--") => return Err(format!("{argument}: {USAGE}").into()),
            _ => files.push(argument),
        }
    }
    let [page, picture] = files.as_slice() else {
        return Err(USAGE.into());
    };
    let page = std::fs::canonicalize(page).map_err(|error| format!("{page}: {error}"))?;
    let mut browser = Browser::start()?;
    let mut tab = browser.open(&format!("file://{}", page.display()))?;
    tab.resize(width, height)?;
    tab.media(medium, colours)?;
    if let Some(script) = script {
        tab.eval(&script)?;
    }
    for error in tab.errors()? {
        eprintln!("{error}");
    }
    let png = base64::engine::general_purpose::STANDARD.decode(tab.screenshot()?)?;
    std::fs::write(picture, png)?;
    Ok(())
}
