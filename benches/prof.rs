#![allow(
    clippy::unwrap_used,
    missing_docs,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    dead_code
)]
#[path = "versus/data.rs"]
mod data;
fn main() {
    let raw = data::raw(5000);
    let items = data::ours(&raw);
    let b = cupel::ContextBudget::builder(100_000).build().unwrap();
    let p = cupel::Pipeline::builder()
        .scorer(cupel::FrequencyScorer)
        .slicer(cupel::GreedySlice)
        .placer(cupel::UShapedPlacer)
        .build()
        .unwrap();
    let q = cupel::Pipeline::builder()
        .scorer(cupel::ReflexiveScorer)
        .slicer(cupel::GreedySlice)
        .placer(cupel::UShapedPlacer)
        .build()
        .unwrap();
    for n in [5000usize, 1000] {
        for pp in [&p, &q] {
            let mut best = vec![f64::MAX; 6];
            for _ in 0..300 {
                let t = std::time::Instant::now();
                let _ = pp.run(&items[..n], &b).unwrap();
                let tot = t.elapsed().as_secs_f64() * 1e3;
                let r = pp.dry_run(&items[..n], &b).unwrap();
                for (i, e) in r.events.iter().enumerate() {
                    best[i] = best[i].min(e.duration_ms);
                }
                best[5] = best[5].min(tot);
            }
            println!("{n} {best:.4?}");
        }
    }
}
