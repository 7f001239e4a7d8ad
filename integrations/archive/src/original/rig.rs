//! The tool for agents of rig.

use rig_core::tool::{Tool, ToolContext};

use super::tool::{DESCRIPTION, NAME, ReadArguments, parameters, read};
use crate::error::ArchiveError;
use crate::namespace::Namespace;

/// Lets an agent read the whole of what it was shown an excerpt of: `.tool(RigOriginals::new(tenant))`.
#[derive(Debug, Clone)]
pub struct RigOriginals {
    namespace: Namespace,
}

impl RigOriginals {
    /// Reads from one tenant's conversations.
    #[must_use]
    pub fn new(namespace: Namespace) -> Self {
        Self { namespace }
    }
}

impl Tool for RigOriginals {
    const NAME: &'static str = NAME;
    type Args = ReadArguments;
    type Output = String;
    type Error = ArchiveError;

    fn description(&self) -> String {
        DESCRIPTION.to_owned()
    }

    fn parameters(&self) -> serde_json::Value {
        parameters()
    }

    async fn call(&self, _: &mut ToolContext, args: ReadArguments) -> Result<String, ArchiveError> {
        read(&self.namespace, &args).await
    }
}
