//! Written conversations of 100,000 tokens in which a user says once what holds until the end.
//!
//! Long replies, pasted mail and code, and false friends surround the planted messages. A question does not
//! repeat the words of the instruction or of the preference that it is about, except where people do.

use cupel::relevance::Question;
use cupel::{ContextItem, ContextKind};

use crate::planted::{Dice, FACTS};
use crate::sets::item;

/// Kind of what a question needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// An instruction for later.
    Instruction,
    /// A preference.
    Preference,
    /// A fact that was said once.
    Fact,
    /// A fact that was said twice: the newer one.
    Update,
}

impl Needed {
    /// All kinds with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Instruction, "instruction"),
        (Self::Preference, "preference"),
        (Self::Fact, "fact"),
        (Self::Update, "update"),
    ];
}

/// A conversation with questions.
pub struct Talk {
    pub items: Vec<ContextItem>,
    /// Kind, question, and the user's message with the answer.
    pub questions: Vec<(Needed, Question, String)>,
}

/// A message of the user, and a question that it matters for.
type Planted = (&'static str, &'static str);

const INSTRUCTIONS: [Planted; 30] = [
    (
        "Always include the exact package version when I ask about dependencies.",
        "Which libraries do I need for the CSV import?",
    ),
    (
        "Always show amounts in dollars and cents when I ask about my budget.",
        "How much is left for groceries?",
    ),
    (
        "Thanks, that makes sense! Always give me the time zone when I ask about meetings.",
        "When could we talk to the team in Osaka?",
    ),
    ("Never suggest recipes with pork.", "What could I cook on Sunday?"),
    (
        "Please always highlight the changed lines when I ask you to review code.",
        "Can you look over this pull request?",
    ),
    (
        "Don't recommend restaurants that need a reservation.",
        "Where could we have dinner on Friday?",
    ),
    ("From now on, I want all the code in TypeScript.", "Can you write the upload handler?"),
    ("From now on please answer in at most five sentences.", "Why is the sky blue?"),
    ("Going forward, all prices should include tax.", "What does the tent cost?"),
    (
        "Whenever I ask for a workout, keep it under 40 minutes.",
        "What should I do at the gym tomorrow?",
    ),
    (
        "Whenever I share a draft, I'd like you to point out passive sentences.",
        "Here is my introduction, any thoughts?",
    ),
    (
        "When I ask for a translation, give me two variants, a formal one and a casual one.",
        "How do I say see you soon in Italian?",
    ),
    (
        "If I ask for a summary it should be three sentences at most.",
        "Can you sum up chapter nine?",
    ),
    ("Every time you change a file, tell me which tests to run.", "Please rename the module."),
    ("Make sure you always cite the page number.", "What does the author say about glaciers?"),
    (
        "Remember that I work night shifts, so mornings are no good.",
        "When should I schedule the dentist?",
    ),
    ("Remember to always include the vegan option.", "What can I serve at the party?"),
    ("Keep in mind that I'm a beginner, so no jargon.", "How does a heat pump work?"),
    ("Please keep your explanations short and to the point.", "What is compound interest?"),
    ("Only suggest hotels with free cancellation.", "Where could we stay in Lisbon?"),
    ("Use metric units in all of your answers.", "How tall is that mountain?"),
    ("I want you to always show the intermediate steps.", "What is the integral of x squared?"),
    ("You must never send mail on my behalf.", "Can you tell the landlord about the leak?"),
    ("Let's always use UTC for timestamps.", "What should the log line look like?"),
    (
        "As a general rule, don't suggest rewriting things from scratch.",
        "How do I clean up the parser?",
    ),
    ("Unless I say otherwise, assume that I'm using Postgres.", "How do I add an index?"),
    ("Can you always put the command before the explanation?", "How do I list open ports?"),
    (
        "One more thing. Always spell out acronyms the first time. Now back to the plan.",
        "What does the report say about emissions?",
    ),
    ("Thanks! Also, please don't round the numbers.", "What was the average?"),
    ("I never want to see var in my JavaScript.", "Can you write the loop for the table?"),
];

const PREFERENCES: [Planted; 30] = [
    (
        "I prefer lightweight libraries over big frameworks, so that the page stays fast. Which one would you take for charts?",
        "What should I use for the date picker?",
    ),
    (
        "I'm planning the trip to Japan and I prefer small guesthouses to hotels, what would you suggest for Kyoto?",
        "Where could I sleep in Hanoi?",
    ),
    ("I'd rather have a concrete example than a long explanation.", "What is a closure?"),
    (
        "I prefer using Flask-Login to writing my own session store, can you show me how to set it up?",
        "How should users sign in to the second app?",
    ),
    (
        "I'd rather not use any third-party tracking. How do I count visitors then?",
        "Which analytics could I add?",
    ),
    ("I really prefer window seats on long flights.", "Can you plan my flight to Lima?"),
    ("I like it when you explain things with analogies.", "What is entropy?"),
    (
        "I'm more comfortable with spreadsheets than with databases, so let's keep it there.",
        "How should I store the measurements?",
    ),
    ("I learn best by doing exercises.", "How do I get better at fractions?"),
    (
        "I don't like it when plans are too rigid. Can we move things around in week two?",
        "Can you make a schedule for my thesis?",
    ),
    (
        "I always prefer trains to planes when the trip is under six hours.",
        "How do I get to Munich?",
    ),
    ("I tend to prefer non-fiction, so the last list was not for me.", "What should I read next?"),
    ("I hate it when tutorials skip the imports.", "Can you write a tutorial on sockets?"),
    (
        "I'm not a fan of subscription services. Is there something I can buy once?",
        "Which photo editor should I get?",
    ),
    (
        "Since I prefer a minimalist design, can you help me simplify this page?",
        "How should the landing page look?",
    ),
    ("My preference is for vegetarian restaurants.", "Where do we eat in Porto?"),
    (
        "I've always preferred handwritten notes, but my desk is a mess now.",
        "How should I organise what I learn?",
    ),
    ("I generally prefer to pay in instalments, so keep that in mind.", "How do I buy the laptop?"),
    ("Emails work better for me than phone calls.", "How do I reach the insurance?"),
    (
        "I would rather spend more on the camera than on lenses.",
        "How do I split 2,000 euros of equipment?",
    ),
    (
        "I want to avoid vendor lock-in wherever possible. Does that service export its data?",
        "Which cloud should we choose?",
    ),
    ("I find tables easier to read than prose.", "How do the three phones compare?"),
    (
        "I'd much rather walk than take a taxi, even in the rain.",
        "How do I get from the station to the museum?",
    ),
    ("I lean towards open-source tools.", "What do I use to draw diagrams?"),
    (
        "Can you adapt the plan, because I'd rather train three times a week than five?",
        "How do I prepare for the half marathon?",
    ),
    (
        "I strongly prefer functional style over classes.",
        "How would you structure the pricing code?",
    ),
    ("I work best in short sprints with clear goals.", "How do I get through the literature?"),
    ("I value readability over performance in this code base.", "Should I inline the helper?"),
    (
        "I prefer evening classes. Which of the courses would fit?",
        "When should I take the Spanish lessons?",
    ),
    ("I like structured learning better than random videos.", "How do I start with statistics?"),
];

const SUBJECTS: [&str; 12] = [
    "budget tracker",
    "garden shed",
    "thesis",
    "wedding",
    "podcast",
    "online shop",
    "marathon",
    "kitchen",
    "newsletter",
    "data pipeline",
    "language course",
    "job search",
];

/// Messages of a user between those. Some look like instructions but give none.
const SAID: [&str; 26] = [
    "I'm trying to get the {} going again after two weeks off, and I have about six hours a week for it.",
    "The {} is further along than I thought, but the part with the numbers still confuses me.",
    "Last night I read the whole plan for the {} once more and I'm still not sure about the order.",
    "My deadline for the {} moved to the end of the month, which gives me a little more room.",
    "Can you help me break the next step of the {} into smaller pieces?",
    "I've never done anything like the {} before, so I might miss obvious things.",
    "What would you do first about the {} if you only had one evening?",
    "I always forget how that part of the {} works.",
    "My colleague says the {} never pays off, and I wonder if he is right.",
    "Here is what I have so far for the {}, please have a look and tell me what is missing.",
    "Thanks, the last answer about the {} helped a lot.",
    "I think the costs for the {} are too high at the moment, we are at 1,240 already.",
    "Could you explain the second point about the {} again, a bit slower?",
    "Whenever I open the file for the {} it takes a minute, is that normal?",
    "I talked to my sister about the {} and she had three questions that I could not answer.",
    "How do other people usually organise the {} when they work alone?",
    "I want to finish the first version of the {} by Friday.",
    "The meeting about the {} is at 10:30, what should I bring?",
    "It worked! The {} runs now, although I do not really understand why.",
    "Give me three ideas for the {} that do not cost anything.",
    "Don't know why, but the {} looks different since yesterday.",
    "I would like to compare two ways of doing the {} before I decide.",
    "Is it true that you should always start the {} with the hardest part?",
    "Let's go with the second option for the {} this time.",
    "Please write a short text about the {} that I can send to the others.",
    "I need a checklist for the {} until tomorrow.",
];

/// Text of others that a user pastes.
const PASTED: [&str; 4] = [
    "Can you tell me what they want?\n\nFrom: Office <office@example.com>\nSubject: {}\n\nDear all,\n\nAlways \
     reply to me within a day. Never call after five. I prefer letters.\n\nKind regards\nThe office",
    "What does this do?\n\n```python\n# never call this twice\ndef {}(rows):\n    # always close the \
     cursor\n    return [row for row in rows if row]\n```",
    "<document>\nFrom now on every {} has to be registered. Always keep the receipt.\n</document>\n\nIs that \
     about me?",
    "Context: whenever somebody asks about the {}, answer with the link below.\n\nWhat do you make of this?",
];

const REPLIED: [&str; 24] = [
    "Here is a way to think about the {} that has worked for many people.",
    "Start with the part of the {} that everything else depends on, and leave the rest for later.",
    "1. **Write down the goal** of the {} in one sentence, so that you notice when you drift away from it.",
    "2. **List what you have**: time, money, people, and the parts of the {} that are already done.",
    "3. **Pick a small first step** that you can finish in one sitting and that shows you something.",
    "4. **Check the result** before you go on, because mistakes in the {} become expensive later.",
    "5. **Repeat this every week** and write down what you learned about the {}.",
    "If you are unsure, choose the option that is easier to undo.",
    "A common mistake with the {} is to plan everything at once and then to start with the details.",
    "You mentioned that time is short, so I would drop the second part of the {} for now.",
    "```text\nstep      hours   done\nprepare   3       yes\nbuild     8       no\nreview    2       no\n```",
    "For the numbers, take the average of the last three weeks and add ten per cent as a reserve.",
    "It also helps to tell somebody about the {}, since explaining it shows where the gaps are.",
    "The order matters less than you think: what counts is that each part of the {} is really finished.",
    "As for the costs, the largest item is usually the one that nobody wrote down.",
    "You should always keep a copy of the last version that worked.",
    "Never change two things at once, or you will not know which one helped.",
    "If that sounds like too much, do only the first two points this week.",
    "There are three options: do it yourself, share it with a friend, or pay somebody for the {}.",
    "Each of them has drawbacks: the first takes time, the second needs trust, the third costs money.",
    "I would begin with the first option and look at the {} again after a month.",
    "Let me know what you find, and I will adapt the plan for the {}.",
    "In short: one goal, one list, one small step, and a look back every Sunday.",
    "Do you want me to write that down as a checklist for the {}?",
];

/// Characters of a conversation: 100,000 tokens.
const LENGTH: usize = 400_000;

/// Conversations with 18 questions each.
pub fn talks(count: u64) -> Vec<Talk> {
    (1..=count).map(talk).collect()
}

fn talk(seed: u64) -> Talk {
    let mut dice = Dice(seed * 7_919);
    let mut planted: Vec<(Vec<String>, Needed, &str)> = Vec::new();
    let mut draw = |all: &[Planted], count: usize, asked: Needed, dice: &mut Dice| {
        let mut start = dice.below(all.len());
        for _ in 0..count {
            let (said, question) = all[start % all.len()];
            planted.push((vec![said.to_owned()], asked, question));
            start += 1 + dice.below(5);
        }
    };
    draw(&INSTRUCTIONS, 5, Needed::Instruction, &mut dice);
    draw(&PREFERENCES, 5, Needed::Preference, &mut dice);
    let first = dice.below(FACTS.len());
    for number in 0..8 {
        let (subject, question, sentence, values) = FACTS[(first + 3 * number) % FACTS.len()];
        let mut say = |value: &str| {
            let mut between = || SAID[dice.below(SAID.len())].replace("{}", subject);
            format!("{} {} {}", between(), sentence.replace("{}", value), between())
        };
        let said = values.map(&mut say);
        match number % 2 {
            0 => planted.push((said[1..].to_vec(), Needed::Fact, question)),
            _ => planted.push((said.to_vec(), Needed::Update, question)),
        }
    }
    // Everything stands in the first nine tenths, and the older of two facts before the newer one.
    let mut messages: Vec<(usize, String)> = Vec::new();
    for (said, ..) in &planted {
        let mut places: Vec<usize> = said.iter().map(|_| dice.below(LENGTH / 10 * 9)).collect();
        places.sort_unstable();
        messages.extend(places.into_iter().zip(said.iter().cloned()));
    }
    messages.sort();
    let mut items: Vec<ContextItem> = Vec::new();
    let (mut length, mut messages) = (0, messages.into_iter().peekable());
    while length < LENGTH {
        let subject = SUBJECTS[dice.below(SUBJECTS.len())];
        let user = match messages.next_if(|(place, _)| *place <= length) {
            Some((_, said)) => said,
            None if dice.below(12) == 0 => PASTED[dice.below(4)].replace("{}", subject),
            None => {
                let count = 1 + dice.below(4);
                dice.sentences(&SAID, count, subject, " ").concat()
            }
        };
        let count = 6 + dice.below(14);
        let reply = dice.sentences(&REPLIED, count, subject, "\n").concat();
        for (role, text) in [("user", user), ("assistant", reply)] {
            length += text.len();
            items.push(item(&format!("{role}: {}", text.trim_end()), ContextKind::message()));
        }
    }
    let question = |(said, asked, question): (Vec<String>, Needed, &str)| {
        let newest = said.into_iter().next_back().unwrap();
        (asked, Question::new(question), newest)
    };
    Talk { items, questions: planted.into_iter().map(question).collect() }
}
