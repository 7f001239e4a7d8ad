//! Contents of every published package of the workspace: licences, a README, and documentation with
//! all features.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Component, Path, PathBuf};

use toml::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn manifest(folder: &Path) -> Value {
    toml::from_str(&fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap()
}

fn get<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The folders of the packages that are published, with their manifests.
fn published() -> Vec<(PathBuf, Value)> {
    let root = manifest(Path::new(ROOT));
    let members = get(&root, &["workspace", "members"]).and_then(Value::as_array).unwrap();
    let folders = members.iter().map(|member| Path::new(ROOT).join(member.as_str().unwrap()));
    let packages = folders.map(|folder| (folder.clone(), manifest(&folder)));
    packages
        .filter(|(_, manifest)| {
            get(manifest, &["package", "publish"]).and_then(Value::as_bool) != Some(false)
        })
        .collect()
}

#[test]
fn ships_both_licences() {
    for (folder, _) in published() {
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let shipped = fs::read_to_string(folder.join(licence))
                .unwrap_or_else(|error| panic!("{}: {licence}: {error}", folder.display()));
            let ours = fs::read_to_string(Path::new(ROOT).join(licence)).unwrap();
            assert_eq!(shipped, ours, "{}: {licence}", folder.display());
        }
    }
}

#[test]
fn is_documented_with_all_features() {
    for (folder, manifest) in published() {
        assert!(folder.join("README.md").is_file(), "{}: no README.md", folder.display());
        let docs = get(&manifest, &["package", "metadata", "docs", "rs"])
            .unwrap_or_else(|| panic!("{}: no [package.metadata.docs.rs]", folder.display()));
        assert_eq!(docs.get("all-features"), Some(&Value::Boolean(true)), "{}", folder.display());
        let arguments = docs.get("rustdoc-args").and_then(Value::as_array).unwrap();
        assert!(arguments.contains(&Value::from("docsrs")), "{}", folder.display());
    }
}

/// The README shows a picture of `docs/` from the published package.
#[test]
fn the_core_ships_its_docs() {
    let root = manifest(Path::new(ROOT));
    let excluded = get(&root, &["package", "exclude"]).and_then(Value::as_array).unwrap();
    assert!(!excluded.contains(&Value::from("docs/")), "{excluded:?}");
}

/// The sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            let is_ours = !name.to_string_lossy().starts_with('.');
            if is_ours && name != "target" && name != "node_modules" {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The folder of the package that a file belongs to.
fn package_of(file: &Path) -> &Path {
    let mut folders = file.ancestors().skip(1);
    folders.find(|folder| folder.join("Cargo.toml").is_file()).unwrap()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// A package is published alone, so its files include no file of another one.
#[test]
fn includes_only_its_own_files() {
    let mut files = Vec::new();
    sources(Path::new(ROOT), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for before in ["#[path = \"", "include_str!(\"", "include_bytes!(\""] {
            for rest in text.split(before).skip(1) {
                let named = rest.split('"').next().unwrap_or_default();
                let included = plain(&file.parent().unwrap().join(named));
                if included.is_file() {
                    let is_own = package_of(&included) == package_of(&file);
                    assert!(is_own, "{} includes {}", file.display(), included.display());
                }
            }
        }
    }
}
