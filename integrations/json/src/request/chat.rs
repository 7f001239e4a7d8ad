//! Typed requests of Chat Completions.

use async_openai::types::chat::{
    ChatCompletionRequestDeveloperMessage, ChatCompletionRequestMessage,
    ChatCompletionRequestSystemMessage, ChatCompletionRequestUserMessage,
    CreateChatCompletionRequest,
};
use cupel::gather::BoxError;

use super::typed::{edited, read_all, read_head, size, to_json};
use super::{Parts, Piece};
use crate::read::{Endpoint, Object};
use crate::template::ContextRole;

impl Parts for CreateChatCompletionRequest {
    type Message = ChatCompletionRequestMessage;

    fn endpoint(&self) -> Endpoint {
        Endpoint::Chat
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        // The older name still works.
        #[expect(deprecated)]
        let limit = self.max_completion_tokens.or(self.max_tokens);
        Ok(limit.map(i64::from))
    }

    fn size(&self) -> usize {
        size(self)
    }

    fn take<T>(
        &mut self,
        read: impl FnOnce(&[&str]) -> T,
    ) -> Result<(Vec<Self::Message>, T), BoxError> {
        let messages = std::mem::take(&mut self.messages);
        let read = read_all(&messages, read)?;
        Ok((messages, read))
    }

    fn head<T>(&self, read: impl FnOnce(&Object<'_>) -> T) -> Result<T, BoxError> {
        read_head(self, read)
    }

    fn put(&mut self, pieces: Vec<Piece<Self::Message>>, _changed: bool) -> Result<(), BoxError> {
        self.messages = pieces.into_iter().map(message).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn look_back<T>(&self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.messages.iter().rev().find_map(|message| read(&to_json(message).ok()?))
    }
}

fn message(
    piece: Piece<ChatCompletionRequestMessage>,
) -> Result<ChatCompletionRequestMessage, BoxError> {
    let (role, text) = match piece {
        Piece::Own(message) => return Ok(message),
        Piece::Edited(message, edit) => return edited(&message, &edit, Endpoint::Chat),
        Piece::Context { role, text } => (role, text),
    };
    Ok(match role {
        ContextRole::User => ChatCompletionRequestUserMessage::from(text).into(),
        ContextRole::System => ChatCompletionRequestSystemMessage::from(text).into(),
        ContextRole::Developer => ChatCompletionRequestDeveloperMessage::from(text).into(),
    })
}
