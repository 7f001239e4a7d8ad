//! Finds a scorer that is part of its own dependency graph.

use std::collections::HashSet;

use super::Scorer;
use crate::error::CupelError;

type Identity = (usize, &'static str);

/// Walks the graph below `root`, by identity, and fails on a cycle.
///
/// Immutable scorers cannot form one; a custom scorer that receives its children late can.
pub(crate) fn detect_cycles(root: &dyn Scorer) -> Result<(), CupelError> {
    let mut walk = Walk::default();
    walk.visit(root);
    match walk.culprit {
        Some(scorer) => Err(CupelError::ScorerCycle { scorer }),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Walk {
    visited: HashSet<Identity>,
    path: HashSet<Identity>,
    culprit: Option<String>,
}

impl Walk {
    fn visit(&mut self, node: &dyn Scorer) {
        if self.culprit.is_some() {
            return;
        }
        let identity = node.identity();
        if self.path.contains(&identity) {
            self.culprit = Some(node.name().to_owned());
            return;
        }
        if !self.visited.insert(identity) {
            return;
        }
        self.path.insert(identity);
        node.visit_children(&mut |child| self.visit(child));
        self.path.remove(&identity);
    }
}
