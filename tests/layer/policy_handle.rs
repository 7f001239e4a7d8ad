//! The policy of a running layer is replaced between two calls.

use cupel::gather::Source;
use cupel::layer::CupelLayer;
use cupel::policy::Policy;
use cupel::slicer::KnapsackSlice;
use cupel::{ChronologicalPlacer, GreedySlice, PriorityScorer, ReflexiveScorer, Scorer, Slicer};
use futures::future::poll_immediate;
use tower::{Layer, Service, ServiceExt};

use crate::common::{Echo, Request, budget, item, layer, relevant, request};

fn policy(scorer: impl Scorer + 'static, slicer: impl Slicer + 'static) -> Policy {
    let policy = Policy::builder().scorer(scorer).slicer(slicer).placer(ChronologicalPlacer);
    policy.build().unwrap()
}

/// Two items of which one fits: `hint` is the more relevant one, `first` has the priority.
fn two() -> Request {
    let first = relevant("first", 10, 0.1).to_builder().priority(9).build().unwrap();
    request().item(first).item(relevant("hint", 10, 0.9))
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_is_for_the_next_call_of_every_service() {
    let (open, gate) = tokio::sync::watch::channel(false);
    let slow = Source::list("slow", move |_: &Request| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await?;
            Ok::<_, tokio::sync::watch::error::RecvError>(vec![item("late", 1)])
        }
    });
    let layer = CupelLayer::builder()
        .adapter(cupel::layer::ContextRequestAdapter)
        .policy(policy(ReflexiveScorer, GreedySlice))
        .budget(budget(11))
        .source(slow)
        .build()
        .unwrap();
    let mut service = layer.layer(Echo::default());
    let mut other = layer.clone().layer(Echo::default());
    let mut started = Box::pin(service.ready().await.unwrap().call(two()));
    assert!(poll_immediate(&mut started).await.is_none());

    layer.policy_handle().replace(&policy(PriorityScorer, GreedySlice)).unwrap();
    open.send(true).unwrap();
    assert_eq!(started.await.unwrap(), ["hint", "late"], "a call keeps its policy");
    for service in [&mut service, &mut other] {
        let sent = service.ready().await.unwrap().call(two()).await.unwrap();
        assert_eq!(sent, ["first", "late"]);
    }
}

#[tokio::test]
async fn a_policy_that_the_layer_cannot_have_is_refused_and_the_old_one_stays() {
    let built = layer().budget(budget(10)).select_while_gathering(true).build().unwrap();
    let handle = built.policy_handle();
    let knapsack = policy(ReflexiveScorer, KnapsackSlice::new(1).unwrap());
    let error = handle.replace(&knapsack).unwrap_err().to_string();
    assert!(error.contains("KnapsackSlice needs all items at once"), "{error}");
    let sent = built.layer(Echo::default()).oneshot(two()).await.unwrap();
    assert_eq!(sent, ["hint"]);
}

#[cfg(feature = "config")]
#[tokio::test]
async fn a_policy_file_replaces_the_policy_unless_it_has_mistakes() {
    use cupel::policy::spec::ScorerRegistry;
    use cupel::scorer::SystemTimeProvider;

    let built = layer().budget(budget(10)).build().unwrap();
    let (handle, registry) = (built.policy_handle(), ScorerRegistry::new(SystemTimeProvider));
    let file = std::env::temp_dir().join(format!("cupel-{}-policy.yaml", std::process::id()));
    let send = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let replaced = handle.replace_from_file(&file, &registry);
        (replaced.is_ok(), built.layer(Echo::default()).oneshot(two()).await.unwrap())
    };
    let good = "scorers: [{ type: priority, weight: 1 }]\nslicer: greedy\nplacer: chronological\n";
    assert_eq!(send(good).await, (true, vec!["first".to_owned()]));
    assert_eq!(send("scorers: best\n").await, (false, vec!["first".to_owned()]));
    std::fs::remove_file(&file).unwrap();
}
