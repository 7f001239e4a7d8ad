//! Several writers of one conversation get one order.

use std::collections::HashMap;

use cupel_archive::{Append, ArchiveMessage};

use crate::in_both;

const WRITERS: usize = 6;
const APPENDS: usize = 15;

in_both! {
    async fn writers_get_one_order_and_their_messages_stand_together(database) {
        // Two archives are two sets of connections, as two processes would have.
        let archives = [database.open().await, database.open().await];
        let tasks = (0..WRITERS).map(|writer| {
            let archive = &archives[writer % 2];
            let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
            tokio::spawn(async move {
                let mut numbers = Vec::new();
                for append in 0..APPENDS {
                    let text = |part: usize| ArchiveMessage::user(format!("{writer} {append} {part}"));
                    let appended = conversation.append([text(0), text(1)].to_vec()).await.unwrap();
                    numbers.push(appended.numbers());
                }
                numbers
            })
        });
        let mut answered = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            answered.push(task.await.unwrap());
        }
        let conversation = archives[0].namespace("t").unwrap().conversation("c").unwrap();
        let all = conversation.recent(u32::MAX).await.unwrap();
        let numbers: Vec<i64> = all.iter().map(|stored| stored.number).collect();
        assert_eq!(numbers, (1..=(WRITERS * APPENDS * 2) as i64).collect::<Vec<_>>());
        let by_number: HashMap<i64, &str> =
            all.iter().map(|stored| (stored.number, stored.message.content.as_str())).collect();
        for (writer, appends) in answered.into_iter().enumerate() {
            let mut last = 0;
            for (append, numbers) in appends.into_iter().enumerate() {
                assert!(*numbers.start() > last, "a writer's appends keep their order");
                last = *numbers.end();
                for (part, number) in numbers.enumerate() {
                    assert_eq!(by_number[&number], format!("{writer} {append} {part}"));
                }
            }
        }
    }

    async fn a_conversation_that_is_forgotten_while_others_write_never_counts_anew(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let mut tasks = Vec::new();
        for _ in 0..4 {
            let conversation = conversation.clone();
            tasks.push(tokio::spawn(async move {
                let mut numbers = Vec::new();
                for round in 0..12 {
                    let append = Append::new([ArchiveMessage::user("x")]);
                    numbers.extend(conversation.append(append).await.unwrap().numbers());
                    if round % 4 == 3 {
                        conversation.forget().await.unwrap();
                    }
                }
                numbers
            }));
        }
        let mut numbers = Vec::new();
        for task in tasks {
            numbers.extend(task.await.unwrap());
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=48).collect::<Vec<_>>(), "each number is given once");
    }
}
