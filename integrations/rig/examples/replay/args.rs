//! Arguments of the command.

use super::{WAYS, Way, replay};

/// `<folder> [--joined] [--windows 4500,12000] [--way <part of its name>]…`
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) folder: String,
    /// The runs of each file as one session, instead of each alone.
    pub(crate) joined: bool,
    pub(crate) windows: Vec<i64>,
    pub(crate) ways: Vec<Way>,
}

impl Args {
    pub(crate) fn read() -> Result<Self, String> {
        let mut folder = None;
        let mut joined = false;
        let mut windows = replay::WINDOWS.to_vec();
        let mut ways: Vec<Way> = Vec::new();
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--joined" => joined = true,
                "--windows" => {
                    let numbers = value()?;
                    let number = |text: &str| text.trim().parse();
                    let numbers: Result<_, _> = numbers.split(',').map(number).collect();
                    windows = numbers.map_err(|error| format!("--windows 4500,12000: {error}"))?;
                }
                "--way" => {
                    let name = value()?;
                    let known = ways.len();
                    ways.extend(WAYS.into_iter().filter(|way| way.name.contains(&*name)));
                    if ways.len() == known {
                        let names = WAYS.map(|way| way.name).join("; ");
                        return Err(format!(
                            "no way is called {name:?}, expected part of: {names}"
                        ));
                    }
                }
                _ => folder = Some(arg),
            }
        }
        let ways = if ways.is_empty() { WAYS.to_vec() } else { ways };
        let folder = folder.or_else(|| std::env::var("CUPEL_RUNS_DIR").ok());
        let folder =
            folder.ok_or("name a folder of recorded runs: files *.jsonl of {name, messages}")?;
        Ok(Self { folder, joined, windows, ways })
    }
}
