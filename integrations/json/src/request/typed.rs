//! How typed requests are looked at: as the JSON they will be sent as.

use cupel::gather::BoxError;

use super::Edit;
use crate::read::{Endpoint, Object};

/// Requests are measured up to this many bytes: more take long to read in any case.
const MOST_MEASURED: usize = 1 << 20;

/// Bytes of a typed request as JSON, as far as they are measured.
pub(super) fn size(request: &impl serde::Serialize) -> usize {
    struct Measure(usize);

    impl std::io::Write for Measure {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            if self.0 > MOST_MEASURED {
                Err(std::io::ErrorKind::WriteZero.into())
            } else {
                Ok(bytes.len())
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut measure = Measure(0);
    // It fails only to stop.
    let _ = serde_json::to_writer(&mut measure, request);
    measure.0
}

/// Serializes a typed value to look at it.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, BoxError> {
    serde_json::to_string(value).map_err(|error| format!("not serializable: {error}").into())
}

/// Serializes typed messages for `read`.
pub(super) fn read_all<T>(
    messages: &[impl serde::Serialize],
    read: impl FnOnce(&[&str]) -> T,
) -> Result<T, BoxError> {
    let json = messages.iter().map(to_json).collect::<Result<Vec<_>, _>>()?;
    let json: Vec<&str> = json.iter().map(String::as_str).collect();
    Ok(read(&json))
}

/// A typed message as a plan changes it.
pub(super) fn edited<T: serde::Serialize + serde::de::DeserializeOwned>(
    message: &T,
    edit: &Edit,
    endpoint: Endpoint,
) -> Result<T, BoxError> {
    let json = edit.apply(endpoint, &to_json(message)?)?;
    serde_json::from_str(&json).map_err(|error| format!("a changed message: {error}").into())
}

/// Looks at the fields of a typed request from which the messages were taken.
pub(super) fn read_head<T>(
    request: &impl serde::Serialize,
    read: impl FnOnce(&Object<'_>) -> T,
) -> Result<T, BoxError> {
    let json = to_json(request)?;
    Ok(read(&Object::parse(&json).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use async_openai::types::chat::CreateChatCompletionRequest;
    use cupel::layer::BudgetProvider;

    use crate::{ModelWindow, Models, Streaming};

    fn chat(output: Option<u32>) -> CreateChatCompletionRequest {
        CreateChatCompletionRequest {
            model: "gpt-4".into(),
            max_completion_tokens: output,
            ..Default::default()
        }
    }

    #[test]
    fn the_older_limit_counts_unless_the_newer_is_set() {
        #[expect(deprecated)]
        let older = |request| CreateChatCompletionRequest { max_tokens: Some(92), ..request };
        let window = ModelWindow::new(Models::new());
        let target = |request| window.budget(&request).unwrap().target_tokens();
        assert_eq!(target(older(chat(None))), 8_100);
        assert_eq!(target(older(chat(Some(192)))), 8_000);
        let streaming = window.budget(&Streaming(chat(Some(192)))).unwrap();
        assert_eq!(streaming.target_tokens(), 8_000);
    }
}
