//! Relevance of a text to the question.
//!
//! A [`Judge`] sees the question and the whole texts of the candidates, and gives each a [`Hint`]
//! between 0 and 1 with the words that led to it. [`ReflexiveScorer`](crate::ReflexiveScorer) reads
//! the hints, so relevance is one part of a score like any other. [`Lexical`] is the built-in judge:
//! it compares words, and needs no model and no network.
//!
//! ```
//! use cupel::relevance::{Candidate, Judge, Lexical, Question};
//!
//! let texts = [
//!     "The courier lost parcel INV-2041 near Lyon.",
//!     "Nice weather today.",
//!     "We refunded the order the week after.",
//! ];
//! let candidates: Vec<_> = texts.iter().map(|text| Candidate::new(text, 12)).collect();
//! let question = Question::new("Was invoice INV-2041 ever refunded?");
//!
//! let verdict = Lexical::new().judge(&question, &candidates).expect("words to go by");
//! let [parcel, weather, refund] = &verdict.hints[..] else { panic!() };
//! assert!(parcel.value() > refund.value() && refund.value() > weather.value());
//! assert_eq!(refund.words().collect::<Vec<_>>(), ["refunded"]);
//!
//! // What comes later is judged alone, by the same statistics.
//! let later = verdict.further(&Candidate::new("A refund was asked for.", 6));
//! assert!(later.value() > 0.0);
//! ```
//!
//! A judge of your own needs one method; [`judge_fn`] makes one of a function. [`Blend`] mixes two, so
//! that one who goes by meaning stands beside the one who goes by words; [`Vectors`] remembers what such
//! a judge has made of each text.

mod apply;
pub(crate) mod blend;
mod judge;
mod lexical;
mod neighbours;
mod pieces;
mod vectors;

pub use crate::model::Hint;
pub(crate) use apply::JudgeOutcome;
pub use apply::RelevanceReport;
pub use blend::{Blend, DEFAULT_BLEND_WEIGHT};
pub(crate) use judge::is_said;
pub use judge::{Candidate, Judge, JudgeFn, JudgeTask, Question, Verdict, judge_fn};
pub use lexical::{Corpus, Language, Lexical};
pub(crate) use lexical::{DefinitionIndex, is_informative};
pub(crate) use neighbours::lend_hints;
pub use pieces::pieces;
pub(crate) use vectors::dot;
pub use vectors::{Vectors, cosine};
