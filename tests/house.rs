//! The order of the rooms: what each part of the library may use, held against its sources.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "house/cycles.rs"]
mod cycles;
#[path = "house/uses.rs"]
mod uses;

use std::fs;
use std::path::{Path, PathBuf};

use cycles::Files;
use uses::Uses;

/// The rooms, from the ground up. A room may use every room of the steps before its own.
const STEPS: [&[&str]; 10] = [
    &["error", "names", "caught", "text_cache", "config"],
    &["model"],
    &["scorer", "slicer", "placer", "relevance", "tokens", "standing"],
    &["diagnostics", "tool_choice"],
    &["pipeline"],
    &["policy", "analytics", "testing", "contract", "explain"],
    &["conversation"],
    &["gather"],
    &["layer"],
    &["guide"],
];

/// Rooms of the same step that a room may use; `error` and `model` may use each other.
const NEIGHBOURS: [(&str, &str); 4] =
    [("error", "model"), ("config", "error"), ("analytics", "policy"), ("testing", "analytics")];

/// Rooms with async code, and its crates.
const ASYNC_ROOMS: [&str; 2] = ["gather", "layer"];
const ASYNC_CRATES: [&str; 6] =
    ["async_trait", "futures", "pin_project", "pin_project_lite", "tokio", "tower"];

fn step(room: &str) -> Option<usize> {
    STEPS.iter().position(|rooms| rooms.contains(&room))
}

fn may_use(room: &str, other: &str) -> bool {
    room == other || step(other) < step(room) || NEIGHBOURS.contains(&(room, other))
}

/// Violations in a source file, by its path below `src`.
fn violations(path: &Path, text: &str) -> Vec<String> {
    let room = room(path);
    let room = room.as_str();
    let root = path == Path::new("lib.rs");
    if !root && step(room).is_none() {
        return vec![format!("{}: {room} is no room of the table", path.display())];
    }
    let is_async = ASYNC_ROOMS.contains(&room);
    let uses = Uses::read(path, text);
    let of_path = |first: &str, from_root: bool| match from_root {
        // The root names every room, and nothing of it is used by them.
        true if root => None,
        true if step(first).is_none() => {
            Some(format!("uses {first} of the crate's root: name the room it comes from"))
        }
        true if may_use(room, first) => None,
        true => Some(format!("{room} may not use {first}")),
        false if is_async || !ASYNC_CRATES.contains(&first) => None,
        false => Some(format!("{first} belongs in {} only", ASYNC_ROOMS.join(" and "))),
    };
    let of_paths =
        uses.all_paths().filter_map(|written| of_path(written.names.first()?, written.from_root));
    let of_features = uses
        .features
        .iter()
        .filter(|name| !root && !is_async && *name == "layer")
        .map(|_| "is compiled differently for the feature layer".to_owned());
    of_paths.chain(of_features).map(|why| format!("{}: {why}", path.display())).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The source files of a crate of the workspace: their paths below its `src`, and their texts.
fn sources_of(package: &str) -> Vec<(PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(package).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    files.sort();
    let read = |file: &PathBuf| {
        (file.strip_prefix(&src).unwrap().to_owned(), fs::read_to_string(file).unwrap())
    };
    files.iter().map(read).collect()
}

fn cycles(files: &[(PathBuf, String)], room: impl Fn(&Path) -> String) -> Vec<String> {
    Files::read(files.iter().map(|(path, text)| (path.as_path(), text.as_str()))).cycles(room)
}

/// The first folder of a path below `src`, or the file that stands there itself.
fn room(path: &Path) -> String {
    path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The names of the integrations.
fn integrations() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let crates = names.filter(|entry| entry.path().join("src").is_dir());
    crates.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn the_rooms_use_each_other_in_one_direction() {
    let files = sources_of("");
    assert!(files.len() > 100, "only {} files", files.len());
    let wrong: Vec<String> = files.iter().flat_map(|(path, text)| violations(path, text)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_files_of_a_room_do_not_use_each_other_in_a_circle() {
    let wrong = cycles(&sources_of(""), room);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_files_of_an_integration_do_not_use_each_other_in_a_circle() {
    for name in integrations() {
        let package = format!("integrations/{name}");
        let wrong = cycles(&sources_of(&package), |_| String::new());
        assert!(wrong.is_empty(), "{package}:\n{}", wrong.join("\n"));
    }
}

/// A file: its path below `src`, and its text.
type Planted = (&'static str, &'static str);

#[test]
fn a_planted_cycle_is_found_by_its_files() {
    let reexports = ("gather/mod.rs", "mod run; mod source; pub use run::Run; pub use source::*;");
    let cases: [(&[Planted], &[&str]); 6] = [
        // Both look through the same re-exports.
        (
            &[
                reexports,
                ("gather/run.rs", "use super::Source; pub struct Run(Source);"),
                ("gather/source.rs", "use crate::gather::Run; pub struct Source(Box<Run>);"),
            ],
            &["gather/run.rs uses Source of gather/source.rs, \
               gather/source.rs uses Run of gather/run.rs"],
        ),
        // A path in the code, and a re-export under another name.
        (
            &[
                ("layer/mod.rs", "mod call; mod log; pub(crate) use call::Call as One;"),
                ("layer/call.rs", "pub struct Call; fn f() { super::log::write() }"),
                ("layer/log.rs", "use super::One; pub fn write() {}"),
            ],
            &["layer/call.rs uses write of layer/log.rs, layer/log.rs uses Call of layer/call.rs"],
        ),
        // A `mod.rs` with items of its own is a file like any other.
        (
            &[
                ("scorer/mod.rs", "mod parts; pub trait Scorer { fn f() { parts::leaves() } }"),
                ("scorer/parts.rs", "use super::Scorer; pub(super) fn leaves() {}"),
            ],
            &["scorer/mod.rs uses leaves of scorer/parts.rs, \
               scorer/parts.rs uses Scorer of scorer/mod.rs"],
        ),
        // It uses what it re-exports, in a derive's text, too; nested modules are of the room.
        (
            &[
                ("policy/mod.rs", "mod spec; pub use spec::Spec; pub struct Policy(Spec);"),
                ("policy/spec/mod.rs", "mod a; pub use a::Spec;"),
                ("policy/spec/a.rs", r#"#[serde(with = "super::super::Policy")] pub struct Spec;"#),
            ],
            &["policy/mod.rs uses Spec of policy/spec/a.rs, \
               policy/spec/a.rs uses Policy of policy/mod.rs"],
        ),
        // The whole way round, through an imported module.
        (
            &[
                ("layer/mod.rs", "mod a; mod b; mod c;"),
                ("layer/a.rs", "use super::b; pub struct A; fn f() { b::new() }"),
                ("layer/b.rs", "use super::{c::{self, C}}; pub fn new() {}"),
                ("layer/c.rs", "use crate::{layer::{a::A}}; pub struct C;"),
            ],
            &["layer/a.rs uses new of layer/b.rs, layer/b.rs uses C of layer/c.rs, \
               layer/c.rs uses A of layer/a.rs"],
        ),
        // Re-exports, unit tests, docs and other rooms make no cycle.
        (
            &[
                ("layer/mod.rs", "mod call; pub use call::Call; pub trait Adapter {}"),
                (
                    "layer/call.rs",
                    "use super::Adapter; /// [`super::log`]\npub struct Call; \
                     #[cfg(test)] mod tests { use crate::layer::log::Log; }",
                ),
                ("layer/log.rs", "use super::*; pub struct Log(Call);"),
                ("gather/mod.rs", "use crate::layer::Call; pub struct Gather;"),
                ("layer/hooks.rs", "use crate::gather::Gather; use tokio::call; use futures;"),
            ],
            &[],
        ),
    ];
    for (files, expected) in cases {
        let files = files.iter().map(|(path, text)| (Path::new(path), *text));
        assert_eq!(Files::read(files).cycles(room), expected);
    }
}

/// Most lines of a source file: beyond it there is more than one idea in it.
const MOST_LINES: usize = 500;

#[test]
fn no_source_file_is_longer_than_it_should_be() {
    let packages = integrations().into_iter().map(|name| format!("integrations/{name}/"));
    let long: Vec<String> = std::iter::once(String::new())
        .chain(packages)
        .flat_map(|package| {
            let files = sources_of(&package).into_iter();
            files.map(move |(path, text)| (format!("{package}src/{}", path.display()), text))
        })
        .filter(|(_, text)| text.lines().count() > MOST_LINES)
        .map(|(path, text)| format!("{path}: {} lines", text.lines().count()))
        .collect();
    assert!(long.is_empty(), "more than {MOST_LINES} lines:\n{}", long.join("\n"));
}

/// The paths that a page names between backticks.
fn paths_in(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| text.contains('/') && !text.contains([' ', '\n']);
    quoted.filter(is_path).collect()
}

#[test]
fn the_page_on_architecture_names_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let paths = paths_in(&page);
    assert!(paths.len() > 50, "only {} paths", paths.len());
    let missing: Vec<&str> = paths.into_iter().filter(|path| !root.join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let unnamed = STEPS.iter().flat_map(|rooms| rooms.iter()).find(|room| {
        !page.contains(&format!("`src/{room}/`")) && !page.contains(&format!("`src/{room}.rs`"))
    });
    assert_eq!(unnamed, None, "a room that the page does not name");
}

#[test]
fn neighbours_do_not_use_each_other_in_a_circle() {
    let of_one_step = NEIGHBOURS.iter().filter(|(room, other)| step(room) == step(other));
    for (room, _) in of_one_step {
        let mut reached = vec![*room];
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            reached.extend(NEIGHBOURS.iter().filter(|(from, _)| *from == at).map(|(_, to)| to));
            assert!(!reached[1..].contains(room), "{room} uses itself by way of {at}");
            next += 1;
        }
    }
}

#[test]
fn a_planted_violation_is_found() {
    let cases = [
        ("slicer/greedy.rs", "use crate::diagnostics::SelectionReport;"),
        ("slicer/greedy.rs", "use crate::{model::ContextItem, diagnostics::{SelectionReport}};"),
        ("slicer/mod.rs", "fn f() -> crate::pipeline::Pipeline { loop {} }"),
        ("slicer/mod.rs", "use super::pipeline::Pipeline;"),
        ("slicer/stream/item.rs", "use super::super::super::pipeline;"),
        ("slicer/greedy.rs", "use super::{Slicer, super::pipeline::Pipeline};"),
        ("slicer/greedy.rs", "mod inner { use super::super::super::pipeline::Pipeline; }"),
        ("model/item.rs", r#"#[serde(with = "crate::diagnostics::float")] struct Item;"#),
        ("error.rs", "use crate::contract::ContractError;"),
        ("conversation/unit.rs", "use crate::layer::Placed;"),
        ("scorer/mod.rs", "use crate::slicer::Slicer;"),
        ("policy/mod.rs", "use crate::analytics::budget_curve;"),
        ("scorer/mod.rs", "use crate::ContextItem;"),
        ("scorer/mod.rs", "use crate::*;"),
        ("pipeline/mod.rs", "async fn f() { tokio::task::yield_now().await }"),
        ("conversation/unit.rs", "use ::futures::Stream;"),
        ("pipeline/mod.rs", r#"#[cfg(feature = "layer")] fn f() {}"#),
        ("lib.rs", "pub use tower::Service;"),
        ("kitchen/mod.rs", ""),
    ];
    for (path, text) in cases {
        let found = violations(Path::new(path), text);
        assert_eq!(found.len(), 1, "{path}: {text}: {found:?}");
    }
}

#[test]
fn what_is_allowed_is_not_called_a_violation() {
    let cases = [
        ("layer/service.rs", "use crate::gather::Source; use tower::Service; use tokio::time;"),
        ("slicer/greedy.rs", "use crate::model::{ContextItem, ScoredItem}; use super::Slicer;"),
        ("slicer/stream/item.rs", "use super::super::greedy::density;"),
        ("slicer/greedy.rs", "pub(crate) fn f() {} pub(in crate::slicer) fn g() {}"),
        ("slicer/greedy.rs", "/// See [`crate::layer`].\n// use crate::layer::X;\nfn f() {}"),
        ("slicer/greedy.rs", "#[cfg(test)] mod tests { use crate::Pipeline; use tokio::test; }"),
        ("slicer/greedy.rs", "#[cfg(test)]\nuse crate::layer::X;\nfn f() {}"),
        ("slicer/greedy.rs", r#"const URL: &str = "http://tokio::rs"; fn f(tower: i64) {}"#),
        ("analytics/sensitivity.rs", "use crate::policy::Policy;"),
        ("error.rs", "use crate::model::ContextKind;"),
    ];
    for (path, text) in cases {
        assert_eq!(violations(Path::new(path), text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn the_root_exports_at_most_thirty_names() {
    let lib = std::fs::read_to_string("src/lib.rs").unwrap();
    let exports = lib.split("pub use ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let names = exports.flat_map(|export| export.rsplit("::").next().unwrap().split(','));
    let names: Vec<&str> = names.map(|name| name.trim_matches(['{', '}', ' ', '\n'])).collect();
    let count = names.iter().filter(|name| !name.is_empty()).count();
    assert!((1..=30).contains(&count), "{count} names: {names:?}");
}
