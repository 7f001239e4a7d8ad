//! A response that is a stream passes through as it is: chunks are seen while others are made.

use std::convert::Infallible;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cupel::gather::Source;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::common::{Request, item, layer, layer_with, ms, request};

#[tokio::test(start_paused = true)]
async fn the_first_chunk_is_there_before_the_last_is_made() {
    let made = Arc::new(AtomicUsize::new(0));
    let model = service_fn({
        let made = Arc::clone(&made);
        move |request: Request| {
            let made = Arc::clone(&made);
            let chunks = request.items().map(|item| item.content().to_owned());
            let chunks = stream::iter(chunks.collect::<Vec<_>>()).then(move |chunk| {
                let made = Arc::clone(&made);
                async move {
                    sleep(ms(10)).await;
                    made.fetch_add(1, Ordering::SeqCst);
                    chunk
                }
            });
            ready(Ok::<BoxStream<'static, String>, Infallible>(chunks.boxed()))
        }
    });
    let words = [item("the", 1), item("first", 1), item("word", 1)];
    let layer = layer_with([Source::items("words", words)]).build().unwrap();
    let start = Instant::now();
    let mut chunks = layer.layer(model).oneshot(request()).await.unwrap();
    assert_eq!((start.elapsed(), made.load(Ordering::SeqCst)), (ms(0), 0));
    assert_eq!(chunks.next().await.as_deref(), Some("the"));
    assert_eq!((start.elapsed(), made.load(Ordering::SeqCst)), (ms(10), 1));
    let rest: Vec<String> = chunks.collect().await;
    assert_eq!(rest, ["first", "word"]);
    assert_eq!(start.elapsed(), ms(30));
}

/// A model that answers its one call with this channel.
macro_rules! answering_with {
    ($receiver:expr) => {{
        let receiver = Arc::new(Mutex::new(Some($receiver)));
        service_fn(move |_: Request| {
            ready(Ok::<_, Infallible>(receiver.lock().unwrap().take().unwrap()))
        })
    }};
}

#[tokio::test]
async fn a_channel_as_a_response_stays_open() {
    let (chunks, receiver) = mpsc::channel(1);
    let mut service = layer().build().unwrap().with_report().layer(answering_with!(receiver));
    let (mut body, selection) = service.ready().await.unwrap().call(request()).await.unwrap();
    assert!(selection.report.included.is_empty());
    assert!(body.try_recv().is_err());
    chunks.send("first").await.unwrap();
    assert_eq!(body.recv().await, Some("first"));
    chunks.send("second").await.unwrap();
    drop(chunks);
    assert_eq!((body.recv().await, body.recv().await), (Some("second"), None));
}

#[tokio::test]
async fn dropping_the_response_stops_the_model() {
    let (chunks, receiver) = mpsc::channel::<&'static str>(1);
    let service = layer().build().unwrap().layer(answering_with!(receiver));
    let body = service.oneshot(request()).await.unwrap();
    assert!(!chunks.is_closed());
    drop(body);
    assert!(chunks.is_closed());
}
