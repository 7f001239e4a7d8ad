//! Vectors and folders that must fail: the runner is worth nothing if it cannot.

use std::process::Command;

use libtest_mimic::Trial;

use super::run::{UnknownKeys, vector};

/// The part of a broken vector's message that says what is wrong, and the vector.
const BROKEN: [(&str, &str, &str); 10] = [
    ("invalid TOML", "not valid TOML", "[test\nname ="),
    ("no test table", "test is missing", "[budget]\ntarget_tokens = 1\n"),
    (
        "an unknown stage",
        "unknown stage \"tasting\"",
        "[test]\nname = \"x\"\nstage = \"tasting\"\n",
    ),
    (
        "an unknown key",
        "cannot honour: items[0].flavour",
        "[test]\nname = \"x\"\nstage = \"placing\"\nplacer = \"u-shaped\"\n\
         [[items]]\ncontent = \"a\"\ntokens = 1\nscore = 0.5\nflavour = \"mint\"\n\
         [expected]\nordered_contents = [\"a\"]\n",
    ),
    (
        "a wrong order",
        "order: expected",
        "[test]\nname = \"x\"\nstage = \"placing\"\nplacer = \"u-shaped\"\n\
         [[items]]\ncontent = \"a\"\ntokens = 1\nscore = 0.5\n\
         [[items]]\ncontent = \"b\"\ntokens = 1\nscore = 0.6\n\
         [expected]\nordered_contents = [\"a\", \"b\"]\n",
    ),
    (
        "a wrong score",
        "\"a\" alone: expected 0.6",
        "[test]\nname = \"x\"\nstage = \"scoring\"\nscorer = \"reflexive\"\n\
         [[items]]\ncontent = \"a\"\ntokens = 1\nfutureRelevanceHint = 0.5\n\
         [[expected]]\ncontent = \"a\"\nscore_approx = 0.6\n",
    ),
    (
        "no expectation",
        "expects nothing",
        "[test]\nname = \"x\"\nstage = \"scoring\"\nscorer = \"reflexive\"\n\
         [[items]]\ncontent = \"a\"\ntokens = 1\n",
    ),
    (
        "a missing construction error",
        "expected a construction error",
        "[test]\nname = \"x\"\nstage = \"scoring\"\nscorer = \"reflexive\"\n\
         expect_construction_error = true\n",
    ),
    (
        "a wrong selection",
        "selected (in any order)",
        "[test]\nname = \"x\"\nstage = \"slicing\"\nslicer = \"greedy\"\n\
         [budget]\ntarget_tokens = 10\n\
         [[scored_items]]\ncontent = \"a\"\ntokens = 11\nscore = 0.5\n\
         [expected]\nselected_contents = [\"a\"]\n",
    ),
    (
        "a wrong reason",
        "exclusion_reason: expected \"Filtered\", got \"BudgetExceeded\"",
        "[test]\nname = \"x\"\nstage = \"pipeline\"\n\
         [budget]\nmax_tokens = 10\ntarget_tokens = 10\n\
         [config]\nslicer = \"greedy\"\nplacer = \"u-shaped\"\n\
         [[config.scorers]]\ntype = \"reflexive\"\nweight = 1.0\n\
         [[items]]\ncontent = \"a\"\ntokens = 11\n\
         [[expected.diagnostics.excluded]]\ncontent = \"a\"\nscore_approx = 0.0\n\
         exclusion_reason = \"Filtered\"\n",
    ),
];

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(name, message, text): (&'static str, &'static str, &'static str)| {
        Trial::test(format!("runner: {name} fails"), move || {
            match vector(text, UnknownKeys::Fail) {
                Ok(_) => Err("the broken vector passed".into()),
                Err(problem) if problem.contains(message) => Ok(()),
                Err(problem) => Err(format!("expected {message:?} in {problem:?}").into()),
            }
        })
    };
    let mut trials: Vec<Trial> = BROKEN.into_iter().map(trial).collect();
    trials.push(Trial::test("runner: an unknown key is ignored unless asked for", || {
        let (_, _, text) = BROKEN[UNKNOWN_KEY];
        let ignored = vector(text, UnknownKeys::Warn)?;
        if ignored == ["items[0].flavour"] { Ok(()) } else { Err(format!("{ignored:?}").into()) }
    }));
    trials.push(Trial::test("runner: a wrong folder fails whatever the filter", || {
        let mut runner = Command::new(std::env::current_exe()?);
        let runner = runner.env("CUPEL_CONFORMANCE_DIR", "no/such/folder").arg("no such trial");
        let output = runner.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && said.contains("cannot read no/such/folder") {
            Ok(())
        } else {
            Err(format!("{}: {said}", output.status).into())
        }
    }));
    trials
}

/// Position of the vector with an unknown key.
const UNKNOWN_KEY: usize = 3;
