//! The table `limits`.

use cupel::config::{Fields, Path, Tree};

use super::mistakes::Mistakes;
use crate::config::Limits;

pub(super) fn read(tree: Option<Tree>, path: &Path<'_>, mistakes: &mut Mistakes) -> Limits {
    let mut limits = Limits::default();
    let Some(mut fields) = tree.and_then(|tree| Fields::open(tree, path, mistakes, "a table"))
    else {
        return limits;
    };
    for (key, limit) in [
        ("body_bytes", &mut limits.body_bytes),
        ("depth", &mut limits.depth),
        ("messages", &mut limits.messages),
        ("waiting_bytes", &mut limits.waiting_bytes),
        ("connections", &mut limits.connections),
    ] {
        *limit = fields.or(key, *limit);
    }
    for (key, limit) in [
        ("body_seconds", &mut limits.body_time),
        ("selection_seconds", &mut limits.selection_time),
        ("answer_seconds", &mut limits.answer_time),
        ("stall_seconds", &mut limits.stall_time),
        ("shutdown_seconds", &mut limits.shutdown_time),
    ] {
        *limit = fields.or(key, *limit);
    }
    fields.close();
    for (key, limit) in [
        ("body_bytes", limits.body_bytes),
        ("depth", limits.depth),
        ("messages", limits.messages),
        ("connections", limits.connections),
    ] {
        if limit == 0 {
            mistakes.add(&path.key(key), "must be at least 1, got 0");
        }
    }
    for (key, limit) in [
        ("body_seconds", limits.body_time),
        ("selection_seconds", limits.selection_time),
        ("answer_seconds", limits.answer_time),
        ("stall_seconds", limits.stall_time),
    ] {
        if limit.is_zero() {
            mistakes.add(&path.key(key), "must be more than 0, got 0");
        }
    }
    if limits.waiting_bytes < limits.body_bytes {
        mistakes.add(
            &path.key("waiting_bytes"),
            format!(
                "must be at least body_bytes, which is {}, got {}",
                limits.body_bytes, limits.waiting_bytes
            ),
        );
    }
    limits
}
