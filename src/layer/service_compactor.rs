//! A compactor over any Tower service.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tower::Service;

use crate::conversation::plan::CellContent;
use crate::gather::{BoxError, Compactor, CompactorPrice};

/// A compactor over a Tower service, with functions that write the request and read the answer.
///
/// ```
/// use cupel::conversation::plan::CellContent;
/// use cupel::gather::{BoxError, CompactorPrice, SUMMARY_PROMPT};
/// use cupel::layer::ServiceCompactor;
/// use tower::service_fn;
///
/// // Stands for a model.
/// let model = service_fn(|prompt: String| async move { Ok::<_, BoxError>(prompt.len().to_string()) });
/// let compactor = ServiceCompactor::new(
///     "small-model",
///     model,
///     |cell: &CellContent, limit| Ok::<_, BoxError>(cell.prompt(SUMMARY_PROMPT, limit)),
///     |answer: String| Ok::<_, BoxError>(answer),
/// )
/// .version("2026-11")
/// .price(CompactorPrice { input: 0.1, output: 0.4 });
/// # let _ = compactor;
/// ```
#[must_use]
pub struct ServiceCompactor<S, W, R> {
    name: Arc<str>,
    version: Arc<str>,
    price: CompactorPrice,
    /// Cloned for each call. Services need not be `Sync`.
    service: Mutex<S>,
    write: W,
    read: R,
}

impl<S, W, R> ServiceCompactor<S, W, R> {
    /// A compactor with this name. `write` makes a request of a cell and a limit in tokens, and `read` takes
    /// the summary out of the response.
    pub fn new(name: impl Into<Arc<str>>, service: S, write: W, read: R) -> Self {
        let (name, version) = (name.into(), "1".into());
        let service = Mutex::new(service);
        Self { name, version, price: CompactorPrice::SAME_MODEL, service, write, read }
    }

    /// Sets the version: change it with the model, the prompt or the settings.
    pub fn version(mut self, version: impl Into<Arc<str>>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the price of the model's tokens.
    pub fn price(mut self, price: CompactorPrice) -> Self {
        self.price = price;
        self
    }
}

#[async_trait]
impl<S, W, R, Req, Res> Compactor for ServiceCompactor<S, W, R>
where
    S: Service<Req, Response = Res> + Clone + Send,
    S::Future: Send,
    S::Error: Into<BoxError>,
    W: Fn(&CellContent, i64) -> Result<Req, BoxError> + Send + Sync,
    R: Fn(Res) -> Result<String, BoxError> + Send + Sync,
    Req: Send + 'static,
    Res: Send + 'static,
{
    async fn compact(&self, cell: &CellContent, limit: i64) -> Result<String, BoxError> {
        let request = (self.write)(cell, limit)?;
        let mut service = self.service.lock().unwrap_or_else(PoisonError::into_inner).clone();
        poll_fn(|cx| service.poll_ready(cx)).await.map_err(Into::into)?;
        let response = service.call(request).await.map_err(Into::into)?;
        (self.read)(response)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn price(&self) -> CompactorPrice {
        self.price
    }
}

impl<S, W, R> fmt::Debug for ServiceCompactor<S, W, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceCompactor")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
