//! Memory of a call while it waits.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::task::{Context, Poll};

use cupel::gather::Source;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::{ContextBudget, ContextItem, Policy};
use futures::stream;
use tower::{Layer, Service, service_fn};

use cupel_dev::Effort;

type Request = ContextRequest<()>;

/// Memory of this process in bytes; none where the system does not say.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Prints what one of many calls needs: ten items of its own, ten of a source that has ended, and a
/// source that hangs. The texts are shared, as handles share them.
pub(crate) fn show(effort: Effort) {
    let calls = effort.pick(100, 10_000, 10_000);
    let items = |name: &str| -> Vec<ContextItem> {
        (0..10).map(|i| ContextItem::new(format!("{name} {i}"), 10).unwrap()).collect()
    };
    for while_gathering in [false, true] {
        let layer = CupelLayer::builder()
            .adapter(ContextRequestAdapter)
            .policy(Policy::rag())
            .budget(ContextBudget::builder(1_000).build().unwrap())
            .source(Source::items("rag", items("found")))
            .source(Source::stream("slow", |_: &Request| {
                stream::pending::<Result<ContextItem, Infallible>>()
            }))
            .select_while_gathering(while_gathering)
            .build()
            .unwrap();
        let mut service = layer.layer(service_fn(|_: Request| ready(Ok::<_, Infallible>(()))));
        let own = items("own");
        let mut context = Context::from_waker(futures::task::noop_waker_ref());
        let before = resident();
        let standing: Vec<_> = (0..calls)
            .map(|_| {
                assert!(service.poll_ready(&mut context).is_ready());
                let request = ContextRequest::new(()).with_items(own.iter().cloned());
                let mut call = Box::pin(service.call(request));
                assert!(matches!(call.as_mut().poll(&mut context), Poll::Pending));
                call
            })
            .collect();
        let grown = resident().zip(before).map(|(now, before)| now.saturating_sub(before));
        let mode = if while_gathering { "while gathering" } else { "at the end" };
        match grown {
            Some(bytes) => println!(
                "{} calls in flight, selecting {mode}: {:.1} KiB each",
                standing.len(),
                bytes as f64 / standing.len() as f64 / 1024.0,
            ),
            None => println!("{} calls in flight; memory is not known here", standing.len()),
        }
    }
}
