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
//! Then the user goes on asking. For every turn it prints how many messages are in each part of the plan,
//! whether the request begins like the previous one, how many tokens a prompt cache can know, what was
//! recalled from before the cut and from the index, and the sums at the end.

#![allow(clippy::print_stdout)]

mod handbook;
mod logbook;
mod model;
mod tools;
mod view;

use std::time::Duration;

use cupel::Policy;
use cupel::gather::Source;
use cupel::layer::CupelLayer;
use cupel::model::{Grid, TurnPlan};
use cupel_rig::source::{IndexSource, ScoreScale};
use cupel_rig::{AgentBuilderExt as _, RigAdapter};
use rig_agent::AgentBuilder;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

const QUESTION: &str = "How many bottles did we ship in crates in March?";

/// Further questions of the user, and the expected answers.
const FURTHER: [(&str, &str); 3] = [
    ("Who signs the count when the books are closed?", "two people"),
    ("Where do the boats leave from?", "quay four"),
    ("In all, how many bottles have we shipped, in how many crates?", "bottles"),
];

/// Tokens that the model reads and writes together.
const WINDOW: u32 = 800;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // In so small a window a page of the logbook is longer than the eighth of it that results get, and
    // the grid's lines would lie so close that every page crosses one.
    let plan = TurnPlan::new().excerpt(0.25).faded(0.25).grid(Grid::Tokens(256));
    let policy = Policy::tool_use().with_plan(plan);
    let turns = view::Turns::default();
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
            .deadline(Duration::from_millis(200)),
        )
        .on_selection(turns.print())
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

    let mut history = response.messages().to_vec();
    for (question, expected) in FURTHER {
        println!("\n{question}");
        let further = agent.prompt(question).history(history.clone()).run().await?;
        println!("\nanswer: {}", further.output());
        if !further.output().contains(expected) {
            return Err(format!("the right answer has {expected:?} in it").into());
        }
        history.extend(further.messages().iter().cloned());
    }
    turns.sum();

    // The logbook, added up without any model.
    let bottles = logbook::crates_shipped() * handbook::BOTTLES_PER_CRATE;
    if !response.output().contains(&bottles.to_string()) {
        return Err(format!("the right answer is {bottles}").into());
    }
    Ok(())
}
