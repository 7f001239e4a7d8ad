//! English forms.

use super::form_lists::Forms;

#[rustfmt::skip]
pub(super) static FORMS: Forms = Forms {
    function_words: &[
        "the", "a", "an", "to", "and", "of", "you", "i", "is", "my", "your", "for", "it", "with",
        "when", "that", "this", "not", "don't", "be", "on", "are", "if", "i'd", "i'm", "me", "at",
        "or", "from", "always", "never", "please", "use", "about", "in", "do", "what", "have",
    ],
    lead: &[
        ",", ":", "please", "pls", "also", "and", "but", "so", "ok", "okay", "hey", "hi", "hello",
        "note", "important", "just", "oh", "actually", "thanks", "great", "perfect", "yes", "yeah",
        "no", "then", "again", "kindly", "reminder", "rule", "rules", "ps", "btw", "fyi", "first",
        "finally", "well", "now", "style", "format", "preference", "preferences", "request",
        "generally", "ideally", "cool", "sure", "plus", "thank", "you're", "welcome",
    ],
    conjunctions: &[
        "and", "but", "so", "then", "because", "since", "though", "although", "as",
    ],
    asides: &[
        "by the way", "one more thing", "one thing", "another thing", "quick note", "side note",
        "for the record", "given that", "seeing that", "one rule", "two rules", "some rules",
        "my rules", "house rule", "small request", "one request", "a few things", "for context",
        "in general", "that said", "either way", "last thing", "in that case",
    ],
    relatives: &["that", "which", "who", "how", "why", "where", "if", "until", "whether"],
    always: &["always", "never"],
    goes_on: |rest| {
        let Some(next) = rest.first() else { return false };
        !NOT_AFTER_ALWAYS.contains(next) && !is_past(next) && rest.len() >= 2
    },
    forbids: |words| {
        let rest = match words {
            ["don't" | "dont", "ever", rest @ ..] | ["do", "not", "ever", rest @ ..] => rest,
            ["don't" | "dont", rest @ ..] | ["do", "not", rest @ ..] => rest,
            ["no", "more", rest @ ..] => return rest.len() <= 6 && !rest.is_empty(),
            ["stop", verb, ..] => return verb.ends_with("ing"),
            _ => return false,
        };
        rest.first().is_some_and(|next| !NOT_AFTER_DONT.contains(next))
            && rest.len() >= 2
            && !NOT_AFTER_DONT_PHRASES.iter().any(|phrase| rest.starts_with(phrase))
    },
    commands: |words| words.first().is_some_and(|word| IMPERATIVES.contains(word)),
    addresses: &[
        "you should", "you must", "you have to", "i'd like you to", "i would like you to",
        "i'd like for you to", "you don't need to", "you don't have to", "you need to", "you are to", "you're to",
        "you shouldn't", "you mustn't", "i need you", "i want you", "i ask you", "it's important that you", "it is important that you",
        "it's important to me that you", "it would be good if you", "it would be great if you",
        "it would be nice if you", "it would help if you", "it'd be great if you", "make sure",
        "be sure", "ensure", "make it a habit", "let's", "try to", "take care", "feel free",
        "your answers", "your replies", "your responses", "all answers", "all replies",
        "all responses", "all code", "all your",
    ],
    wishes: &[
        "i want", "i expect", "i'd like", "i would like", "i need", "i'd appreciate", "i'd love",
    ],
    asked: &[
        "whenever i say", "whenever i mention", "whenever i request", "whenever i share",
        "whenever i paste", "whenever i send", "whenever i give you", "whenever i show you",
        "whenever i upload", "whenever i talk about", "whenever i bring up", "whenever i need",
        "whenever i want", "if i mention", "if i share", "if i paste", "if i send", "if i request",
        "if i say", "when i share", "when i bring up", "when i give you", "when i show you",
        "when i talk about", "every time i mention", "each time i mention", "any time i mention",
        "when i ask", "if i ask", "whenever i ask", "every time i ask", "each time i ask",
        "any time i ask", "anytime i ask", "when i say", "when i mention", "when i request",
    ],
    adverbs: &["always", "never"],
    henceforth: &[
        "from now on", "from here on", "from this point on", "from this point forward",
        "going forward", "moving forward", "in future", "in the future", "henceforth", "as a rule",
        "at all times", "by default", "no matter what", "from here on out", "as a general rule",
        "as a rule of thumb", "for future reference", 
    ],
    general: &[
        "whenever", "every time", "each time", "any time", "anytime", "when i paste", "when i send",
        "when i share", "when i want", "when i need", "when i talk", "when discussing",
        "when answering", "when explaining", "when responding", "when replying", "when suggesting",
        "when recommending", "when providing", "when you answer", "when you reply",
        "when you respond", "when you explain", "when you suggest", "when you write",
        "when you recommend", "when you give", "unless i", "until i say", "until i tell",
        "without asking", "in all your", "in every", "for every", "for all future", "in all future",
        "in your answers", "in your replies", "in your responses", "ever again", "throughout our",
        "for the rest of", "throughout", "in all of your", "in all of my", "in all my", "in all the",
        "in everything you", "wherever you can", "wherever possible", "whenever possible",
        "in your answer", "in your reply", "in your response", "unless you're told", "unless told", "unless otherwise", "every answer",
        "every lesson", "every reply", "every response", "every message", "every chapter",
        "each answer", "each lesson", "each reply", "each response", "each message", "each chapter", "in this conversation", "in this chat", "in our conversation",
    ],
    once: &[
        "yet", "for now", "right now", "this time", "just now", "today", "at the moment",
        "just this once",
    ],
    scopes: &[
        "for all", "for any", "for every", "for each", "for future", "if you write", "if you suggest",
        "if you recommend", "if you mention", "if you give", "if you use", "if you change",
        "if you add", "if you quote", "if you cite", "if you explain", "if you answer",
        "if you're not sure", "if you are not sure", "if you're unsure", "if you don't know",
        "if you do not know", "when you use", "when you change", "when you add", "when you mention",
        "when you quote", "when you cite", "when you're", "when you are", "when you don't",
        "whenever you", "in all", "with every", "with each", "when it comes to",
        "when talking about", "when writing", "when showing", "when giving", "when working",
        "when using", "when making", "when choosing", "when planning",
    ],
    requests: &[
        "can you", "could you", "would you", "will you", "can you make sure to",
        "can you make sure you", "could you make sure to", "could you make sure you",
    ],
    instructs: |words| match words {
        ["no", ",", ..] => false,
        ["no", rest @ .., "please"] => (1..=8).contains(&rest.len()),
        ["only", verb, _, ..] => ONLY.contains(verb),
        [verb, "only", _, ..] => ONLY.contains(verb),
        ["all" | "every" | "any" | "each" | "your", rest @ ..] => {
            rest.iter().take(6).any(|word| ["should", "must", "shouldn't", "mustn't"].contains(word))
                && rest.iter().take(3).any(|word| OUTPUTS.contains(word))
        }
        ["make", "sure", "that", "every", ..] | ["make", "sure", "every", ..] => true,
        _ => asks_and_gets(words) || gives_and_gets(words),
    },
    prefers: |words| match words {
        ["i", "like" | "love" | "enjoy", rest @ ..] => {
            let than = rest.iter().position(|word| *word == "than");
            than.is_some_and(|than| {
                rest.iter().take(than).any(|word| matches!(*word, "better" | "more"))
            })
        }
        ["i", "find", rest @ ..] => {
            let easier = ["easier", "clearer", "better", "simpler", "nicer"];
            rest.contains(&"than") && rest.iter().any(|word| easier.contains(word))
        }
        ["i'd", "choose" | "pick" | "take", rest @ ..]
        | ["i", "would", "choose" | "pick" | "take", rest @ ..] => {
            rest.contains(&"over") || rest.ends_with(&["any", "day"])
        }
        ["i", "hate" | "dislike", next, ..] => !NOT_AFTER_HATE.contains(next),
        ["i", adverb, "like" | "love" | "hate" | "appreciate", rest @ ..] => {
            adverb.ends_with("ly") && (rest.starts_with(&["it", "when"]) || rest.starts_with(&["when"]))
        }
        ["i", adverb, "prefer", ..] => adverb.ends_with("ly") || OFTEN.contains(adverb),
        ["i've" | "i", "always", "preferred", ..] | ["i", "have", "always", "preferred", ..] => true,
        ["i'm", rest @ ..] | ["i", "am", rest @ ..] => {
            let fan = rest.iter().take(5).position(|word| *word == "fan");
            fan.is_some_and(|fan| rest.get(fan + 1) == Some(&"of"))
        }
        _ => false,
    },
    openings: &[
        "avoid", "stick to", "stick with", "prefer", "refrain from", "steer clear", "remember that",
        "remember , i", "remember i", "remember my", "remember to", "keep in mind that i",
        "keep in mind i", "bear in mind that i", "keep your answers", "keep your replies",
        "keep your responses", "keep answers", "keep replies", "keep responses",
        "keep explanations", "keep your explanations", "keep all", "keep code", "limit your",
        "limit answers", "limit responses", "call me", "address me as", "refer to me as",
        "let's stick", "let's always", "let's never", "let's avoid", "only ever", "no emojis",
        "no emoji", "no matter what", "treat every", "answer in english", "answer in german",
        "answer in french", "answer in spanish", "reply in english", "reply in german",
        "reply in french", "reply in spanish", "respond in english", "respond in german",
        "respond in french", "respond in spanish", "your answers should", "your replies should",
        "your responses should", "my answers should", "i want all", "i want every", "i always want",
        "i always need", "i always expect", "i never want", "i don't want you to",
        "i do not want you to", "i don't ever want", "i don't want any", "i don't want to see",
        "you should always", "you should never", "you must always", "you must never",
        "from now on , i want", "from now on i want", "from now on , you", "from now on you",
        "don't forget that i", "don't forget i", "never ever", "never , ever", "keep in mind that", "keep in mind ,", "bear in mind that", "please keep in mind", "make sure your answers", "make sure your replies", "make sure your responses", "make sure your code", "make sure that your answers", "keep the tone", "keep everything", "refer to my", "treat everything", "treat all", "treat my", "you can skip", "you are not allowed to", "you're not allowed to", "i'd like all", "i'd like every", "i would like all", "i don't want any more", "i don't need any", "i need all", "i need every", "i expect all", "i expect every", "don't forget that", "don't forget to always", "don't forget my", "let's keep all", "always remember", "just so you know , i", "for your information , i",
    ],
    preferences: &[
        "i prefer", "i generally prefer", "i usually prefer", "i always prefer", "i really prefer",
        "i typically prefer", "i strongly prefer", "i personally prefer", "i tend to prefer",
        "i much prefer", "i still prefer", "i'd rather", "i would rather", "i'd prefer it",
        "i'd prefer if you", "i'd prefer that you", "i'd prefer you", "i would prefer it",
        "i would prefer if you", "i would prefer that you", "i would prefer you",
        "i'd always prefer", "i would always prefer", "my preference is", "my preference would be",
        "i have a preference for", "i have a strong preference", "i've a preference",
        "i like it when", "i like when", "i love it when", "i don't like it when",
        "i don't like when", "i dislike it when", "i dislike when", "i hate it when", "i hate when",
        "i like my", "i like to keep", "i favor", "i favour", "i tend to favor", "i'm a fan of",
        "i am a fan of", "i'm not a fan of", "i am not a fan of", "we prefer",
        "i appreciate it when", "i appreciate when", "i lean towards", "i lean toward",
        "i'm more comfortable with", "i am more comfortable with", "i work best",
        "i learn best", "i definitely prefer", "i highly prefer", "i mostly prefer", "i also prefer", "i do prefer", "i'd much rather", "i would much rather", "i'd sooner", "i'd honestly rather", "i'd really rather", "i'd always rather", "my preferred", "i want to avoid", "i'd like to avoid", "i would like to avoid", "i'm trying to avoid", "i try to avoid", "i'd like to stay away", "i want to stay away", "i value", "i care more about", "i care a lot about", "i'm more of a", "i am more of a", "i work better with", "i do better with", "i learn better", "work better for me", "works better for me", "work best for me", "works best for me", "i'm partial to", "i am partial to", "i'm not into", "i can't stand when", "i can't stand it when", "i gravitate", "i tend to favour", "i feel more comfortable", "i'm happier with", "i don't enjoy", "i opt for", "i like having", "i like getting", "i like seeing", "i like to see", "i like to have", "i like working with", "i love when", "i enjoy it when", "i don't enjoy it when", "i'm drawn to", "it's important to me that", "it is important to me that",
    ],
    no_preferences: &[
        "if i prefer", "whether i prefer", "what i prefer", "which i prefer", "than i prefer",
        "why i prefer", "i'd rather not say", "i prefer not to say", "i'd prefer not to say",
        "if i'd rather", "i used to prefer",
    ],
    retractions: &[
        "forget the rule", "forget the rules", "forget about the rule", "forget my rule",
        "forget my preference", "forget my instruction", "forget my request", "forget what i said",
        "forget that i said", "forget that i asked", "forget i said", "forget the instruction",
        "forget the preference", "forget the thing about", "ignore the rule", "ignore my rule",
        "ignore my earlier", "ignore my previous", "ignore what i said", "disregard my",
        "disregard what i said", "disregard the rule", "drop the rule", "drop my rule",
        "scrap the rule", "cancel the rule", "lift the rule", "never mind the rule",
        "never mind what i said", "nevermind what i said", "never mind my", "you no longer have to",
        "you no longer need to", "you needn't", "i no longer want", "i no longer need",
        "i no longer prefer", "i no longer care", "i changed my mind about",
        "i've changed my mind about", "the rule about", "no longer", "scratch the rule", "scratch my rule", "scratch that rule", "scratch what i said", "stop following the rule", "stop following my", "forget about my", "you can ignore my", "you can forget about", "you can forget my", "you can drop the rule", "never mind that rule", "forget that rule", "drop that rule", "ignore that rule",
    ],
    permissions: &[
        "you may", "you can", "you don't have to", "you do not have to", "you don't need to",
        "you do not need to", "you're allowed to", "you are allowed to", "it's ok to",
        "it's okay to", "it's fine to", "it is fine to", "it is ok to", "feel free to",
        "no need to", "there's no need to",
    ],
    again: &["again", "anymore", "any more", "any longer", "from now on", "after all"],
    generic: &[
        "rule", "rules", "instruction", "instructions", "preference", "preferences", "thing",
        "said", "earlier", "previous", "before", "mind", "need", "want", "may", "can", "anymore",
        "again", "longer", "any", "more", "forget", "ignore", "drop", "applies", "apply", "have",
        "has", "them", "they", "there", "some", "all", "every", "time", "when", "whenever", "ask",
        "prefer", "rather", "over", "make", "sure", "about", "only", "now", "will", "would",
        "should", "must", "allowed", "okay", "fine", "free", "feel", "changed", "disregard",
        "after",
    ],
};

/// Words behind `always` and `never` in statements and exclamations.
#[rustfmt::skip]
const NOT_AFTER_ALWAYS: &[&str] = &[
    "a", "an", "the", "been", "had", "was", "were", "is", "are", "am", "has", "have", "i", "we",
    "he", "she", "it", "they", "mind", "again", "thought", "knew", "saw", "seen", "got", "went",
    "did", "said", "made", "took", "came", "found", "felt", "gave", "heard", "happy", "glad",
    "good", "nice", "fun", "great", "more", "less", "too", "so", "that", "in", "on", "at", "there",
    "here", "better", "best", "worse", "welcome", "ready", "available", "will", "would", "could",
    "can", "something", "someone", "loved", "seems", "works", "makes", "gets", "goes", "comes",
    "says", "looks", "takes", "feels", "helps", "does", "needs", "wants", ",", "as", "very",
    "quite", "true",
];

/// Words behind `don't` in statements, set phrases and requests about this moment.
#[rustfmt::skip]
const NOT_AFTER_DONT: &[&str] = &[
    "worry", "you", "we", "they", "i", "know", "think", "get", "forget", "have", "need", "see",
    "want", "mind", "bother", "hesitate", "care", "sweat", "believe", "understand", "remember",
    "feel", "like", "panic", "really", "even", "quite", "wait", "laugh", "judge", "blame", "let",
    "stop",
];

/// Longer set phrases behind `don't`.
const NOT_AFTER_DONT_PHRASES: &[&[&str]] = &[
    &["mention", "it"],
    &["give", "up"],
    &["tell", "me", "you"],
    &["tell", "me", "that"],
    &["tell", "me", "i"],
    &["tell", "me", "it"],
    &["tell", "me", "this"],
    &["tell", "me", "the"],
    &["ask", "me", "why"],
    &["ask", "me", "how"],
    &["ask", "why"],
    &["ask", "how"],
    &["be", "silly"],
    &["be", "sorry"],
    &["be", "afraid"],
    &["be", "shy"],
    &["be", "so", "hard"],
    &["be", "surprised"],
];

/// Things that a model gives.
#[rustfmt::skip]
const OUTPUTS: &[&str] = &[
    "answer", "answers", "reply", "replies", "response", "responses", "code", "example", "examples",
    "explanation", "explanations", "summary", "summaries", "recipe", "recipes", "draft", "drafts",
    "plan", "plans", "list", "lists", "suggestion", "suggestions", "recommendation",
    "recommendations", "function", "functions", "message", "messages", "output", "outputs",
    "prices", "amounts", "dates", "times",
];

/// Verbs that go with `only`.
#[rustfmt::skip]
const ONLY: &[&str] = &[
    "use", "suggest", "recommend", "give", "show", "include", "answer", "reply", "respond", "write",
    "cite", "propose", "offer", "mention",
];

/// Words behind `I hate` that are about this moment.
#[rustfmt::skip]
const NOT_AFTER_HATE: &[&str] = &[
    "this", "that", "the", "it", "my", "these", "those", "how", "him", "her", "them", "to", "you",
    "your", "myself", "what",
];

/// Words between `I` and `prefer`.
const OFTEN: &[&str] = &["always", "also", "still", "do", "much", "just", "often"];

/// Tests if a sentence says when the user asks, and what the response should be then.
fn asks_and_gets(words: &[&str]) -> bool {
    let asks = match words {
        ["when" | "whenever" | "if", "i", "ask", next, ..] => {
            ["you", "about", "for", "a", "any", "something", "anything", "questions"].contains(next)
        }
        _ => false,
    };
    let gets = ["should", "must", "shouldn't", "mustn't", "expect", "want", "need", "like"];
    asks && words.iter().skip(4).any(|word| gets.contains(word))
}

/// Tests if a sentence says what the user gives the assistant, and behind a comma what to do with it.
fn gives_and_gets(words: &[&str]) -> bool {
    let gives = match words {
        ["when" | "whenever" | "if", "i", verb, rest @ ..] => match *verb {
            "ask" | "give" | "show" | "send" => {
                rest.first().is_some_and(|next| ["you", "for", "about"].contains(next))
            }
            "paste" | "share" | "upload" | "mention" => true,
            _ => false,
        },
        _ => false,
    };
    let behind = words.iter().position(|word| *word == ",").and_then(|at| words.get(at + 1..));
    gives
        && behind.is_some_and(|rest| rest.len() >= 2 && rest.first().is_some_and(|it| is_verb(it)))
}

/// Tests if a word may be an imperative: statements do not begin with it.
fn is_verb(word: &str) -> bool {
    const OTHERS: [&str; 28] = [
        "i",
        "it",
        "he",
        "she",
        "we",
        "they",
        "the",
        "a",
        "an",
        "my",
        "his",
        "her",
        "their",
        "our",
        "this",
        "that",
        "there",
        "nothing",
        "nobody",
        "everybody",
        "everyone",
        "people",
        "some",
        "someone",
        "is",
        "are",
        "was",
        "then",
    ];
    !OTHERS.contains(&word) && !["s", "ing", "ed", "ly"].iter().any(|end| word.ends_with(end))
}

/// Verbs with which a user tells an assistant what to do.
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "give", "use", "provide", "include", "show", "tell", "explain", "list", "format", "write",
    "answer", "reply", "respond", "keep", "add", "ask", "check", "cite", "mention", "say", "call",
    "put", "start", "begin", "end", "return", "send", "suggest", "offer", "summarize", "summarise",
    "highlight", "treat", "pretend", "spell", "leave", "warn", "plan", "number", "repeat", "compute", "calculate", "act", "base", "spare", "assume", "translate", "convert", "remind", "refer", "focus", "present",
    "describe", "structure", "state", "note", "quote", "limit", "prioritize", "prioritise",
    "prefer", "avoid", "stick", "be", "do", "make", "let", "run", "test", "commit", "create",
    "update", "wrap", "name", "spell", "round", "sort", "order", "group", "compare", "confirm",
    "verify", "double", "consider", "specify", "break", "walk", "skip", "leave", "omit", "remove",
    "follow", "address", "recommend", "point", "link", "attach", "output", "print", "generate",
    "draft", "review", "stop", "wait", "go", "speak", "talk", "think", "try", "remember", "choose",
    "pick", "default", "set", "take", "ensure", "help", "clarify", "define", "document", "report",
    "label", "mark", "number", "outline", "push", "merge", "deploy", "touch", "read", "look",
    "favor", "favour", "split", "emphasize", "emphasise", "tailor", "adapt", "only",
];

/// Tests if a word is a past form or a participle.
fn is_past(word: &str) -> bool {
    const PLAIN: [&str; 9] =
        ["embed", "feed", "need", "proceed", "exceed", "speed", "seed", "shed", "bring"];
    (word.ends_with("ed") || word.ends_with("ing")) && !PLAIN.contains(&word) && word.len() > 4
}
