//! Policies with a question, without a layer.

use cupel::placer::AgePlacer;
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Hint, Judge, Lexical, Question, Verdict, judge_fn};
use cupel::slicer::BestFirstSlice;
use cupel::{ContextBudget, ContextItem, ContextKind, Policy, ReflexiveScorer};

fn budget(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

/// Two hundred messages of small talk, of which the twelfth answers.
fn long_talk() -> Vec<ContextItem> {
    let text = |number: usize| match number {
        12 => "The spare key is in the blue tin behind the boiler.".to_owned(),
        _ => format!("Oh, that reminds me of something from day {number}, never mind."),
    };
    (1..=200).map(|number| ContextItem::new(text(number), 18).unwrap()).collect()
}

fn judged_by(judge: impl Judge + 'static) -> Policy {
    Policy::builder()
        .scorer(ReflexiveScorer)
        .slicer(BestFirstSlice)
        .placer(AgePlacer)
        .relevance(Relevance::new(judge))
        .build()
        .unwrap()
}

#[test]
fn message_12_of_200_is_selected_by_presets_for_conversations() {
    let items = long_talk();
    let question = Question::new("Where did we put the spare key?");
    for policy in [Policy::chat(), Policy::tool_use()] {
        let report = policy.dry_run_for(&question, &items, &budget(200)).unwrap();
        let key = report.included.iter().find(|included| included.item.content().contains("tin"));
        let details = key.expect("the answer is in").details.as_ref().unwrap();
        assert_eq!(details.matched_words, ["spare", "key"]);
        let relevance = report.relevance.unwrap();
        assert!(relevance.asked && relevance.problem.is_none());
        assert_eq!((relevance.judge.as_str(), relevance.judged), ("lexical", 200));
        // Without a question it is too old, and nothing is different from before.
        let before = policy.dry_run(&items, &budget(200)).unwrap();
        assert!(!before.included.iter().any(|included| included.item.content().contains("tin")));
    }
}

#[test]
fn rag_needs_no_more_tokens_for_the_answer_than_chat() {
    let items = long_talk();
    let question = Question::new("Where did we put the spare key?");
    let needed = |policy: Policy| {
        (1..).find(|tokens| {
            let selected = policy.run_for(&question, &items, &budget(*tokens)).unwrap();
            selected.iter().any(|item| item.content().contains("tin"))
        })
    };
    assert_eq!(needed(Policy::chat()), Some(18));
    assert_eq!(needed(Policy::rag()), Some(18));
    // By the score per token alone, eleven older messages come first.
    assert_eq!(needed(Policy::rag().without_relevance()), Some(216));
}

#[test]
fn a_question_without_informative_words_changes_nothing() {
    let items = long_talk();
    for policy in [Policy::chat(), Policy::document_qa(), Policy::rag()] {
        let plain = policy.dry_run(&items, &budget(300)).unwrap();
        let asked = policy.dry_run_for(&Question::new("go on"), &items, &budget(300)).unwrap();
        assert_eq!(plain.included, asked.included);
        assert_eq!(plain.excluded, asked.excluded);
        assert!(!asked.relevance.unwrap().asked);
    }
}

#[test]
fn a_retrieved_document_is_not_pushed_out_by_small_talk() {
    let mut items = long_talk();
    let document = ContextItem::builder("A manual of the heating, chapter 4.", 150)
        .kind(ContextKind::document())
        .future_relevance_hint(0.9)
        .build()
        .unwrap();
    items.insert(30, document);
    let question = Question::new("How do I bleed a radiator on such a day?");
    let report = Policy::chat().dry_run_for(&question, &items, &budget(200)).unwrap();
    assert!(report.included.iter().any(|included| included.item.content().contains("manual")));
    assert_eq!(report.relevance.unwrap().kept, 1);
}

#[test]
fn hints_stay_or_are_blended_if_asked() {
    let items = [
        ContextItem::builder("tea", 5).future_relevance_hint(0.2).build().unwrap(),
        ContextItem::new("tea and cake", 5).unwrap(),
    ];
    let always = judge_fn("always", |_: &Question, _: &Candidate<'_>| Hint::new(1.0));
    let hints = |blend: f64| {
        let relevance = Relevance::new(always.clone()).blend(blend);
        let judged = Policy::chat().with_relevance(relevance).judge(&"tea".into(), &items);
        judged.items.iter().map(|item| item.future_relevance_hint().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(hints(0.0), [0.2, 1.0]);
    assert_eq!(hints(0.25), [0.4, 1.0]);
    assert_eq!(hints(1.0), [1.0, 1.0]);
}

#[test]
fn a_share_that_cannot_be_blended_is_refused() {
    for blend in [-0.1, 1.1, f64::NAN] {
        let policy = Policy::builder()
            .scorer(ReflexiveScorer)
            .slicer(BestFirstSlice)
            .placer(AgePlacer)
            .relevance(Relevance::new(Lexical::new()).blend(blend));
        let error = policy.build().unwrap_err().to_string();
        assert!(error.contains("blend: must be from 0 to 1, got "), "{error}");
    }
}

#[test]
fn a_judge_that_does_not_answer_as_it_should_costs_the_relevance_and_nothing_else() {
    struct TooFew;
    impl Judge for TooFew {
        fn judge(&self, _: &Question, _: &[Candidate<'_>]) -> Option<Verdict> {
            Some(Verdict::new(vec![Hint::new(1.0)], |_| Hint::new(1.0)))
        }
    }
    struct Panics;
    impl Judge for Panics {
        fn judge(&self, _: &Question, _: &[Candidate<'_>]) -> Option<Verdict> {
            panic!("with a secret")
        }
    }
    let nan = judge_fn("nan", |_: &Question, candidate: &Candidate<'_>| {
        Hint::new(if candidate.text == "a" { f64::NAN } else { 0.5 })
    });
    let items = [ContextItem::new("a", 5).unwrap(), ContextItem::new("b", 5).unwrap()];
    let cases: [(Policy, &str, usize); 3] = [
        (judged_by(TooFew), "gave 1 hints, expected one for each of 2 items", 0),
        (judged_by(Panics), "panicked", 0),
        (judged_by(nan), "gave a hint of NaN, expected a number from 0 to 1", 1),
    ];
    for (policy, problem, judged) in cases {
        let report = policy.dry_run_for(&"a b".into(), &items, &budget(100)).unwrap();
        assert_eq!(report.included.len(), 2);
        let relevance = report.relevance.unwrap();
        assert_eq!((relevance.problem.as_deref(), relevance.judged), (Some(problem), judged));
    }
}

#[test]
fn best_first_streams_as_it_slices() {
    use cupel::slicer::{Sequence, StreamItem, StreamOrder, StreamSlice};
    use cupel::{ScoredItem, Slicer};
    let random = |seed: u64| seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> 33;
    for round in 0..300_u64 {
        let count = random(round) % 40;
        let items: Vec<(f64, i64)> = (0..count)
            .map(|at| {
                let score = (random(round * 91 + at) % 8) as f64 / 8.0;
                (score, (random(round * 77 + at * 3) % 30) as i64)
            })
            .collect();
        let of = |tokens| ContextItem::new("x", tokens).unwrap();
        let handles: Vec<ContextItem> = items.iter().map(|(_, tokens)| of(*tokens)).collect();
        let pairs = handles.iter().zip(&items);
        let scored: Vec<_> =
            pairs.map(|(item, (score, _))| ScoredItem::new(item, *score)).collect();
        let batch = BestFirstSlice.slice(&scored, &budget(60)).unwrap().indices;
        let mut slice = StreamSlice::new(60).order(StreamOrder::Score);
        for (at, (score, tokens)) in items.iter().enumerate() {
            let _ = slice.push(StreamItem::new(*score, *tokens, Sequence::new(0, at as u64), at));
        }
        let streamed: Vec<usize> = slice.selection().map(|item| item.payload).collect();
        assert_eq!(streamed, batch, "round {round}");
    }
}
