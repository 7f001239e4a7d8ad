//! The whole of what an excerpt was made of.

use cupel_archive::{Append, ArchiveMessage, original};

use crate::in_both;

in_both! {
    async fn a_tools_result_is_found_by_its_key_in_its_namespace_only(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        let conversation = tenant.conversation("c").unwrap();
        let log = "building…\nerror: \0 in line 7\n".repeat(500);
        let messages = [
            ArchiveMessage::user("asked"),
            ArchiveMessage::tool(log.as_str()),
            ArchiveMessage::user("two results").original("first").original("second"),
        ];
        conversation.append(Append::new(messages)).await.unwrap();
        for text in [log.as_str(), "first", "second"] {
            let key = original::key(text);
            assert_eq!(tenant.original(&key).await.unwrap().as_deref(), Some(text));
            let other = archive.namespace("u").unwrap();
            assert_eq!(other.original(&key).await.unwrap(), None);
        }
        for nothing in ["", "x", "asked", &original::key("asked"), "zz", &"0".repeat(32), "' OR 1=1"] {
            assert_eq!(tenant.original(nothing).await.unwrap(), None, "{nothing}");
        }
        // With the message goes its original.
        conversation.pop().await.unwrap();
        assert_eq!(tenant.original(&original::key("first")).await.unwrap(), None);
        conversation.forget().await.unwrap();
        assert_eq!(tenant.original(&original::key(&log)).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_model_reads_an_original_part_by_part() {
    let archive = cupel_archive::Archive::open("sqlite::memory:").await.unwrap();
    let tenant = archive.namespace("t").unwrap();
    let text = "äöü".repeat(5_000);
    let conversation = tenant.conversation("c").unwrap();
    conversation.append([ArchiveMessage::tool(text.as_str())]).await.unwrap();
    let key = original::key(&text);
    let ask = async |arguments: serde_json::Value| {
        original::answer(&tenant, &arguments.to_string()).await.unwrap()
    };
    let whole = ask(serde_json::json!({ "key": key })).await;
    assert!(whole.starts_with("äöü") && whole.ends_with("[characters 0 to 8000 of 15000]"));
    let part = ask(serde_json::json!({ "key": key, "offset": 14_998, "length": 50 })).await;
    assert_eq!(part, "öü\n[characters 14998 to 15000 of 15000]");
    let beyond = ask(serde_json::json!({ "key": key, "offset": u64::MAX })).await;
    assert_eq!(beyond, "\n[characters 15000 to 15000 of 15000]");
    assert!(ask(serde_json::json!({ "key": "nonsense" })).await.contains("No text has the key"));
    for wrong in ["", "{}", r#"{"key":7}"#, r#"{"key":"x","offset":-1}"#] {
        let answer = original::answer(&tenant, wrong).await.unwrap();
        assert!(answer.starts_with("The arguments are wrong"), "{wrong}: {answer}");
    }
    let definition = original::definition();
    assert_eq!(definition["function"]["name"], original::NAME);
    assert_eq!(definition["function"]["parameters"]["required"][0], "key");
}
