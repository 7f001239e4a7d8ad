//! rig's memory over the archive.

use cupel_archive::original::{self, RigOriginals};
use cupel_archive::{Archive, Search};
use rig_agent::AgentBuilder;
use rig_core::memory::ConversationMemory;
use rig_core::message::Message;
use rig_core::test_utils::MockCompletionModel;

use crate::in_both;

in_both! {
    async fn messages_of_rig_come_back_as_they_were(database) {
        let archive = database.open().await;
        let memory = archive.namespace("t").unwrap();
        let thread = "thread-1".into();
        assert_eq!(memory.load(&thread).await.unwrap(), []);
        let mut messages = vec![Message::user("Read the log.")];
        messages.push(Message::assistant("It says \0 nothing of INV-2041."));
        memory.append(&thread, messages.clone()).await.unwrap();
        memory.append(&thread, vec![Message::user("Thanks")]).await.unwrap();
        messages.push(Message::user("Thanks"));
        assert_eq!(memory.load(&thread).await.unwrap(), messages);
        let conversation = memory.conversation("thread-1").unwrap();
        let found = conversation.search(Search::new("invoice 2041")).await.unwrap();
        assert_eq!(found[0].stored.number, 2);
        memory.clear(&thread).await.unwrap();
        assert_eq!(memory.load(&thread).await.unwrap(), []);
        assert!(memory.load(&"".into()).await.is_err());
    }

    async fn an_agent_remembers_in_another_process_what_it_was_told(database) {
        let ask = async |question: &str, answer: &str| {
            let archive = database.open().await;
            let model = MockCompletionModel::text(answer);
            let agent = AgentBuilder::new(model)
                .memory(archive.namespace("t").unwrap())
                .tool(RigOriginals::new(archive.namespace("t").unwrap()))
                .build();
            agent.prompt(question).conversation("thread-1").await.unwrap();
            archive.close().await;
        };
        ask("I am allergic to nuts.", "Noted.").await;
        ask("What am I allergic to?", "Nuts.").await;
        let archive = database.open().await;
        let memory = archive.namespace("t").unwrap();
        let all = memory.load(&"thread-1".into()).await.unwrap();
        assert_eq!(all.len(), 4, "{all:?}");
    }
}

#[tokio::test]
async fn results_of_tools_are_originals() {
    use rig_core::message::{CallId, ToolName};
    let archive = Archive::open("sqlite::memory:").await.unwrap();
    let memory = archive.namespace("t").unwrap();
    let name = ToolName::new("read_log").unwrap();
    let message = Message::tool_result(CallId::from_wire("call-1"), name, "the whole log");
    memory.append(&"c".into(), vec![message.clone()]).await.unwrap();
    let key = original::key("the whole log");
    assert_eq!(memory.original(&key).await.unwrap().as_deref(), Some("the whole log"));
    assert_eq!(memory.load(&"c".into()).await.unwrap(), [message]);
}
