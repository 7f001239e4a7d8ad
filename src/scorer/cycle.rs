//! Finds a scorer that is part of its own dependency graph.

use std::collections::HashSet;

use super::Scorer;
use crate::error::{ConfigError, CupelError};

type Identity = (usize, &'static str);

/// Levels of scorers inside each other. Scoring and dropping them takes stack for every level.
const DEEPEST: usize = 256;

/// Walks the graph below `root`, by identity, and fails on a cycle or where it
/// is too deep.
///
/// Immutable scorers cannot form one; a custom scorer that receives its children late can.
pub(crate) fn detect_cycles(root: &dyn Scorer) -> Result<(), CupelError> {
    let mut walk = Walk::default();
    walk.visit(root);
    match walk.culprit {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Walk {
    visited: HashSet<Identity>,
    path: HashSet<Identity>,
    culprit: Option<CupelError>,
}

impl Walk {
    fn visit(&mut self, node: &dyn Scorer) {
        if self.culprit.is_some() {
            return;
        }
        let identity = node.identity();
        if self.path.contains(&identity) {
            self.culprit = Some(CupelError::ScorerCycle { scorer: node.name().to_owned() });
            return;
        }
        if self.path.len() >= DEEPEST {
            let message = format!("nested more than {DEEPEST} levels deep, the limit is {DEEPEST}");
            let error = ConfigError::new(node.name(), "scorer", message);
            self.culprit = Some(CupelError::ScorerConfig(error));
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
