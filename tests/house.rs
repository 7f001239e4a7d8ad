//! The order of the rooms: what each part of the library may use, held against its sources.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "house/uses.rs"]
mod uses;

use std::fs;
use std::path::{Path, PathBuf};

use uses::{Use, uses};

/// The rooms, from the ground up. A room may use every room of the steps before its own.
const STEPS: [&[&str]; 9] = [
    &["error", "order", "names", "caught", "text_cache", "config"],
    &["model"],
    &["scorer", "slicer", "placer", "relevance", "tokens"],
    &["diagnostics"],
    &["pipeline"],
    &["policy", "analytics", "testing", "contract", "explain"],
    &["conversation"],
    &["gather"],
    &["layer"],
];

/// What a room may use of its own step, or, for `error`, which is one room with `model`, above it.
const NEIGHBOURS: [(&str, &str); 4] =
    [("error", "model"), ("config", "error"), ("analytics", "policy"), ("testing", "analytics")];

/// Where async code may live, and what it is written with.
const ASYNC_ROOMS: [&str; 2] = ["gather", "layer"];
const ASYNC_CRATES: [&str; 6] =
    ["async_trait", "futures", "pin_project", "pin_project_lite", "tokio", "tower"];

fn step(room: &str) -> Option<usize> {
    STEPS.iter().position(|rooms| rooms.contains(&room))
}

fn may_use(room: &str, other: &str) -> bool {
    room == other || step(other) < step(room) || NEIGHBOURS.contains(&(room, other))
}

/// What is wrong with a source file, by its path below `src`.
fn violations(path: &Path, text: &str) -> Vec<String> {
    let room = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
    let root = path == Path::new("lib.rs");
    if !root && step(room).is_none() {
        return vec![format!("{}: {room} is no room of the table", path.display())];
    }
    let is_async = ASYNC_ROOMS.contains(&room);
    let wrong = |found: &Use| match found {
        Use::Room(other) if step(other).is_none() => {
            Some(format!("uses {other} of the crate's root: name the room it comes from"))
        }
        Use::Room(other) if !may_use(room, other) => Some(format!("{room} may not use {other}")),
        Use::Crate(name) if !is_async && ASYNC_CRATES.contains(&name.as_str()) => {
            Some(format!("{name} belongs in {} only", ASYNC_ROOMS.join(" and ")))
        }
        Use::Feature(name) if !root && !is_async && name == "layer" => {
            Some("is compiled differently for the feature layer".to_owned())
        }
        _ => None,
    };
    // The root names every room, and nothing of it is used by them.
    let found =
        uses(path, text).into_iter().filter(|found| !(root && matches!(found, Use::Room(_))));
    found
        .filter_map(|found| wrong(&found))
        .map(|why| format!("{}: {why}", path.display()))
        .collect()
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

#[test]
fn the_rooms_use_each_other_in_one_direction() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 100, "only {} files in {}", files.len(), src.display());
    let mut wrong: Vec<String> = files
        .iter()
        .flat_map(|file| {
            violations(file.strip_prefix(&src).unwrap(), &fs::read_to_string(file).unwrap())
        })
        .collect();
    wrong.sort();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
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
        ("slicer/mod.rs", "fn f() -> crate::pipeline::Pipeline { todo!() }"),
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
