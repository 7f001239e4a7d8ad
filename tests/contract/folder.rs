//! A folder of contract files that lasts as long as a test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::contract::{CheckedContract, ContractError, ContractFolder, LimitsPolicy};

use super::words;

pub(crate) const CONFIG: &str = r#"{"model_context_window": 10000, "model_max_tokens": 500}"#;

pub(crate) const CHAT: &str = "
settings:
  max_context_tokens: 6000
  max_history_tokens: 1200
steps:
  - id: router
    action: call_model
    prompt_key: router
    max_output_tokens: 64
  - id: search
    action: search_nodes
    top_k: 5
  - id: answer
    action: call_model
    prompt_key: answer
    use_history: true
    user_parts:
      evidence: { source: context_blocks, template: \"### Evidence:\\n{}\\n\" }
      question: { source: user_query, template: \"### User:\\n{}\\n\" }
";

pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// A folder in which all is well.
    pub(crate) fn good() -> Self {
        Self::empty()
            .with("config.json", CONFIG)
            .with("pipelines/chat.yaml", CHAT)
            .with("prompts/router.txt", "route the question")
            .with("prompts/answer.md", "answer from the evidence only")
    }

    pub(crate) fn empty() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("contract-{}-{number}", std::process::id());
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(name, content);
        self
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.0.join(name)).unwrap();
    }

    pub(crate) fn open(&self) -> ContractFolder {
        ContractFolder::open(&self.0).unwrap()
    }

    pub(crate) fn check(&self) -> Result<CheckedContract, ContractError> {
        self.open().load("chat")?.check(&words())
    }

    /// The failure's text under both policies, which must agree, with paths from the folder on.
    pub(crate) fn failure(&self) -> String {
        let text = |policy| {
            let check = || self.open().policy(policy).load("chat")?.check(&words());
            let error: ContractError = check().unwrap_err();
            error.to_string().replace(&format!("{}/", self.0.display()), "")
        };
        let fail_fast = text(LimitsPolicy::FailFast);
        assert_eq!(fail_fast, text(LimitsPolicy::AutoClamp));
        fail_fast
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
