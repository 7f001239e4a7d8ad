//! The parts of the agent loop: its tools, its model, its history, and the eyes on all of them.

pub(crate) mod audit;
mod calculator;
pub(crate) mod history;
pub(crate) mod model;
mod question;
mod reading;
pub(crate) mod tools;
pub(crate) mod view;
mod words;
