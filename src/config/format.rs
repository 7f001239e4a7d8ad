//! The three formats that configuration is written in, and files that are regular and of limited
//! size: nothing waits for others.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

use serde::Serialize;

use super::Tree;
use super::limits::MARK;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }

    /// Returns the format of a file extension: `json`, `toml`, `yaml` or `yml`.
    pub fn of(extension: Option<&OsStr>) -> Option<Self> {
        match extension?.to_str()?.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// Parses a text. The error is the message of the parser.
    pub fn parse(self, text: &str, file: &str) -> Result<Tree, String> {
        // Editors on Windows put a byte order mark before the text.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let tree = match self {
            Self::Json => {
                let mut json = serde_json::Deserializer::from_str(text);
                let tree = Tree::read(&mut json, file);
                // Something after the value is as wrong as something in it.
                let tree = tree.and_then(|tree| json.end().map(|()| tree));
                tree.map_err(|error| error.to_string())
            }
            Self::Toml => toml::Deserializer::parse(text)
                .and_then(|toml| Tree::read(toml, file))
                .map_err(|error| error.to_string()),
            Self::Yaml => yaml(text, file),
        };
        tree.map_err(|message| message.lines().map(middle_out).collect::<Vec<_>>().join("\n"))
    }

    /// Writes a value. The error is the message of the writer.
    pub fn write(self, value: &impl Serialize) -> Result<String, String> {
        match self {
            Self::Json => serde_json::to_string_pretty(value).map_err(|error| error.to_string()),
            Self::Toml => toml::to_string(value).map_err(|error| error.to_string()),
            Self::Yaml => yaml_serde::to_string(value).map_err(|error| error.to_string()),
        }
    }
}

/// Some parsers show the line that is wrong, or the path to it, however long it is.
fn middle_out(line: &str) -> String {
    let mut ends = line.char_indices().map(|(at, _)| at);
    match (ends.nth(250), ends.nth_back(249)) {
        (Some(start), Some(end)) => {
            let part = |range: Option<&str>| range.unwrap_or_default().to_owned();
            part(line.get(..start)) + "…" + &part(line.get(end..))
        }
        _ => line.to_owned(),
    }
}

/// The parser reads everything before it looks at the depth, and its time grows with the square of
/// how deep `[` and `{` are nested. Where there are many, it is given the text in growing pieces.
fn yaml(text: &str, file: &str) -> Result<Tree, String> {
    let read = |text: &str| {
        let tree = Tree::read(yaml_serde::Deserializer::from_str(text), file);
        tree.map_err(|error| error.to_string())
    };
    let step = (text.len() / 64).max(2_000);
    for (end, _) in text.match_indices(['[', '{']).skip(100).step_by(step) {
        // That a piece breaks off means nothing; that it goes beyond a limit does.
        match read(text.get(..end).unwrap_or(text)) {
            Err(message) if message.contains(MARK) => return Err(message),
            _ => {}
        }
    }
    read(text)
}

/// The bytes of a regular file, if there are no more than `limit`.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // A device may do something when it is opened, so it is asked for before and after.
    only_regular(std::fs::metadata(path)?.file_type())?;
    let mut file = open(path)?;
    let metadata = file.metadata()?;
    only_regular(metadata.file_type())?;
    let mut bytes = Vec::new();
    file.by_ref().take(limit + 1).read_to_end(&mut bytes)?;
    let size = metadata.len().max(bytes.len() as u64);
    if bytes.len() as u64 > limit {
        let message = format!("it has {size} bytes, {MARK} {limit}");
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn only_regular(kind: std::fs::FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let kind = if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {kind}, expected a regular file")))
}

/// Opening a pipe that nobody writes to would wait for a writer.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}
