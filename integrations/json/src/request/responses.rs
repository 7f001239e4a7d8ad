//! Typed requests of the Responses API.

use async_openai::types::responses::{
    CreateResponse, EasyInputContent, EasyInputMessage, InputItem, InputParam, Role,
};
use cupel::gather::BoxError;

use super::typed::{edited, read_all, read_head, size, to_json};
use super::{Parts, Piece};
use crate::read::{Endpoint, Object};
use crate::template::ContextRole;

/// What a request has as input.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a text comes alone, items by the hundred")]
pub enum Input {
    /// A text instead of a list.
    Text(String),
    Item(InputItem),
}

impl Parts for CreateResponse {
    type Message = Input;

    fn endpoint(&self) -> Endpoint {
        Endpoint::Responses
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        Ok(self.max_output_tokens.map(i64::from))
    }

    fn size(&self) -> usize {
        size(self)
    }

    fn take<T>(&mut self, read: impl FnOnce(&[&str]) -> T) -> Result<(Vec<Input>, T), BoxError> {
        match std::mem::replace(&mut self.input, InputParam::Items(Vec::new())) {
            InputParam::Text(text) => {
                let item = user(text);
                let read = read_all(std::slice::from_ref(&item), read)?;
                let InputItem::EasyMessage(EasyInputMessage {
                    content: EasyInputContent::Text(text),
                    ..
                }) = item
                else {
                    return Err("a message changed while it was read".into());
                };
                Ok((vec![Input::Text(text)], read))
            }
            InputParam::Items(items) => {
                let read = read_all(&items, read)?;
                Ok((items.into_iter().map(Input::Item).collect(), read))
            }
        }
    }

    fn head<T>(&self, read: impl FnOnce(&Object<'_>) -> T) -> Result<T, BoxError> {
        read_head(self, read)
    }

    fn put(&mut self, mut pieces: Vec<Piece<Input>>, _changed: bool) -> Result<(), BoxError> {
        // A text stays one unless something stands beside it.
        if let [Piece::Own(Input::Text(text))] = pieces.as_mut_slice() {
            self.input = InputParam::Text(std::mem::take(text));
            return Ok(());
        }
        let item = |piece| match piece {
            Piece::Own(Input::Item(item)) => Ok(item),
            Piece::Own(Input::Text(text)) => Ok(user(text)),
            Piece::Edited(Input::Item(item), edit) => edited(&item, &edit, Endpoint::Responses),
            Piece::Edited(Input::Text(text), edit) => {
                edited(&user(text), &edit, Endpoint::Responses)
            }
            Piece::Context { role, text } => Ok(message(role, text)),
        };
        let items = pieces.into_iter().map(item).collect::<Result<_, BoxError>>()?;
        self.input = InputParam::Items(items);
        Ok(())
    }

    fn look_back<T>(&self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        match &self.input {
            InputParam::Text(text) => read(&to_json(&user(text.clone())).ok()?),
            InputParam::Items(items) => {
                items.iter().rev().find_map(|item| read(&to_json(item).ok()?))
            }
        }
    }
}

fn user(text: String) -> InputItem {
    message(ContextRole::User, text)
}

fn message(role: ContextRole, text: String) -> InputItem {
    InputItem::EasyMessage(EasyInputMessage {
        role: match role {
            ContextRole::User => Role::User,
            ContextRole::System => Role::System,
            ContextRole::Developer => Role::Developer,
        },
        content: EasyInputContent::Text(text),
        ..EasyInputMessage::default()
    })
}
