//! rig's conversation memory over the archive.

use cupel::ContextKind;
use cupel::conversation::Role;
use rig_core::id::ConversationId;
use rig_core::memory::{ConversationMemory, MemoryError};
use rig_core::message::{
    AssistantContent, DocumentSourceKind, Message as RigMessage, ToolResultContent, UserContent,
};
use rig_core::wasm_compat::WasmBoxedFuture;

use crate::conversation::ConversationHandle;
use crate::message::ArchiveMessage;
use crate::namespace::Namespace;

/// A namespace is a memory of rig's: `.memory(tenant)` on an agent's builder.
///
/// A message is archived as it is, and comes back as it was. A run that fails to be archived is
/// reported by rig beside its answer.
impl ConversationMemory for Namespace {
    fn load<'a>(
        &'a self,
        conversation_id: &'a ConversationId,
    ) -> WasmBoxedFuture<'a, Result<Vec<RigMessage>, MemoryError>> {
        Box::pin(async move {
            let conversation = conversation(self, conversation_id)?;
            let stored = conversation.recent(u32::MAX).await.map_err(MemoryError::backend)?;
            stored.into_iter().map(|stored| rig_message(stored.message)).collect()
        })
    }

    fn append<'a>(
        &'a self,
        conversation_id: &'a ConversationId,
        messages: Vec<RigMessage>,
    ) -> WasmBoxedFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            let conversation = conversation(self, conversation_id)?;
            let messages = messages.iter().map(archived).collect::<Result<Vec<_>, _>>()?;
            conversation.append(messages).await.map_err(MemoryError::backend)?;
            Ok(())
        })
    }

    fn clear<'a>(
        &'a self,
        conversation_id: &'a ConversationId,
    ) -> WasmBoxedFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            let conversation = conversation(self, conversation_id)?;
            conversation.forget().await.map_err(MemoryError::backend)?;
            Ok(())
        })
    }
}

fn conversation(
    tenant: &Namespace,
    id: &ConversationId,
) -> Result<ConversationHandle, MemoryError> {
    tenant.conversation(id.as_ref()).map_err(MemoryError::backend)
}

/// A message as it is archived: its text, the results in it as originals, and itself as JSON.
fn archived(message: &RigMessage) -> Result<ArchiveMessage, MemoryError> {
    let wire = serde_json::to_string(message).map_err(MemoryError::backend)?;
    let mut texts = Vec::new();
    let mut results = Vec::new();
    let role = match message {
        RigMessage::System { content } => {
            texts.push(content.clone());
            Role::System
        }
        RigMessage::User { content } => {
            let mut only_results = true;
            for part in content {
                match part {
                    UserContent::ToolResult(result) => {
                        results.push(result_text(&result.content));
                        texts.extend(results.last().cloned());
                    }
                    other => {
                        only_results = false;
                        texts.push(user_text(other));
                    }
                }
            }
            if only_results && !results.is_empty() { Role::Tool } else { Role::User }
        }
        RigMessage::Assistant(turn) => {
            texts.extend(turn.content.iter().map(assistant_text));
            Role::Assistant
        }
    };
    let mut archived = ArchiveMessage::new(role, texts.join("\n")).wire(wire);
    if !results.is_empty() {
        // Also beside the user's own words.
        archived = archived.kind(ContextKind::tool_output());
    }
    Ok(results.into_iter().fold(archived, ArchiveMessage::original))
}

/// A message as rig knows it. One that something else archived is its text.
fn rig_message(message: ArchiveMessage) -> Result<RigMessage, MemoryError> {
    if let Some(known) = message.wire.as_deref().and_then(|wire| serde_json::from_str(wire).ok()) {
        return Ok(known);
    }
    Ok(match message.role {
        Role::Assistant => RigMessage::assistant(message.content),
        Role::System => RigMessage::System { content: message.content },
        _ => RigMessage::user(message.content),
    })
}

fn user_text(part: &UserContent) -> String {
    match part {
        UserContent::Text(part) => part.text.clone(),
        UserContent::Document(document) => match &document.data {
            DocumentSourceKind::String(text) => text.clone(),
            _ => "[document]".to_owned(),
        },
        UserContent::Image(_) => "[image]".to_owned(),
        UserContent::Audio(_) => "[audio]".to_owned(),
        UserContent::Video(_) => "[video]".to_owned(),
        UserContent::ToolResult(result) => result_text(&result.content),
    }
}

fn result_text(parts: &[ToolResultContent]) -> String {
    let part = |part: &ToolResultContent| match part {
        ToolResultContent::Text(part) => part.text.clone(),
        ToolResultContent::Image(_) => "[image]".to_owned(),
        ToolResultContent::Json { value } => value.to_string(),
    };
    parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn assistant_text(part: &AssistantContent) -> String {
    match part {
        AssistantContent::Text(part) => part.text.clone(),
        AssistantContent::ToolCall(call) => {
            let arguments = match &call.function.invalid_arguments {
                Some(arguments) => arguments.clone(),
                None => serde_json::to_string(&call.function.arguments).unwrap_or_default(),
            };
            format!("{}({arguments})", call.function.name)
        }
        AssistantContent::Reasoning(_) => "[reasoning]".to_owned(),
        AssistantContent::Image(_) => "[image]".to_owned(),
        _ => "[other]".to_owned(),
    }
}
