//! Mutated requests of the three protocols, and checks of the requests that are sent for them.

pub mod mutation;
pub mod protocol;
pub mod recorded;
pub mod soundness;
