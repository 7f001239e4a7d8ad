//! Conversations that look like some: frequent words and rare ones.

use cupel_archive::{Append, Archive, ArchiveMessage};

use cupel_dev::random::Random;

/// The messages of most conversations, and those of the few long ones beside them.
pub(crate) const IN_EACH: usize = 100;
pub(crate) const IN_LONG: usize = 5_000;

const WORDS: usize = 20_000;

/// A word by its rank.
fn word(rank: usize) -> String {
    let consonants = b"bdfgklmnprstvz";
    let vowels = b"aeiou";
    let mut rank = rank + 70;
    let mut word = String::new();
    while rank > 0 {
        word.push(char::from(consonants[rank % consonants.len()]));
        rank /= consonants.len();
        word.push(char::from(vowels[rank % vowels.len()]));
        rank /= vowels.len();
    }
    word
}

/// A word that is the rarer, the more there are of its kind.
fn any_word(random: &mut Random) -> String {
    let share = random.unit();
    word(((WORDS as f64).powf(share) - 1.0) as usize)
}

/// A message of about 40 words.
pub(crate) fn text(random: &mut Random) -> String {
    let words = 20 + random.below(40);
    let words: Vec<String> = (0..words).map(|_| any_word(random)).collect();
    words.join(" ")
}

/// A question of five words, as rare or frequent as those of the messages.
pub(crate) fn question(random: &mut Random) -> String {
    (0..5).map(|_| any_word(random)).collect::<Vec<_>>().join(" ")
}

pub(crate) fn name(conversation: usize) -> String {
    format!("conversation {conversation}")
}

pub(crate) fn long_name(conversation: usize) -> String {
    format!("long {conversation}")
}

/// Fills an archive and returns how many conversations it has, beside `long` long ones.
pub(crate) async fn fill(archive: &Archive, messages: usize, long: usize) -> usize {
    let tenant = archive.namespace("bench").unwrap();
    let mut random = Random(42);
    let conversations = messages / IN_EACH;
    let short = (0..conversations).map(|number| (name(number), IN_EACH));
    let long = (0..long).map(|number| (long_name(number), IN_LONG));
    for (name, messages) in short.chain(long) {
        let texts: Vec<String> = (0..messages).map(|_| text(&mut random)).collect();
        let conversation = tenant.conversation(name).unwrap();
        conversation
            .append(Append::new(texts.into_iter().map(ArchiveMessage::user)))
            .await
            .unwrap();
    }
    conversations
}
