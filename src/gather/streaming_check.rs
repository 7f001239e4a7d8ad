//! Checks that a pipeline can select while items arrive.

use crate::pipeline::Pipeline;
use crate::scorer::Scorer;

/// Says what a pipeline would have to change to select while items arrive, if anything.
pub(crate) fn check_streaming(pipeline: &Pipeline) -> Result<(), String> {
    let scorer = pipeline.scorer();
    if let Some(name) = relative_scorer(&**scorer) {
        let instead = match name.as_str() {
            "RecencyScorer" => "use DecayScorer, which goes by age instead of rank",
            "PriorityScorer" => "use KindScorer, TagScorer or MetadataKeyScorer",
            _ => "use scorers that look at one item alone",
        };
        return Err(format!(
            "{name} compares an item with all others, so it cannot score while items arrive; \
             {instead}, or leave .select_while_gathering(..) out"
        ));
    }
    if scorer.facts().depends_on_time && scorer.freeze().is_none() {
        return Err(format!(
            "{} depends on time but cannot stop its clock for a request; override \
             Scorer::freeze, or leave .select_while_gathering(..) out",
            scorer.name()
        ));
    }
    if !pipeline.slicer().facts().streams {
        return Err(format!(
            "{} needs all items at once, so it cannot select while they arrive; use \
             GreedySlice or BestFirstSlice, or leave .select_while_gathering(..) out",
            pipeline.slicer().name()
        ));
    }
    Ok(())
}

/// The innermost scorer that compares an item with others, by name.
fn relative_scorer(scorer: &dyn Scorer) -> Option<String> {
    if scorer.facts().absolute {
        return None;
    }
    let mut inner = None;
    scorer.visit_children(&mut |child| {
        if inner.is_none() {
            inner = relative_scorer(child);
        }
    });
    inner.or_else(|| Some(scorer.name().to_owned()))
}
