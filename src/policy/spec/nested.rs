//! A part inside another part, up to a limit of depth.

use std::fmt;
use std::ops::Deref;

use serde::ser::Error;
use serde::{Serialize, Serializer};

use super::conversion::Conversion;
use crate::config::limits::DEPTH;
use crate::config::{FromTree, Path, Report, Tree};

/// A scorer or slicer inside another one, made with `from` or `into`.
///
/// Parts nest as deep as a file may: 64 levels of tables and lists, of which the policy takes two. A
/// part that would go deeper is left out, and [`validate`](crate::PolicySpec::validate),
/// [`to_policy`](crate::PolicySpec::to_policy) and every writer return an error that says so.
///
/// ```
/// use cupel::policy::spec::{NestedSpec, ScorerSpec};
///
/// let nested = NestedSpec::from(ScorerSpec::Recency);
/// assert_eq!(*nested, ScorerSpec::Recency);
/// ```
#[derive(Clone, PartialEq)]
pub struct NestedSpec<T> {
    /// The part, or a stand-in for one that is too deep.
    part: Box<T>,
    /// Levels of tables and lists.
    depth: usize,
    too_deep: bool,
}

/// A part that may have others inside.
pub(super) trait NestedPart: FromTree {
    /// The levels of tables and lists that it takes in a file.
    fn depth(&self) -> usize;
}

/// Levels that the policy's own tables leave.
const MOST: usize = DEPTH - 2;

impl<T> NestedSpec<T> {
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    fn problem() -> String {
        format!("nested more than {MOST} levels deep, the limit is {MOST}")
    }

    /// A part inside another, after noting it if it is too deep.
    pub(super) fn noted(part: T, path: &Path<'_>, convert: &mut Conversion<'_>) -> Self
    where
        T: NestedPart,
    {
        let nested = Self::from(part);
        nested.open(path, convert);
        nested
    }

    /// The part, after noting it if it is too deep.
    pub(super) fn open(&self, path: &Path<'_>, convert: &mut Conversion<'_>) -> &T {
        if self.too_deep {
            convert.add(path, Self::problem());
        }
        &self.part
    }
}

#[allow(private_bounds)] // the parts are those of this module
impl<T: NestedPart> From<T> for NestedSpec<T> {
    fn from(part: T) -> Self {
        let depth = part.depth();
        if depth >= MOST {
            let part = Box::new(T::stand_in(&Path::Root));
            return Self { depth: part.depth(), part, too_deep: true };
        }
        Self { part: Box::new(part), depth, too_deep: false }
    }
}

impl<T> Deref for NestedSpec<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.part
    }
}

impl<T: fmt::Debug> fmt::Debug for NestedSpec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.too_deep { f.write_str(&Self::problem()) } else { self.part.fmt(f) }
    }
}

impl<T: Serialize> Serialize for NestedSpec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.too_deep {
            return Err(S::Error::custom(Self::problem()));
        }
        self.part.serialize(serializer)
    }
}

impl<T: NestedPart> FromTree for NestedSpec<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        T::from_tree(tree, path, report).map(Self::from)
    }

    fn stand_in(path: &Path<'_>) -> Self {
        T::stand_in(path).into()
    }
}
