//! Finds the vector files of a suite.

use std::path::{Path, PathBuf};

/// A vector file and its name in reports: the path below the suite's folder.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Every `.toml` file below `folder`, however deep, sorted by name.
pub(crate) fn vectors(folder: &Path) -> Result<Vec<Vector>, String> {
    let mut found = Vec::new();
    collect(folder, &mut found)?;
    found.sort();
    let name = |path: &Path| {
        let below = path.strip_prefix(folder).unwrap_or(path);
        let parts = below.iter().map(|part| part.to_string_lossy());
        parts.collect::<Vec<_>>().join("/")
    };
    Ok(found.into_iter().map(|path| Vector { name: name(&path), path }).collect())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    Ok(())
}
