//! Finding what belongs to a question.

use cupel_archive::{Append, Conversation, Found, Language, Message, Search};

use crate::in_both;
use crate::support::Database;

const SAID: [&str; 12] = [
    "Good morning, what can I do for you?",
    "My parcel INV-2041 has not arrived.",
    "It was handed to the courier in Lyon on Tuesday.",
    "Thanks. By the way, I am allergic to peanuts.",
    "I will remember that.",
    "What is the weather like in Oslo?",
    "Cold and clear, minus four degrees.",
    "Can you book a table for Friday?",
    "Done: eight o'clock at the harbour.",
    "Does getUserById cache its answers?",
    "It keeps them for five minutes.",
    "Which invoices are still open?",
];

async fn conversation(database: &Database, name: &str) -> Conversation {
    let tenant = database.open().await.namespace("t").unwrap();
    let conversation = tenant.conversation(name).unwrap();
    conversation.append(Append::new(SAID.map(Message::user))).await.unwrap();
    conversation
}

fn texts(found: &[Found]) -> Vec<&str> {
    found.iter().map(|found| found.stored.message.content.as_str()).collect()
}

in_both! {
    async fn the_best_comes_first_and_brings_what_stands_next_to_it(database) {
        let conversation = conversation(database, "c").await;
        for (question, best) in [
            ("Where is INV 2041?", 1),
            ("What am I ALLERGIC to?", 3),
            ("Tell me about user ids", 9),
            ("Is there an open invoice?", 11),
            ("What happens on Fridays?", 7),
        ] {
            let found = conversation.search(question).await.unwrap();
            assert_eq!(found.first().map(|it| it.stored.number), Some(best + 1), "{question}: {found:#?}");
            let falls = found.windows(2).all(|two| two[0].relevance >= two[1].relevance);
            assert!(falls && found.iter().all(|it| (0.0..1.0).contains(&it.relevance)));
            assert!(!found[0].words.is_empty());
        }
        // The answer shares no word with the question.
        let found = conversation.search("parcel").await.unwrap();
        assert!(texts(&found).contains(&SAID[2]), "{found:#?}");
        assert!(!texts(&found).contains(&SAID[9]));
    }

    async fn a_question_without_telling_words_finds_nothing(database) {
        let conversation = conversation(database, "c").await;
        for question in ["", "yes", "go on", "?!", "🙂", "zzzyx", " \0 "] {
            assert_eq!(conversation.search(question).await.unwrap(), [], "{question:?}");
        }
        assert_eq!(conversation.search(Search::new("parcel").limit(0)).await.unwrap(), []);
        let nobody = conversation.namespace().conversation("nobody").unwrap();
        assert_eq!(nobody.search("parcel").await.unwrap(), []);
    }

    async fn questions_full_of_operators_are_questions(database) {
        let conversation = conversation(database, "c").await;
        let mut questions: Vec<String> = [
            "parcel \" OR 1=1 --", "NEAR(parcel lyon", "NEAR(parcel, 5)", "parcel*", "terms:parcel",
            "parcel AND NOT \"", "'parcel'); DELETE FROM cupel_messages; --", "parcel:*", "!parcel | &",
            "<-> parcel", "{parcel}", "^parcel + -parcel", "parcel\\'", "parcel %_ ()", "_n _c1 parcel",
            "parcel\0parcel", "parcel ' OR namespace = 'u",
        ].map(str::to_owned).to_vec();
        for byte in (0..=127_u8).filter(|byte| !byte.is_ascii_alphanumeric()) {
            questions.push(format!("{0}parcel{0} {0}", char::from(byte)));
        }
        for question in questions {
            let found = conversation.search(question.as_str()).await.unwrap();
            assert_eq!(found.first().map(|it| it.stored.number), Some(2), "{question}");
        }
        assert_eq!(conversation.recent(99).await.unwrap().len(), SAID.len());
    }

    async fn texts_larger_than_an_index_takes_are_found_by_their_beginning(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let mut large = String::from("needle ");
        for number in 0..300_000 {
            large.push_str(&format!("w{number}x "));
        }
        let long_word = "longword".repeat(1_000);
        let large = [large, long_word.clone()].map(Message::tool);
        conversation.append(Append::new(large)).await.unwrap();
        let found = conversation.search("Where is the needle?").await.unwrap();
        assert_eq!(found.first().map(|it| it.stored.number), Some(1));
        conversation.search(long_word.repeat(20).as_str()).await.unwrap();
        conversation.search("many words ".repeat(100_000).as_str()).await.unwrap();
    }

    async fn what_is_gone_is_not_found(database) {
        let conversation = conversation(database, "c").await;
        let last = conversation.pop().await.unwrap().unwrap();
        assert_eq!(last.message.content, SAID[11]);
        assert_eq!(conversation.search("invoices").await.unwrap(), []);
        assert!(!conversation.search("peanuts").await.unwrap().is_empty());
        conversation.forget().await.unwrap();
        assert_eq!(conversation.search("peanuts").await.unwrap(), []);
        assert_eq!(conversation.namespace().search("peanuts").await.unwrap(), []);
    }

    async fn a_search_can_end_before_a_message_or_go_through_all_conversations(database) {
        let here = conversation(database, "here").await;
        let tenant = here.namespace().clone();
        let there = tenant.conversation("there").unwrap();
        there.append([Message::user("Parcels to Lyon take two days.")]).await.unwrap();
        assert_eq!(here.search(Search::new("parcel").before(2)).await.unwrap(), []);
        assert!(!here.search(Search::new("parcel").before(3)).await.unwrap().is_empty());

        let everywhere = tenant.search("parcel to Lyon").await.unwrap();
        let first = (everywhere[0].conversation.as_str(), everywhere[0].stored.number);
        assert_eq!(first, ("there", 1));
        assert!(everywhere.iter().any(|found| found.conversation == "here"));
        let elsewhere = tenant.search(Search::new("parcel to Lyon").except("there")).await.unwrap();
        assert!(!elsewhere.is_empty());
        assert!(elsewhere.iter().all(|found| found.conversation == "here"));
    }

    async fn how_rare_a_word_is_counts_in_its_conversation_alone(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        // Elsewhere everybody speaks of refunds and nobody of couriers; here it is the other way round.
        let elsewhere = tenant.conversation("elsewhere").unwrap();
        let many = (0..60).map(|n| Message::user(format!("refund number {n}")));
        elsewhere.append(Append::new(many)).await.unwrap();
        let here = tenant.conversation("here").unwrap();
        let mut said: Vec<Message> =
            (0..40).map(|n| Message::user(format!("the courier of day {n}")).tokens(500)).collect();
        said[20] = Message::user("the refund of day twenty").tokens(500);
        here.append(said).await.unwrap();
        let found = here.search("courier refund").await.unwrap();
        assert_eq!(found[0].stored.number, 21, "{found:#?}");
    }

    async fn the_language_of_the_words_stays(database) {
        let archive = database.builder().language(Language::German).open().await.unwrap();
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([Message::user("Die Rechnungen kamen zweimal.")]).await.unwrap();
        let again = database.open().await;
        let conversation = again.namespace("t").unwrap().conversation("c").unwrap();
        assert_eq!(conversation.search("Welche Rechnung?").await.unwrap().len(), 1);
        let error = database.builder().language(Language::English).open().await.unwrap_err();
        assert!(error.to_string().contains("got english, but"), "{error}");
    }

    async fn of_many_messages_the_few_that_match_best_are_read(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let mut said: Vec<Message> =
            (0..3_000).map(|n| Message::user(format!("delivery note {n} signed"))).collect();
        said[1_234] = Message::user("the delivery with the broken seal");
        conversation.append(said).await.unwrap();
        let search = Search::new("Which delivery had a broken seal?").read(20).limit(3);
        let found = conversation.search(search).await.unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].stored.number, 1_235);
    }
}
