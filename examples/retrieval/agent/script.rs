//! Words of the user, turn by turn, and facts that the agent knows from before.

use cupel::gather::Source;
use cupel::slicer::KnapsackSlice;

use super::calculator::show;

/// Notes of an earlier session.
pub(crate) const MEMORY: [&str; 3] = [
    "Heron runs in 2 regions, with 3 nodes in each.",
    "Changes of the Heron settings are signed off on Tuesdays.",
    "The user likes short answers.",
];

/// One thing the user says.
pub(crate) struct Turn {
    pub(crate) says: &'static str,
    /// Text that the answer must contain; empty if only the documentation has it.
    pub(crate) expects: String,
    /// True if the answer was said before the cut and nowhere else.
    pub(crate) from_long_ago: bool,
}

/// The whole conversation.
///
/// What the user said early and the constants of the library itself are what answers are checked
/// for: nobody's edit of the documentation changes these.
pub(crate) fn turns() -> Vec<Turn> {
    let limit = Source::<()>::DEFAULT_LIMIT as f64;
    let table = KnapsackSlice::MAX_CELLS as f64;
    let checked = |says, value: f64| turn(says, format!("= {}", show(value)));
    let long_ago = |turn: Turn| Turn { from_long_ago: true, ..turn };
    let told = |says, expects: &str| turn(says, expects.to_owned());
    vec![
        told("Our support desk is called Heron. The source count of Heron is 12.", "Noted"),
        told("In the busiest hour Heron gets 45 calls a second.", "Noted"),
        checked(
            "What is the source count of Heron times the default item limit of a source?",
            12.0 * limit,
        ),
        told("Tell me about deadlines and failures.", ""),
        told("How many regions does Heron run in?", "2 regions"),
        checked("What is (17 + 25) * 3 - 10 / 4?", 123.5),
        checked("What is that minus 23.5?", 100.0),
        told("Tell me about excerpts and quotations.", ""),
        checked(
            "What is the largest knapsack table divided by the default item limit of a source?",
            table / limit,
        ),
        told("Tell me about quotas, placers and streams.", ""),
        told("What is 2 ^ 10? And what is 100 divided by (7 - 7)?", "division by zero"),
        told("Which colour has the logo of Heron?", "I cannot tell"),
        told("Tell me about tokenizers, encodings and caches.", ""),
        long_ago(told("How many calls a second does Heron get in the busiest hour?", "45 calls")),
        told("Tell me about judges and languages.", ""),
        told("What did I ask first?", ""),
        told("Tell me about margins, windows and reserves.", ""),
        long_ago(checked(
            "Once more: what is the source count of Heron times the default item limit of a source?",
            12.0 * limit,
        )),
    ]
}

fn turn(says: &'static str, expects: String) -> Turn {
    Turn { says, expects, from_long_ago: false }
}
