//! Asks a question of a few sentences, by words, by meaning and by both.
//!
//! `cargo run -p tower-cupel-model2vec --example meaning -- <folder of a model> ["a question"]`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use cupel::relevance::{Blend, Candidate, Judge, Lexical, Question};
use cupel_model2vec::Model2Vec;

const SENTENCES: [&str; 6] = [
    "We have an automobile for hire at the station.",
    "The invoice was paid in March.",
    "Where the path forks, keep left.",
    "You can leave your luggage with the porter.",
    "The vehicle needs a new tyre.",
    "Rent is due on the first of the month.",
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!(
            "which model? name a folder with tokenizer.json, model.safetensors and config.json"
        );
        return ExitCode::FAILURE;
    };
    let model = match Model2Vec::load(&folder) {
        Ok(model) => model,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let question = arguments.next().unwrap_or_else(|| "Where can I rent a car?".to_owned());
    println!("{question}\n\nwords  meaning  both");
    let both = Blend::new(Lexical::new(), model.clone());
    let judges: [&dyn Judge; 3] = [&Lexical::new(), &model, &both];
    let candidates = SENTENCES.map(|text| Candidate::new(text, 10));
    let question = Question::new(question);
    let verdicts = judges.map(|judge| judge.judge(&question, &candidates));
    for (place, sentence) in SENTENCES.iter().enumerate() {
        let [words, meaning, both] = verdicts.each_ref().map(|verdict| {
            let hint = verdict.as_ref().and_then(|verdict| verdict.hints.get(place));
            hint.map_or(0.0, cupel::relevance::Hint::value)
        });
        println!(" {words:.2}     {meaning:.2}  {both:.2}  {sentence}");
    }
    ExitCode::SUCCESS
}
