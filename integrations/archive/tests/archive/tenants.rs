//! No tenant sees another's messages, whatever anybody does.

use std::collections::BTreeMap;

use chrono::Utc;
use cupel_archive::{Append, ArchiveMessage, Namespace, Search, original};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::in_both;

#[derive(Debug, Clone)]
enum Step {
    Append { messages: usize, key: bool },
    Recent,
    Search,
    SearchAll,
    Original,
    Pop,
    Forget,
    ForgetAll,
    Expire,
    List,
}

fn step() -> impl Strategy<Value = (usize, usize, Step)> {
    let step = prop_oneof![
        6 => (1..4_usize, any::<bool>()).prop_map(|(messages, key)| Step::Append { messages, key }),
        2 => Just(Step::Recent),
        3 => Just(Step::Search),
        3 => Just(Step::SearchAll),
        2 => Just(Step::Original),
        1 => Just(Step::Pop),
        1 => Just(Step::Forget),
        1 => Just(Step::ForgetAll),
        1 => Just(Step::Expire),
        1 => Just(Step::List),
    ];
    (0..NAMESPACES.len(), 0..CONVERSATIONS.len(), step)
}

/// Names that look alike, or like parts of each other, or like a pattern.
const NAMESPACES: [&str; 5] = ["a", "A", "a/b", "%", "a'b"];
const CONVERSATIONS: [&str; 3] = ["b", "a/b", "_"];

fn text(namespace: usize, conversation: usize, number: usize) -> String {
    format!("secret of tenant{namespace}x in conversation{conversation}x number {number}")
}

/// Expected messages of a tenant: the texts of each conversation.
type Model = BTreeMap<(usize, usize), Vec<String>>;

async fn check(
    tenant: &Namespace,
    model: &Model,
    namespace: usize,
    conversation: usize,
    step: &Step,
) {
    let handle = tenant.conversation(CONVERSATIONS[conversation]).unwrap();
    let expected = model.get(&(namespace, conversation)).cloned().unwrap_or_default();
    match step {
        Step::Search => {
            // Other tenants' own words are no help.
            for found in handle
                .search(Search::new("secret tenant0x tenant1x number").limit(99))
                .await
                .unwrap()
            {
                assert!(expected.contains(&found.stored.message.content), "{found:?}");
            }
        }
        Step::SearchAll => {
            let found = tenant
                .search(Search::new("secret tenant0x tenant1x tenant2x").limit(99))
                .await
                .unwrap();
            for found in found {
                let conversation =
                    CONVERSATIONS.iter().position(|name| *name == found.conversation).unwrap();
                let texts = &model[&(namespace, conversation)];
                assert!(texts.contains(&found.stored.message.content), "{found:?}");
            }
        }
        Step::Original => {
            for ((owner, _), texts) in model {
                let Some(text) = texts.last() else { continue };
                let found = tenant.original(&original::key(text)).await.unwrap();
                assert_eq!(found.is_some(), *owner == namespace, "{text}");
            }
        }
        Step::List => {
            let names = tenant.conversations(None, 99).await.unwrap();
            let mut expected: Vec<&str> = (0..CONVERSATIONS.len())
                .filter(|conversation| {
                    model.get(&(namespace, *conversation)).is_some_and(|it| !it.is_empty())
                })
                .map(|conversation| CONVERSATIONS[conversation])
                .collect();
            expected.sort_unstable();
            assert!(expected.iter().all(|name| names.iter().any(|it| it == name)), "{names:?}");
        }
        _ => {}
    }
    let found = handle.recent(999).await.unwrap();
    let found: Vec<String> = found.into_iter().map(|stored| stored.message.content).collect();
    assert_eq!(found, expected, "{step:?}");
}

in_both! {
    async fn every_tenant_has_its_own_messages_and_no_others(database) {
        let archive = database.open().await;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut model = Model::new();
        let mut next = 0;
        for round in 0..180 {
            let (namespace, conversation, step) = step().new_tree(&mut runner).unwrap().current();
            let tenant = archive.namespace(NAMESPACES[namespace]).unwrap();
            let handle = tenant.conversation(CONVERSATIONS[conversation]).unwrap();
            match &step {
                Step::Append { messages, key } => {
                    let texts: Vec<String> = (0..*messages)
                        .map(|offset| text(namespace, conversation, next + offset))
                        .collect();
                    next += messages;
                    let mut append = Append::new(texts.iter().map(ArchiveMessage::tool));
                    if *key {
                        append = append.key(format!("key {round}"));
                    }
                    handle.append(append).await.unwrap();
                    model.entry((namespace, conversation)).or_default().extend(texts);
                }
                Step::Pop => {
                    let popped = handle.pop().await.unwrap().map(|stored| stored.message.content);
                    let expected = model.entry((namespace, conversation)).or_default().pop();
                    assert_eq!(popped, expected);
                }
                Step::Forget => {
                    handle.forget().await.unwrap();
                    model.remove(&(namespace, conversation));
                }
                Step::ForgetAll => {
                    tenant.forget_all().await.unwrap();
                    model.retain(|(owner, _), _| *owner != namespace);
                }
                Step::Expire => {
                    tenant.expire(Utc::now() + chrono::TimeDelta::seconds(1)).await.unwrap();
                    model.retain(|(owner, _), _| *owner != namespace);
                }
                _ => {}
            }
            check(&tenant, &model, namespace, conversation, &step).await;
        }
        // And in the end everybody has what is theirs.
        for (namespace, name) in NAMESPACES.iter().enumerate() {
            let tenant = archive.namespace(*name).unwrap();
            for conversation in 0..CONVERSATIONS.len() {
                for step in [Step::Search, Step::SearchAll, Step::Original, Step::List] {
                    check(&tenant, &model, namespace, conversation, &step).await;
                }
            }
        }
    }
}
