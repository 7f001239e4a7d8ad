//! Paths of the APIs, with and without `/v1`, and as Azure has them.

/// Returns a path as OpenAI and Anthropic write it: without `/v1`, and without Azure's `/openai` and
/// deployment.
pub(crate) fn api_path(path: &str) -> &str {
    let path = below_v1(path);
    let Some(rest) = path.strip_prefix("/openai").filter(|rest| rest.starts_with('/')) else {
        return path;
    };
    match after_deployment(path) {
        Some((_, rest)) => rest,
        None => below_v1(rest),
    }
}

/// Returns the deployment that one of Azure's paths names. It stands for a model.
pub(crate) fn deployment(path: &str) -> Option<&str> {
    after_deployment(below_v1(path)).map(|(name, _)| name)
}

/// Returns the deployment, and the path after it.
fn after_deployment(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/openai/deployments/")?;
    let (name, after) = rest.split_at(rest.find('/')?);
    (!name.is_empty()).then_some((name, after))
}

/// Removes a leading `/v1`. Clients may have it in their base address; an upstream's address has its own.
pub(crate) fn below_v1(path: &str) -> &str {
    match path.strip_prefix("/v1") {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '?']) => rest,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azures_paths_are_those_of_the_api() {
        for (path, api, model) in [
            ("/v1/chat/completions", "/chat/completions", None),
            ("/openai/deployments/gpt-4o/chat/completions", "/chat/completions", Some("gpt-4o")),
            ("/openai/deployments/gpt-4o", "/deployments/gpt-4o", None),
            ("/openai/deployments//chat", "/deployments//chat", None),
            ("/openai/v1/responses", "/responses", None),
            ("/openai/responses", "/responses", None),
            ("/openai/files", "/files", None),
            ("/openaix/files", "/openaix/files", None),
            ("/openai", "/openai", None),
        ] {
            assert_eq!((api_path(path), deployment(path)), (api, model), "{path}");
        }
    }
}
