//! `.cupel(..)` on Tower's service builder.

use tower::ServiceBuilder;
use tower::layer::util::Stack;

use super::CupelLayer;

/// Adds a [`CupelLayer`] to a stack by name.
///
/// ```
/// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, ServiceBuilderExt as _};
/// use cupel::{ContextBudget, Policy};
/// use tower::ServiceBuilder;
///
/// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
///     .adapter(ContextRequestAdapter)
///     .policy(Policy::chat())
///     .budget(ContextBudget::builder(8_192).output_reserve(1_024).build()?)
///     .build()?;
/// let stack = ServiceBuilder::new().cupel(layer);
/// # let _ = stack;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ServiceBuilderExt<L> {
    /// Selects the context of every request that passes.
    fn cupel<Req, A>(
        self,
        layer: CupelLayer<Req, A>,
    ) -> ServiceBuilder<Stack<CupelLayer<Req, A>, L>>;
}

impl<L> ServiceBuilderExt<L> for ServiceBuilder<L> {
    fn cupel<Req, A>(
        self,
        layer: CupelLayer<Req, A>,
    ) -> ServiceBuilder<Stack<CupelLayer<Req, A>, L>> {
        self.layer(layer)
    }
}
