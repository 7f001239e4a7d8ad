//! Checks of the words: links, the length of the README, the beginnings of doc comments, and phrases that
//! readers did not understand.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[path = "docs/markdown.rs"]
mod markdown;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use markdown::Markdown;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Most lines of the README.
const README_LINES: usize = 200;

/// Words that make a riddle of the first line of a doc comment.
const RIDDLE_STARTS: [&str; 10] =
    ["What", "How", "Whether", "Where", "Who", "Whose", "Which", "When", "Of", "That"];

/// Phrases that readers did not understand. None may come back.
const RIDDLES: [&str; 18] = [
    "200 whole",
    "as it came",
    "as they came",
    "at its word",
    "behind its back",
    "errand",
    "for want of",
    "is none of",
    "is waited for",
    "lead elsewhere",
    "of both, for",
    "stands where",
    "to be had",
    "went out as",
    "what came of",
    "what is selected from",
    "what sources give",
    "who knows that",
];

/// Files below a folder with one of these endings, as paths from the root.
fn files(folder: &str, endings: &[&str], found: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(Path::new(ROOT).join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        let below = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if path.is_dir() {
            files(&below, endings, found);
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(below);
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The folder of the package that a page belongs to; the root's is empty.
fn package_of(path: &str) -> &str {
    let mut folder = folder_of(path);
    while !folder.is_empty() && !Path::new(ROOT).join(folder).join("Cargo.toml").exists() {
        folder = folder_of(folder);
    }
    folder
}

/// The folder of a package of the workspace, by its name.
fn folder_of_package(name: &str) -> Option<String> {
    let folder = name.strip_prefix("tower-cupel-").map(|name| format!("integrations/{name}"));
    let folder = folder.unwrap_or_default();
    let manifest = read(format!("{folder}/Cargo.toml").trim_start_matches('/'));
    manifest.contains(&format!("\nname = \"{name}\"\n")).then_some(folder)
}

fn has_module(folder: &str, modules: &[&str]) -> bool {
    let src = Path::new(ROOT).join(folder).join("src");
    let path = modules.join("/");
    let is_file =
        src.join(format!("{path}.rs")).exists() || src.join(&path).join("mod.rs").exists();
    let is_written = || {
        let (last, parents) = modules.split_last()?;
        let parent = if parents.is_empty() { "lib".to_owned() } else { parents.join("/") };
        let parent = fs::read_to_string(src.join(format!("{parent}.rs"))).ok()?;
        Some(parent.contains(&format!("pub mod {last} {{")))
    };
    is_file || is_written().unwrap_or(false)
}

/// The reason why a page of this project on docs.rs does not exist.
fn wrong_page(url: &str) -> Option<String> {
    let path = url.strip_prefix("https://docs.rs/")?;
    let parts: Vec<&str> = path.split('/').collect();
    let own = |name: &str| name.starts_with("tower-cupel");
    let exists = match parts.as_slice() {
        ["crate", package, "latest", "source", file @ ..] if own(package) => {
            let folder = folder_of_package(package)?;
            Path::new(ROOT).join(folder).join(file.join("/")).is_file()
        }
        [package] if own(package) => folder_of_package(package).is_some(),
        [package, "latest", _library, modules @ .., "index.html"] if own(package) => {
            let folder = folder_of_package(package)?;
            modules.is_empty() || has_module(&folder, modules)
        }
        [package, ..] if own(package) => false,
        _ => true,
    };
    (!exists).then(|| format!("{url}: no such page of this project"))
}

/// The reason why a link of a page leads nowhere.
fn wrong_link(path: &str, page: &Markdown, target: &str) -> Option<String> {
    if target.contains("://") {
        return wrong_page(target);
    }
    if target.starts_with("crate::") {
        let modules: Vec<&str> = target.split("::").skip(1).collect();
        return (!has_module(package_of(path), &modules))
            .then(|| format!("{target}: no such module"));
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    if file.is_empty() {
        return (!page.has_anchor(anchor)).then(|| format!("#{anchor}: no such heading"));
    }
    let linked = Path::new(ROOT).join(folder_of(path)).join(file);
    if !linked.exists() {
        return Some(format!("{target}: no such file"));
    }
    let missing = !anchor.is_empty()
        && !Markdown::read(&fs::read_to_string(linked).unwrap()).has_anchor(anchor);
    missing.then(|| format!("{target}: no such heading"))
}

fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    files("", &[".md"], &mut pages);
    assert!(pages.len() > 20, "{pages:?}");
    pages
}

#[test]
fn every_link_of_every_page_leads_somewhere() {
    let mut wrong = Vec::new();
    for path in pages() {
        let page = Markdown::read(&read(&path));
        let definitions = page.definitions();
        let missing = page.names().filter(|name| !definitions.contains_key(name));
        wrong.extend(missing.map(|name| format!("{path}: [{name}] is not defined")));
        let targets = page.inline().chain(definitions.values().copied());
        let nowhere = targets.filter_map(|target| wrong_link(&path, &page, target));
        wrong.extend(nowhere.map(|why| format!("{path}: {why}")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_link_of_a_doc_comment_to_a_page_of_this_project_leads_somewhere() {
    for path in sources().iter().filter(|path| *path != "tests/docs.rs") {
        let text = read(path);
        let pages = text.match_indices("https://docs.rs/tower-cupel").map(|(at, _)| &text[at..]);
        for rest in pages {
            let end = rest.find([')', '>', '"', '`', ' ', '\n']).unwrap_or(rest.len());
            assert_eq!(wrong_page(&rest[..end]), None, "{path}");
        }
    }
}

/// Registries show a README without the other files of its package.
#[test]
fn readmes_of_packages_link_to_anchors_and_absolute_addresses_only() {
    for path in pages() {
        let is_readme = path.ends_with("README.md");
        if !is_readme || folder_of(&path) != package_of(&path) {
            continue;
        }
        let text = read(&path);
        let page = Markdown::read(&text);
        let definitions = page.definitions();
        let mut targets = page.inline().chain(definitions.values().copied());
        let relative = targets.find(|target| !target.starts_with('#') && !target.contains("://"));
        assert_eq!(relative, None, "{path}");
    }
}

/// Chapters of the guide in their package: `docs/*.md`.
fn chapters() -> BTreeMap<String, Vec<String>> {
    let mut chapters = BTreeMap::<String, Vec<String>>::new();
    for path in pages() {
        let package = package_of(&path);
        if folder_of(&path) == format!("{package}/docs").trim_start_matches('/') {
            chapters.entry(package.to_owned()).or_default().push(path);
        }
    }
    assert!(chapters.len() >= 3, "{chapters:?}");
    chapters
}

/// In a repository a chapter links to files, in rustdoc to modules. `guide_links.md` replaces the definitions of the
/// chapter there.
#[test]
fn every_chapter_is_in_rustdoc_and_its_links_are_too() {
    let index = read("docs/README.md");
    for (package, paths) in chapters() {
        let src = format!("{package}/src/guide").trim_start_matches('/').to_owned();
        let (guide, links) = (read(&format!("{src}.rs")), read(&format!("{src}_links.md")));
        let links = Markdown::read(&links);
        let replaced = links.definitions();
        for path in paths {
            let file = path.rsplit('/').next().unwrap();
            assert!(
                guide.contains(&format!("include_str!(\"../docs/{file}\")")),
                "{path}: not in {src}.rs"
            );
            assert!(
                index.contains(&format!("`{path}`")) || path == "docs/README.md",
                "{path}: not in the index"
            );
            let text = read(&path);
            let page = Markdown::read(&text);
            let relative = |target: &&str| !target.starts_with('#') && !target.contains("://");
            assert_eq!(page.inline().find(relative), None, "{path}: write it as [text][name]");
            for (name, target) in page.definitions() {
                let is_replaced = replaced.contains_key(name) || !relative(&target);
                assert!(is_replaced, "{path}: [{name}] is not in {src}_links.md");
            }
        }
    }
}

/// Types and methods are renamed; the pages have to follow.
#[test]
fn names_in_pages_are_names_in_the_code() {
    let texts: Vec<String> = sources().iter().map(|path| read(path)).collect();
    let words =
        texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let words: HashSet<&str> = words.collect();
    let is_guide = |path: &&String| {
        let (file, package) = (path.rsplit('/').next().unwrap(), package_of(path));
        folder_of(path) == package && file == "README.md"
            || folder_of(path) == format!("{package}/docs").trim_start_matches('/')
    };
    for path in pages().iter().filter(is_guide) {
        let text = read(path);
        let page = Markdown::read(&text);
        let unknown: Vec<&str> = page.code_names().filter(|name| !words.contains(name)).collect();
        assert!(unknown.is_empty(), "{path}: {unknown:?}");
    }
}

#[test]
fn the_front_page_lists_every_module() {
    let lib = read("src/lib.rs");
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    for module in modules {
        let is_listed = lib
            .lines()
            .any(|line| line.starts_with("//! |") && line.contains(&format!("[`{module}`]")));
        assert!(is_listed, "{module} is not in the table of src/lib.rs");
    }
}

#[test]
fn the_front_page_lists_every_package_and_feature() {
    let (lib, manifest) = (read("src/lib.rs"), read("Cargo.toml"));
    let is_listed = |name: &str| {
        lib.lines().any(|line| line.starts_with("//! |") && line.contains(&format!("`{name}`")))
    };
    for entry in fs::read_dir(Path::new(ROOT).join("integrations")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = format!("tower-cupel-{name}");
        assert!(is_listed(&name), "{name} is not in the table of src/lib.rs");
    }
    let features = manifest.split("[features]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = features.lines().filter_map(|line| line.split_once(" = ["));
    for (name, _) in names.filter(|(name, _)| *name != "default" && !name.starts_with([' ', '#'])) {
        assert!(is_listed(name), "the feature {name} is not in the table of src/lib.rs");
    }
}

#[test]
fn a_public_type_has_a_name_of_its_own_in_the_workspace() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let is_published = |path: &String| {
        path.starts_with("src/") || path.starts_with("integrations/") && path.contains("/src/")
    };
    for path in sources().into_iter().filter(is_published) {
        for line in read(&path).lines() {
            let words: Vec<&str> = line.split_whitespace().take(3).collect();
            let ["pub", "struct" | "enum" | "trait" | "type", name] = words[..] else { continue };
            let end = name.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(name.len());
            // A macro writes the others.
            if end > 0 {
                places.entry(name[..end].to_owned()).or_default().push(path.clone());
            }
        }
    }
    let shared: Vec<_> = places.iter().filter(|(_, paths)| paths.len() > 1).collect();
    assert!(places.len() > 300 && shared.is_empty(), "{} types, {shared:#?}", places.len());
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= README_LINES, "{lines} lines");
}

fn sources() -> Vec<String> {
    let mut sources = Vec::new();
    for folder in ["src", "integrations", "examples", "benches", "tests", "dev"] {
        files(folder, &[".rs"], &mut sources);
    }
    sources
}

/// Text of a line of a doc comment.
fn doc_line(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

/// First lines of the doc comments of a file that begin with a riddle, by number.
fn riddle_starts(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let first = |at: usize| at == 0 || doc_line(lines[at - 1]).is_none();
    let starts = lines.iter().enumerate().filter(|(at, _)| first(*at));
    let docs = starts.filter_map(|(at, line)| Some((at + 1, doc_line(line)?)));
    let is_riddle = |text: &str| {
        let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        RIDDLE_STARTS.contains(&word)
    };
    docs.filter(|(_, text)| is_riddle(text)).collect()
}

#[test]
fn no_doc_comment_begins_with_a_riddle() {
    let mut found = Vec::new();
    for path in sources() {
        let text = read(&path);
        found.extend(
            riddle_starts(&text).into_iter().map(|(line, text)| format!("{path}:{line}: {text}")),
        );
    }
    assert!(
        found.is_empty(),
        "
{}",
        found.join(
            "
"
        )
    );
}

#[test]
fn only_the_first_line_of_a_doc_comment_counts() {
    let text = "/// Whether it is.\n/// That is all.\nfn f() {}\n/// Tokens of it.\n/// Where they are.\nfn g() {}";
    assert_eq!(riddle_starts(text), [(1, "Whether it is.")]);
}

/// A text as one line, in lower case, without the marks of comments.
fn flowing(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches(['/', '!', '*']).trim());
    lines.collect::<Vec<_>>().join(" ").to_lowercase()
}

#[test]
fn texts_have_no_phrase_that_readers_did_not_understand() {
    let mut paths = Vec::new();
    files("", &[".md", ".rs", ".html", ".js", ".py", ".mjs"], &mut paths);
    paths.retain(|path| path != "tests/docs.rs");
    let texts: Vec<String> = paths.iter().map(|path| flowing(&read(path))).collect();
    for riddle in RIDDLES {
        let found = paths.iter().zip(&texts).filter(|(_, text)| text.contains(riddle));
        let found: Vec<&String> = found.map(|(path, _)| path).collect();
        assert!(found.is_empty(), "{riddle:?} in {found:?}");
    }
}
