//! Finding what belongs to a question.

use cupel::relevance::{Candidate, Judge as _, Lexical, Question};
use cupel_archive::{Append, ArchiveMessage, ConversationHandle, Language, Search, SearchHit};

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

/// Number of messages before the searched one: a short conversation is read whole, a long one uses
/// the index.
const LENGTHS: [i64; 2] = [0, 500];

async fn conversation(database: &Database, name: &str, before: i64) -> ConversationHandle {
    let tenant = database.open().await.namespace("t").unwrap();
    let conversation = tenant.conversation(name).unwrap();
    let filler = (0..before).map(|_| ArchiveMessage::assistant("blah").tokens(500));
    conversation.append(Append::new(filler.chain(SAID.map(ArchiveMessage::user)))).await.unwrap();
    conversation
}

fn texts(found: &[SearchHit]) -> Vec<&str> {
    found.iter().map(|found| found.stored.message.content.as_str()).collect()
}

in_both! {
    async fn the_best_comes_first_and_brings_what_stands_next_to_it(database) {
        for before in LENGTHS {
            let conversation = conversation(database, &format!("c{before}"), before).await;
            for (question, best) in [
                ("Where is INV 2041?", 1),
                ("What am I ALLERGIC to?", 3),
                ("Tell me about user ids", 9),
                ("Is there an open invoice?", 11),
                ("What happens on Fridays?", 7),
            ] {
                let found = conversation.search(question).await.unwrap();
                let first = found.first().map(|it| it.stored.number);
                assert_eq!(first, Some(before + best + 1), "{question}: {found:#?}");
                let falls = found.windows(2).all(|two| two[0].relevance >= two[1].relevance);
                assert!(falls && found.iter().all(|it| (0.0..1.0).contains(&it.relevance)));
                assert!(!found[0].words.is_empty());
                assert!(found.iter().all(|it| it.conversation == conversation.name()));
            }
            // The answer shares no word with the question.
            let found = conversation.search("parcel").await.unwrap();
            assert!(texts(&found).contains(&SAID[2]), "{found:#?}");
            assert!(!texts(&found).contains(&SAID[9]));
        }
    }

    async fn a_short_conversation_is_judged_as_a_whole_and_a_long_one_much_alike(database) {
        let mut numbers = Vec::new();
        for before in LENGTHS {
            let conversation = conversation(database, &format!("c{before}"), before).await;
            let question = "Which parcel went to Lyon, and what was cold in Oslo?";
            let found = conversation.search(Search::new(question).limit(99)).await.unwrap();
            numbers.push(found.iter().map(|it| it.stored.number - before).collect::<Vec<_>>());
            if before == 0 {
                let all = conversation.recent(99).await.unwrap();
                let candidates: Vec<Candidate<'_>> = all
                    .iter()
                    .enumerate()
                    .map(|(at, it)| Candidate::new(&it.message.content, it.message.tokens).at(at))
                    .collect();
                let verdict = Lexical::new().judge(&Question::new(question), &candidates).unwrap();
                for found in &found {
                    let hint = &verdict.hints[usize::try_from(found.stored.number).unwrap() - 1];
                    assert_eq!((found.relevance, found.words.len()), (hint.value(), hint.words().count()));
                }
            }
        }
        assert!(numbers[0].len() >= 7, "{numbers:?}");
        // How rare a word is differs, and with it the order further down.
        assert_eq!(numbers[0][0], numbers[1][0], "{numbers:?}");
        let sorted = |mut numbers: Vec<i64>| { numbers.sort_unstable(); numbers };
        let (short, long) = (sorted(numbers.remove(0)), sorted(numbers.remove(0)));
        // In the long one what stood before is next to it.
        assert_eq!(short, long.into_iter().filter(|number| *number > 0).collect::<Vec<_>>());
    }

    async fn a_question_without_telling_words_finds_nothing(database) {
        for before in LENGTHS {
            let conversation = conversation(database, &format!("c{before}"), before).await;
            for question in ["", "yes", "go on", "?!", "🙂", "zzzyx", " \0 "] {
                assert_eq!(conversation.search(question).await.unwrap(), [], "{question:?}");
            }
            assert_eq!(conversation.search(Search::new("parcel").limit(0)).await.unwrap(), []);
            let nobody = conversation.namespace().conversation("nobody").unwrap();
            assert_eq!(nobody.search("parcel").await.unwrap(), []);
        }
    }

    async fn questions_full_of_operators_are_questions(database) {
        let short = conversation(database, "short", LENGTHS[0]).await;
        let long = conversation(database, "long", LENGTHS[1]).await;
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
            for (conversation, before) in [&short, &long].into_iter().zip(LENGTHS) {
                let found = conversation.search(question.as_str()).await.unwrap();
                assert_eq!(found.first().map(|it| it.stored.number), Some(before + 2), "{question}");
            }
            let found = short.namespace().search(question.as_str()).await.unwrap();
            assert_eq!(texts(&found)[..2], [SAID[1]; 2], "{question}");
        }
        assert_eq!(short.recent(99).await.unwrap().len(), SAID.len());
    }

    async fn texts_larger_than_an_index_takes_are_found_by_their_beginning(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let mut large = String::from("needle ");
        for number in 0..300_000 {
            large.push_str(&format!("w{number}x "));
        }
        let long_word = "longword".repeat(1_000);
        let large = [large, long_word.clone()].map(ArchiveMessage::tool);
        conversation.append(Append::new(large)).await.unwrap();
        let found = conversation.search("Where is the needle?").await.unwrap();
        assert_eq!(found.first().map(|it| it.stored.number), Some(1));
        conversation.search(long_word.repeat(20).as_str()).await.unwrap();
        conversation.search("many words ".repeat(100_000).as_str()).await.unwrap();
    }

    async fn what_is_gone_is_not_found(database) {
        for before in LENGTHS {
            let conversation = conversation(database, &format!("c{before}"), before).await;
            let last = conversation.pop().await.unwrap().unwrap();
            assert_eq!(last.message.content, SAID[11]);
            assert_eq!(conversation.search("invoices").await.unwrap(), []);
            assert!(!conversation.search("peanuts").await.unwrap().is_empty());
            conversation.forget().await.unwrap();
            assert_eq!(conversation.search("peanuts").await.unwrap(), []);
            assert_eq!(conversation.namespace().search("peanuts").await.unwrap(), []);
        }
    }

    async fn a_search_can_end_before_a_message_or_go_through_all_conversations(database) {
        let long = conversation(database, "here", LENGTHS[1]).await;
        assert_eq!(long.search(Search::new("parcel").before(502)).await.unwrap(), []);
        assert!(!long.search(Search::new("parcel").before(503)).await.unwrap().is_empty());
        long.forget().await.unwrap();
        let here = database.open().await.namespace("t").unwrap().conversation("there too").unwrap();
        here.append(Append::new(SAID.map(ArchiveMessage::user))).await.unwrap();
        for (before, finds) in [(i64::MIN, false), (0, false), (2, false), (3, true), (i64::MAX, true)] {
            let found = here.search(Search::new("parcel").before(before)).await.unwrap();
            assert_eq!(!found.is_empty(), finds, "{before}");
        }
        let tenant = here.namespace().clone();
        let there = tenant.conversation("there").unwrap();
        there.append([ArchiveMessage::user("Parcels to Lyon take two days.")]).await.unwrap();
        let everywhere = tenant.search("parcel to Lyon").await.unwrap();
        let first = (everywhere[0].conversation.as_str(), everywhere[0].stored.number);
        assert_eq!(first, ("there", 1));
        assert!(everywhere.iter().any(|found| found.conversation == "there too"));
        let elsewhere = tenant.search(Search::new("parcel to Lyon").except("there")).await.unwrap();
        assert!(!elsewhere.is_empty());
        assert!(elsewhere.iter().all(|found| found.conversation == "there too"));
    }

    async fn how_rare_a_word_is_counts_in_its_conversation_alone(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        // Elsewhere everybody speaks of refunds and nobody of couriers; here it is the other way round.
        let elsewhere = tenant.conversation("elsewhere").unwrap();
        let many = (0..2_000).map(|n| ArchiveMessage::user(format!("refund number {n}")));
        elsewhere.append(Append::new(many)).await.unwrap();
        for messages in [40, 540] {
            let here = tenant.conversation(format!("here {messages}")).unwrap();
            let courier = |n| ArchiveMessage::user(format!("the courier of day {n}")).tokens(500);
            let mut said: Vec<ArchiveMessage> = (0..messages).map(courier).collect();
            said[20] = ArchiveMessage::user("the refund of day twenty").tokens(500);
            here.append(said).await.unwrap();
            let found = here.search("courier refund").await.unwrap();
            assert_eq!(found[0].stored.number, 21, "{found:#?}");
        }
    }

    async fn the_language_of_the_words_stays(database) {
        let archive = database.builder().language(Language::German).open().await.unwrap();
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([ArchiveMessage::user("Die Rechnungen kamen zweimal.")]).await.unwrap();
        let again = database.open().await;
        let conversation = again.namespace("t").unwrap().conversation("c").unwrap();
        assert_eq!(conversation.search("Welche Rechnung?").await.unwrap().len(), 1);
        let error = database.builder().language(Language::English).open().await.unwrap_err();
        assert!(error.to_string().contains("got english, but"), "{error}");
    }

    async fn a_word_that_nearly_all_messages_have_is_counted_and_not_collected(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let mut said: Vec<ArchiveMessage> =
            (0..10_400).map(|n| ArchiveMessage::user(format!("delivery {}", n % 7)).tokens(500)).collect();
        said[5_000] = ArchiveMessage::user("delivery of seals").tokens(500);
        conversation.append(said).await.unwrap();
        for search in [Search::new("Which delivery had a seal?"), Search::new("delivery seal").read(1)] {
            for found in [
                conversation.search(search.clone()).await.unwrap(),
                conversation.namespace().search(search.clone()).await.unwrap(),
            ] {
                assert_eq!(found[0].stored.number, 5_001, "{found:#?}");
                // Common as it is, the word alone is worth next to nothing.
                let (best, next) = (found[0].relevance, found[1].relevance);
                assert!(best > 0.5 && next < 0.2, "{best} {next}");
            }
        }
        assert_eq!(conversation.search("delivery").await.unwrap().len(), 10);
        let elsewhere = Search::new("delivery").except("c");
        assert_eq!(conversation.namespace().search(elsewhere).await.unwrap(), []);
    }

    async fn of_many_messages_the_few_that_match_best_are_read(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let mut said: Vec<ArchiveMessage> =
            (0..3_000).map(|n| ArchiveMessage::user(format!("delivery note {n} signed"))).collect();
        said[1_234] = ArchiveMessage::user("the delivery with the broken seal");
        conversation.append(said).await.unwrap();
        let search = Search::new("Which delivery had a broken seal?").read(20).limit(3);
        let found = conversation.search(search).await.unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].stored.number, 1_235);
    }
}
