//! Rules of the specification that no conformance vector can express.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod spec_rules {
    mod ceiling;
    pub(crate) mod common;
    mod count_slicers;
    mod data_model;
    mod diagnostics;
    mod pipeline;
    mod report;
    mod scorers;
    mod slicers;
    mod wire;
}
