//! A request whose answer is to be streamed.

use cupel::gather::BoxError;

use super::{Parts, Piece};
use crate::read::{Endpoint, Object};

/// Asks for the answer as a stream.
///
/// A Tower service has one response type for each request type, so a streamed call is another
/// request than a whole one.
///
/// ```
/// use async_openai::types::responses::CreateResponse;
/// use cupel_json::Streaming;
///
/// let request = Streaming(CreateResponse::default());
/// # let _ = request;
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Streaming<R>(pub R);

impl<R: Parts> Parts for Streaming<R> {
    type Message = R::Message;

    fn endpoint(&self) -> Endpoint {
        self.0.endpoint()
    }

    fn model(&self) -> Option<&str> {
        self.0.model()
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        self.0.output_tokens()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn take<T>(
        &mut self,
        read: impl FnOnce(&[&str]) -> T,
    ) -> Result<(Vec<Self::Message>, T), BoxError> {
        self.0.take(read)
    }

    fn head<T>(&self, read: impl FnOnce(&Object<'_>) -> T) -> Result<T, BoxError> {
        self.0.head(read)
    }

    fn put(&mut self, pieces: Vec<Piece<Self::Message>>, changed: bool) -> Result<(), BoxError> {
        self.0.put(pieces, changed)
    }

    fn look_back<T>(&self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.0.look_back(read)
    }
}
