//! The whole tree of one run, at each verbosity.

use cupel::ScoredItem;
use cupel::diagnostics::ExclusionReason;
use cupel::slicer::SliceResult;
use cupel_otel::CupelVerbosity;

use crate::otel::common::{
    Exported, Slices, budget, candidates, document, overflowing, pipeline, run,
};
use crate::otel::tree::{expected, tree};

fn tree_of(verbosity: CupelVerbosity) -> String {
    let exported = Exported::new();
    run(&mut exported.collector(verbosity));
    tree(&exported.spans())
}

#[test]
fn stage_only_has_counts() {
    let wanted = r#"
        cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageOnly"
          cupel.stage.classify cupel.stage.name="classify" cupel.stage.item_count_in=7 cupel.stage.item_count_out=6
          cupel.stage.score cupel.stage.name="score" cupel.stage.item_count_in=5 cupel.stage.item_count_out=5
          cupel.stage.deduplicate cupel.stage.name="deduplicate" cupel.stage.item_count_in=5 cupel.stage.item_count_out=4
          cupel.stage.slice cupel.stage.name="slice" cupel.stage.item_count_in=4 cupel.stage.item_count_out=2
          cupel.stage.place cupel.stage.name="place" cupel.stage.item_count_in=3 cupel.stage.item_count_out=3
    "#;
    assert_eq!(tree_of(CupelVerbosity::StageOnly), expected(wanted));
}

#[test]
fn stage_and_exclusions_has_an_event_for_each_item_left_out() {
    let wanted = r#"
        cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageAndExclusions"
          cupel.stage.classify cupel.stage.name="classify" cupel.stage.item_count_in=7 cupel.stage.item_count_out=6 cupel.exclusion.count=1
            * cupel.exclusion cupel.exclusion.reason="NegativeTokens" cupel.exclusion.item_kind="Message" cupel.exclusion.item_tokens=-1
          cupel.stage.score cupel.stage.name="score" cupel.stage.item_count_in=5 cupel.stage.item_count_out=5 cupel.exclusion.count=0
          cupel.stage.deduplicate cupel.stage.name="deduplicate" cupel.stage.item_count_in=5 cupel.stage.item_count_out=4 cupel.exclusion.count=1
            * cupel.exclusion cupel.exclusion.reason="Deduplicated" cupel.exclusion.item_kind="Document" cupel.exclusion.item_tokens=40
          cupel.stage.slice cupel.stage.name="slice" cupel.stage.item_count_in=4 cupel.stage.item_count_out=2 cupel.exclusion.count=2
            * cupel.exclusion cupel.exclusion.reason="BudgetExceeded" cupel.exclusion.item_kind="ToolOutput" cupel.exclusion.item_tokens=400
            * cupel.exclusion cupel.exclusion.reason="PinnedOverride" cupel.exclusion.item_kind="Memory" cupel.exclusion.item_tokens=95
          cupel.stage.place cupel.stage.name="place" cupel.stage.item_count_in=3 cupel.stage.item_count_out=3 cupel.exclusion.count=0
    "#;
    assert_eq!(tree_of(CupelVerbosity::StageAndExclusions), expected(wanted));
}

#[test]
fn full_also_has_an_event_for_each_item_selected() {
    let wanted = r#"
        cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="Full"
          cupel.stage.classify cupel.stage.name="classify" cupel.stage.item_count_in=7 cupel.stage.item_count_out=6 cupel.exclusion.count=1
            * cupel.exclusion cupel.exclusion.reason="NegativeTokens" cupel.exclusion.item_kind="Message" cupel.exclusion.item_tokens=-1
          cupel.stage.score cupel.stage.name="score" cupel.stage.item_count_in=5 cupel.stage.item_count_out=5 cupel.exclusion.count=0
          cupel.stage.deduplicate cupel.stage.name="deduplicate" cupel.stage.item_count_in=5 cupel.stage.item_count_out=4 cupel.exclusion.count=1
            * cupel.exclusion cupel.exclusion.reason="Deduplicated" cupel.exclusion.item_kind="Document" cupel.exclusion.item_tokens=40
          cupel.stage.slice cupel.stage.name="slice" cupel.stage.item_count_in=4 cupel.stage.item_count_out=2 cupel.exclusion.count=2
            * cupel.exclusion cupel.exclusion.reason="BudgetExceeded" cupel.exclusion.item_kind="ToolOutput" cupel.exclusion.item_tokens=400
            * cupel.exclusion cupel.exclusion.reason="PinnedOverride" cupel.exclusion.item_kind="Memory" cupel.exclusion.item_tokens=95
          cupel.stage.place cupel.stage.name="place" cupel.stage.item_count_in=3 cupel.stage.item_count_out=3 cupel.exclusion.count=0
            * cupel.item.included cupel.item.kind="SystemPrompt" cupel.item.tokens=10 cupel.item.score=1.0f64
            * cupel.item.included cupel.item.kind="Document" cupel.item.tokens=40 cupel.item.score=0.9f64
            * cupel.item.included cupel.item.kind="Message" cupel.item.tokens=40 cupel.item.score=0.7f64
    "#;
    assert_eq!(tree_of(CupelVerbosity::Full), expected(wanted));
}

#[test]
fn an_item_that_placing_leaves_out_is_an_exclusion_of_placing() {
    let exported = Exported::new();
    let mut collector = exported.collector(CupelVerbosity::StageAndExclusions);
    let items = [document("a", 60, 0.9), document("b", 60, 0.5)];
    overflowing().run_traced(&items, &budget(100), &mut collector).unwrap();
    let events = |stage: &str| exported.span(stage).events.len();
    assert_eq!((events("cupel.stage.slice"), events("cupel.stage.place")), (0, 1));
}

#[test]
fn a_reason_that_nobody_knows_is_exported_as_unknown() {
    let exported = Exported::new();
    let slicer = Slices(|_: &[ScoredItem<'_>]| {
        let reason = ExclusionReason::unknown("FromTheFuture");
        Ok(SliceResult { exclusions: vec![(0, reason)], ..SliceResult::default() })
    });
    let pipeline = pipeline().slicer(slicer).build().unwrap();
    let mut collector = exported.collector(CupelVerbosity::Full);
    pipeline.run_traced(&[document("a", 1, 0.9)], &budget(100), &mut collector).unwrap();
    let text = tree(&exported.spans());
    assert!(text.contains(r#"cupel.exclusion.reason="Unknown""#), "{text}");
    assert!(!text.contains("FromTheFuture"), "{text}");
}

#[test]
fn a_collector_can_watch_one_run_after_the_other() {
    let exported = Exported::new();
    let mut collector = exported.collector(CupelVerbosity::Full);
    run(&mut collector);
    let first = tree(&exported.spans());
    run(&mut collector);
    // Without a caller's span, each run is a trace of its own.
    let both = exported.spans();
    assert_eq!(tree(&both[6..]), first);
    assert_ne!(both[0].span_context.trace_id(), both[6].span_context.trace_id());
}

#[test]
fn watching_does_not_change_the_selection() {
    let exported = Exported::new();
    let pipeline = pipeline().build().unwrap();
    let mut collector = exported.collector(CupelVerbosity::Full);
    let watched = pipeline.run_traced(&candidates(), &budget(100), &mut collector).unwrap();
    assert_eq!(watched, pipeline.run(&candidates(), &budget(100)).unwrap());
}
