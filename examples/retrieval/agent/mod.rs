//! The parts of the agent loop: its tools, its model, its history, and the eyes on all of them.

pub(crate) mod audit;
mod bill;
mod calculator;
mod checks;
pub(crate) mod frame;
pub(crate) mod history;
pub(crate) mod model;
mod question;
mod reading;
pub(crate) mod script;
mod sight;
pub(crate) mod tools;
pub(crate) mod view;
mod words;
