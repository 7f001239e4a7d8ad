//! Placers as data: a new one is declared, built and described here, and nowhere else in the spec.

use std::sync::Arc;

use super::conversion::Conversion;
use super::parts::parts;
use crate::config::{FromTree, Path};
use crate::placer::{AgePlacer, ChronologicalPlacer, Placer, UShapedPlacer};

parts! {
    /// A placer as data: `age`, `chronological` or `u_shaped`.
    #[derive(Copy, Eq)]
    pub enum PlacerSpec: "a placer" else Self::Chronological => {
        /// [`AgePlacer`](crate::AgePlacer).
        "age" Age,
        /// [`ChronologicalPlacer`](crate::ChronologicalPlacer).
        "chronological" Chronological,
        /// [`UShapedPlacer`](crate::UShapedPlacer).
        "u_shaped" UShaped,
    }
}

impl PlacerSpec {
    pub(super) fn build(self, _: &Path<'_>, _: &mut Conversion<'_>) -> Arc<dyn Placer> {
        match self {
            Self::Age => Arc::new(AgePlacer),
            Self::Chronological => Arc::new(ChronologicalPlacer),
            Self::UShaped => Arc::new(UShapedPlacer),
        }
    }

    /// The spec of a placer, or a stand-in after recording that it has none.
    pub(super) fn describe(
        placer: &dyn Placer,
        path: &Path<'_>,
        convert: &mut Conversion<'_>,
    ) -> Self {
        match placer.as_any() {
            Some(any) if any.is::<AgePlacer>() => Self::Age,
            Some(any) if any.is::<ChronologicalPlacer>() => Self::Chronological,
            Some(any) if any.is::<UShapedPlacer>() => Self::UShaped,
            _ => {
                convert.not_built_in(path, placer.name(), "placers");
                Self::stand_in(path)
            }
        }
    }
}
