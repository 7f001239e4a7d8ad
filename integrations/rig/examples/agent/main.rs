//! A rig agent that reads more than its model's window holds.
//!
//! ```sh
//! cargo run -p tower-cupel-rig --example agent
//! ```
//!
//! A bookkeeper agent adds up what a warehouse shipped, page by page, with real tools, and looks
//! up what it needs in a vector index. Its model is a small program that knows nothing but what is
//! in the messages it gets, so what is dropped is gone for it. No key, no network.
//!
//! For every turn it prints what was sent, what was left out, and why.

#![allow(clippy::print_stdout)]

mod handbook;
mod logbook;
mod model;
mod tools;
mod view;

use std::time::Duration;

use cupel::gather::Source;
use cupel::layer::CupelLayer;
use cupel::{
    ChronologicalPlacer, CompositeScorer, GreedySlice, Policy, RecencyScorer, ReflexiveScorer,
};
use cupel_rig::source::{IndexSource, ScoreScale};
use cupel_rig::{AgentBuilderExt as _, RigAdapter};
use rig_agent::AgentBuilder;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

const QUESTION: &str = "How many bottles did we ship in crates in March?";

/// What the model reads and writes at once.
const WINDOW: u32 = 800;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // What was found for the question weighs more than what was read some turns ago.
    let policy = Policy::builder()
        .scorer(
            CompositeScorer::builder().add(ReflexiveScorer, 2.0).add(RecencyScorer, 1.0).build()?,
        )
        .slicer(GreedySlice)
        .placer(ChronologicalPlacer)
        .build()?;
    let adapter = RigAdapter::for_model("local/bookkeeper");
    let layer = CupelLayer::builder()
        .budget(adapter.window().tokens(WINDOW.into()).default_output(100))
        .adapter(adapter)
        .policy(policy)
        .source(
            Source::new(
                "handbook",
                IndexSource::new(handbook::index(), ScoreScale::CosineSimilarity).samples(3),
            )
            .deadline(Duration::from_millis(200))
            .optional(),
        )
        .on_selection(view::turns())
        .build()?;
    let model = model::bookkeeper(WINDOW.into());
    let builder = || {
        AgentBuilder::new(model.clone())
            .preamble("You keep the books of a warehouse. Read every page before you answer.")
            .tool(tools::ReadPage)
            .tool(tools::Multiply)
    };

    println!("{QUESTION}\n");
    let whole = builder().build().prompt(QUESTION).max_turns(20).run().await;
    match whole {
        Ok(response) => println!("without the layer: {}", response.output()),
        Err(error) => println!("without the layer the run fails: {error}"),
    }

    println!("\nwith it:");
    let agent = builder().build_through(layer, model.clone());
    let response = agent.prompt(QUESTION).max_turns(20).run().await?;
    println!("\nanswer: {}", response.output());
    println!("the agent still remembers all {} messages of the run", response.messages().len());

    // The logbook, added up without any model.
    let bottles = logbook::crates_shipped() * handbook::BOTTLES_PER_CRATE;
    if !response.output().contains(&bottles.to_string()) {
        return Err(format!("the right answer is {bottles}").into());
    }
    Ok(())
}
