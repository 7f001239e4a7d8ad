//! Written conversations of a user and a model in which one sentence answers a question.
//!
//! Replies are long and repeat the topic's words, as a model's do. Half of the facts are a sentence among
//! others of the user, a quarter stands in the middle of a long reply, and a quarter changes later on: then
//! the question is about the newer one.

use cupel::relevance::Question;
use cupel::{ContextItem, ContextKind};

use crate::paraphrased::PARAPHRASED;
use crate::sets::item;

/// A conversation, and questions with the sentence that answers each.
pub struct PlantedFacts {
    pub items: Vec<ContextItem>,
    pub questions: Vec<(Question, String)>,
    /// The same questions in other words than the sentences.
    pub paraphrased: Vec<(Question, String)>,
}

/// Thing, question, sentence with `{}` for the value, and the values.
pub(crate) type Fact = (&'static str, &'static str, &'static str, [&'static str; 2]);

pub(crate) const FACTS: [Fact; 24] = [
    (
        "garden",
        "What colour is our garden gate?",
        "We painted the gate to the garden {}.",
        ["teal", "ochre"],
    ),
    (
        "garden",
        "Which variety of apple tree did we plant?",
        "The apple tree we planted is a {}.",
        ["Boskoop", "Discovery"],
    ),
    (
        "garden",
        "How many beds does the vegetable patch have?",
        "The patch for vegetables has {} beds.",
        ["seven", "eleven"],
    ),
    (
        "car",
        "Which mechanic services our van?",
        "The van gets its service from a mechanic called {}.",
        ["Okafor", "Lindqvist"],
    ),
    (
        "car",
        "What is the pressure for the rear tyres?",
        "Rear tyres take {} bar, says the sticker.",
        ["2.9", "3.4"],
    ),
    (
        "car",
        "When does the insurance of the van end?",
        "Insurance for the van runs out on {}.",
        ["14 May", "2 October"],
    ),
    (
        "travel",
        "Which ferry are we taking to the island?",
        "Our ferry to the island is the {}.",
        ["Marjatta", "Saint Brendan"],
    ),
    (
        "travel",
        "How long is the layover in the airport?",
        "The layover at the airport lasts {}.",
        ["five hours", "95 minutes"],
    ),
    (
        "travel",
        "What is the name of the guest house?",
        "We sleep in a guest house named {}.",
        ["Vier Linden", "Casa Alba"],
    ),
    (
        "kitchen",
        "What oven temperature does grandmother's bread need?",
        "Grandmother's bread wants the oven at {} degrees.",
        ["235", "180"],
    ),
    (
        "kitchen",
        "Which flour do I buy for the dumplings?",
        "For dumplings I only buy flour of type {}.",
        ["W480", "1050"],
    ),
    (
        "kitchen",
        "Who is allergic among our dinner guests?",
        "Of the guests at dinner, {} has an allergy to nuts.",
        ["Ines", "Tobias"],
    ),
    (
        "dog",
        "What is our dog's chip number?",
        "The chip of the dog has number {}.",
        ["4471-90", "8823-15"],
    ),
    (
        "dog",
        "Which vet treated the paw?",
        "The paw was treated by the vet {}.",
        ["Dr Marsh", "Dr Yilmaz"],
    ),
    (
        "dog",
        "How much kibble does she get in the morning?",
        "In the morning she gets {} grams of kibble.",
        ["140", "95"],
    ),
    (
        "project",
        "Which port does the staging database listen on?",
        "Our staging database listens on port {}.",
        ["5544", "6012"],
    ),
    (
        "project",
        "Who signs off the releases?",
        "Releases are signed off by {}.",
        ["Hanneke", "Rasheed"],
    ),
    (
        "project",
        "What limit do uploads have?",
        "Uploads have a limit of {} megabytes.",
        ["48", "320"],
    ),
    (
        "taxes",
        "What is my reference at the tax office?",
        "My reference at the tax office is {}.",
        ["TR-19-442", "KX-77-120"],
    ),
    (
        "taxes",
        "How much did the accountant charge?",
        "The accountant charged {} for the return.",
        ["410 euros", "265 euros"],
    ),
    (
        "taxes",
        "Which receipts are still missing?",
        "The receipts that are missing are those for the {}.",
        ["piano", "scaffold"],
    ),
    (
        "choir",
        "In which church do we rehearse?",
        "We rehearse in the church of {}.",
        ["Saint Olaf", "the Carmelites"],
    ),
    (
        "choir",
        "Who conducts the requiem?",
        "The requiem is conducted by {}.",
        ["Petrov", "Amelie Roth"],
    ),
    (
        "choir",
        "How many tenors do we have?",
        "There are {} tenors in the choir now.",
        ["nine", "fourteen"],
    ),
];

const REPLY: [&str; 10] = [
    "Here is how I would think about the {}.",
    "First, write down what you already know about the {}, and keep that list where everybody can see it.",
    "Many people spend too much on the {} in the first month and too little attention in the second.",
    "A good rule for the {} is to decide on one thing a week and to leave the rest as it is.",
    "If something about the {} changes, tell me and I will adapt the plan.",
    "- Check the {} on the same weekday, so that it becomes a habit.",
    "- Keep every bill that has to do with the {} in one folder.",
    "- Ask a neighbour who has done something similar about the {} before you pay anybody.",
    "The most common mistake with the {} is to begin with the details.",
    "In short: small steps, one list, and a look at the {} every Sunday.",
];

const CHAT: [&str; 8] = [
    "Thanks, that helps with the {}.",
    "I have been busy, so the {} had to wait.",
    "My sister thinks that I worry too much about the {}.",
    "It rained the whole week.",
    "Can we talk about the {} again?",
    "I would like a plan for the {} that does not take all my evenings.",
    "What do you think I should do about the {} next?",
    "By the way, the neighbours asked about it as well.",
];

/// Numbers that look random and are always the same.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    pub(crate) fn sentences(
        &mut self,
        of: &[&str],
        count: usize,
        topic: &str,
        between: &str,
    ) -> Vec<String> {
        let mut sentence = || of[self.below(of.len())].replace("{}", topic) + between;
        (0..count).map(|_| sentence()).collect()
    }
}

/// Lengths of the model's replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replies {
    /// One or two sentences.
    Short,
    /// Up to 24 sentences.
    Long,
}

/// Conversations with 24 questions each.
pub fn conversations(replies: Replies) -> Vec<PlantedFacts> {
    (1..=3).map(|seed| conversation(seed, replies)).collect()
}

fn conversation(seed: u64, replies: Replies) -> PlantedFacts {
    let mut dice = Dice(seed);
    let topics: Vec<&str> = FACTS.iter().step_by(3).map(|fact| fact.0).collect();
    let (mut items, mut questions, mut paraphrased) = (Vec::new(), Vec::new(), Vec::new());
    let mut exchange =
        |dice: &mut Dice, topic: &str, user: Option<String>, model: Option<String>| {
            let is_short = replies == Replies::Short;
            let mut said = dice.sentences(&CHAT, if is_short { 1 } else { 3 }, topic, " ");
            said.insert(1, user.map(|fact| fact + " ").unwrap_or_default());
            let count = if is_short { 1 + dice.below(2) } else { 12 + dice.below(12) };
            let mut reply = dice.sentences(&REPLY, count, topic, "\n");
            reply.insert(count / 2, model.map(|fact| fact + "\n").unwrap_or_default());
            for (role, text) in [("user", said.concat()), ("assistant", reply.concat())] {
                items.push(item(&format!("{role}: {}", text.trim_end()), ContextKind::message()));
            }
        };
    for (number, (topic, question, sentence, values)) in FACTS.iter().enumerate() {
        let [old, new] = values.map(|value| sentence.replace("{}", value));
        match (number + seed as usize) % 4 {
            0 => exchange(&mut dice, topic, None, Some(new.clone())),
            1 => {
                exchange(&mut dice, topic, Some(old), None);
                exchange(&mut dice, topic, Some(new.clone()), None);
            }
            _ => exchange(&mut dice, topic, Some(new.clone()), None),
        }
        let other = PARAPHRASED.get(number).copied().unwrap_or_default();
        paraphrased.push((Question::new(other), new.clone()));
        questions.push((Question::new(*question), new));
        for _ in 0..2 {
            let topic = topics[dice.below(topics.len())];
            exchange(&mut dice, topic, None, None);
        }
    }
    for _ in 0..20 {
        let topic = topics[dice.below(topics.len())];
        exchange(&mut dice, topic, None, None);
    }
    PlantedFacts { items, questions, paraphrased }
}
