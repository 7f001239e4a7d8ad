//! Everything may be sent to another thread and shared between threads.

use cupel::analytics::{
    BudgetPoint, ItemStatus, PolicySensitivityDiffEntry, PolicySensitivityReport,
};
use cupel::diagnostics::*;
use cupel::error::*;
use cupel::model::*;
use cupel::pipeline::*;
use cupel::placer::*;
use cupel::policy::*;
use cupel::scorer::*;
use cupel::slicer::*;
use cupel::slicer::{KindQuota, Monotonicity, QuotaUnit};
use cupel::*;

fn send_and_sync<T: Send + Sync + ?Sized>() {}

fn send<T: Send + ?Sized>() {}

/// Compiling it is the test.
#[test]
fn public_types_are_send_and_sync() {
    send_and_sync::<ContextBudget>();
    send_and_sync::<ContextBudgetBuilder>();
    send_and_sync::<ContextItem>();
    send_and_sync::<ContextItemBuilder>();
    send_and_sync::<ContextKind>();
    send_and_sync::<ContextSource>();
    send_and_sync::<OverflowStrategy>();
    send_and_sync::<ScoredItem<'_>>();

    send_and_sync::<dyn Scorer>();
    send_and_sync::<dyn TimeProvider>();
    send_and_sync::<CompositeScorer>();
    send_and_sync::<CompositeScorerBuilder>();
    send_and_sync::<DecayCurve>();
    send_and_sync::<DecayScorer>();
    send_and_sync::<FixedTimeProvider>();
    send_and_sync::<FrequencyScorer>();
    send_and_sync::<KindScorer>();
    send_and_sync::<MetadataKeyScorer>();
    send_and_sync::<MetadataTrustScorer>();
    send_and_sync::<PriorityScorer>();
    send_and_sync::<RecencyScorer>();
    send_and_sync::<ReflexiveScorer>();
    send_and_sync::<ScaledScorer>();
    send_and_sync::<SystemTimeProvider>();
    send_and_sync::<TagScorer>();

    send_and_sync::<dyn Slicer>();
    send_and_sync::<CountConstrainedKnapsackSlice>();
    send_and_sync::<CountQuotaEntry>();
    send_and_sync::<CountQuotaSlice>();
    send_and_sync::<CountRequirementShortfall>();
    send_and_sync::<GreedySlice>();
    send_and_sync::<KindQuota>();
    send_and_sync::<KnapsackSlice>();
    send_and_sync::<Monotonicity>();
    send_and_sync::<QuotaSet>();
    send_and_sync::<QuotaSetBuilder>();
    send_and_sync::<QuotaSlice>();
    send_and_sync::<QuotaUnit>();
    send_and_sync::<ScarcityBehavior>();
    send_and_sync::<SliceResult>();

    send_and_sync::<dyn Placer>();
    send_and_sync::<ChronologicalPlacer>();
    send_and_sync::<UShapedPlacer>();

    send_and_sync::<Pipeline>();
    send_and_sync::<PipelineBuilder>();
    send_and_sync::<CupelError>();

    send_and_sync::<analytics::QuotaUtilization>();
    send_and_sync::<BudgetPoint>();
    send_and_sync::<ItemStatus>();
    send_and_sync::<Policy>();
    send_and_sync::<PolicyBuilder>();
    send_and_sync::<PolicySensitivityDiffEntry>();
    send_and_sync::<PolicySensitivityReport>();

    send_and_sync::<ExcludedItem>();
    send_and_sync::<ExclusionReason>();
    send_and_sync::<IncludedItem>();
    send_and_sync::<InclusionReason>();
    send_and_sync::<NullTraceCollector>();
    send_and_sync::<OverflowEvent>();
    send_and_sync::<PipelineStage>();
    send_and_sync::<SelectionReport>();
    send_and_sync::<TraceDetailLevel>();
    send_and_sync::<TraceEvent>();
    // Its callback is `FnMut`: one run uses one collector, so it is sent but never shared.
    send::<DiagnosticTraceCollector>();
}

#[cfg(feature = "layer")]
#[test]
fn the_layer_and_its_sources_are_send_and_sync() {
    use cupel::gather::{
        CandidateSource, ConversationStore, FailurePolicy, GatherReport, Source, SourceOutcome,
        SourceReport,
    };
    use cupel::layer::{
        BudgetProvider, BuildError, ContextError, ContextRequest, ContextRequestAdapter,
        CupelLayer, CupelLayerBuilder, CupelService, Error, Origin, PlacedItem, ResponseFuture,
        Selection, SelectionHook, Split,
    };
    type Request = ContextRequest<String>;
    type Service = tower::util::BoxCloneSyncService<Request, (), std::io::Error>;

    send_and_sync::<dyn CandidateSource<Request>>();
    send_and_sync::<ConversationStore>();
    send_and_sync::<FailurePolicy>();
    send_and_sync::<GatherReport>();
    send_and_sync::<Source<Request>>();
    send_and_sync::<SourceOutcome>();
    send_and_sync::<SourceReport>();

    send_and_sync::<dyn BudgetProvider<Request>>();
    send_and_sync::<dyn SelectionHook>();
    send_and_sync::<BuildError>();
    send_and_sync::<ContextError>();
    send_and_sync::<ContextRequest<String>>();
    send_and_sync::<ContextRequestAdapter>();
    send_and_sync::<CupelLayer<Request, ContextRequestAdapter>>();
    send_and_sync::<CupelLayerBuilder<Request, ContextRequestAdapter>>();
    send_and_sync::<CupelService<Service, Request, ContextRequestAdapter>>();
    send_and_sync::<Error<std::io::Error>>();
    send_and_sync::<Origin>();
    send_and_sync::<PlacedItem>();
    send_and_sync::<Selection>();
    send_and_sync::<Split<String>>();
    // A future is polled by one thread at a time.
    send::<ResponseFuture<Service, Request, ContextRequestAdapter>>();
}

#[cfg(feature = "testing")]
#[test]
fn the_assertions_are_send_and_sync() {
    send_and_sync::<cupel::testing::ReasonKind<'_>>();
    send_and_sync::<cupel::testing::SelectionReportAssertionChain<'_>>();
    send_and_sync::<cupel::testing::SelectionReportAssertionError>();
}
