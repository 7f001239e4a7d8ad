//! Factories that give a request which is already built.

use std::sync::{Arc, Mutex, PoisonError};

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::Request;

/// Gives copies of one request: every attempt of a retry layer below sends the same.
pub(super) fn always(request: Request) -> HttpRequestFactory {
    let request = Arc::new(request);
    HttpRequestFactory::new(move || {
        // A request whose body is bytes can always be copied.
        let streams = || OpenAIError::InvalidArgument("a body that is a stream".to_owned());
        std::future::ready(request.try_clone().ok_or_else(streams))
    })
}

/// Gives a request that was built to be looked at, and then what the factory builds: an upload is
/// not read twice, and can still be sent again.
pub(super) fn first_then(request: Request, factory: HttpRequestFactory) -> HttpRequestFactory {
    let built = Arc::new(Mutex::new(Some(request)));
    HttpRequestFactory::new(move || {
        let first = built.lock().unwrap_or_else(PoisonError::into_inner).take();
        let factory = factory.clone();
        async move {
            match first {
                Some(request) => Ok(request),
                None => factory.build().await,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::executor::block_on;
    use reqwest::Method;

    use super::*;

    fn request(path: &str) -> Request {
        Request::new(Method::GET, format!("http://127.0.0.1/{path}").parse().unwrap())
    }

    #[test]
    fn what_was_built_is_sent_first_and_rebuilt_for_a_retry() {
        let builds = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&builds);
        let factory = HttpRequestFactory::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok(request("rebuilt")))
        });
        let factory = first_then(request("built"), factory);
        let path = |factory: &HttpRequestFactory| {
            block_on(factory.build()).unwrap().url().path().to_owned()
        };
        assert_eq!(path(&factory), "/built");
        assert_eq!(builds.load(Ordering::Relaxed), 0);
        assert_eq!([path(&factory), path(&factory.clone())], ["/rebuilt", "/rebuilt"]);
    }
}
