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
    conjunctions: &["and", "but", "so", "then", "because", "since", "though", "although"],
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
        rest.first().is_some_and(|next| !NOT_AFTER_DONT.contains(next)) && rest.len() >= 2
    },
    commands: |words| words.first().is_some_and(|word| IMPERATIVES.contains(word)),
    addresses: &[
        "you should", "you must", "you have to", "you need to", "you are to", "you're to",
        "you shouldn't", "you mustn't", "i need you", "i want you", "i ask you", "make sure",
        "be sure", "ensure", "make it a habit", "let's", "try to", "take care", "feel free",
        "your answers", "your replies", "your responses", "all answers", "all replies",
        "all responses", "all code", "all your", "every answer", "every reply", "every response",
    ],
    wishes: &[
        "i want", "i expect", "i'd like", "i would like", "i need", "i'd appreciate", "i'd love",
    ],
    asked: &[
        "when i ask", "if i ask", "whenever i ask", "every time i ask", "each time i ask",
        "any time i ask", "anytime i ask", "when i say", "when i mention", "when i request",
    ],
    adverbs: &["always", "never"],
    henceforth: &[
        "from now on", "from here on", "from this point on", "from this point forward",
        "going forward", "moving forward", "in future", "in the future", "henceforth", "as a rule",
        "at all times", "by default", "no matter what",
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
        "for the rest of", "in this conversation", "in this chat", "in our conversation",
    ],
    once: &[
        "yet", "for now", "right now", "this time", "just now", "today", "at the moment",
        "just this once",
    ],
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
        "don't forget that i", "don't forget i",
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
        "i'm more comfortable with", "i am more comfortable with", "i work best with",
        "i learn best",
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
        "i've changed my mind about", "the rule about", "no longer",
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
    "feel", "like", "panic", "be", "really", "even", "quite", "wait", "ask", "tell", "mention",
    "laugh", "judge", "blame", "let",
];

/// Verbs with which a user tells an assistant what to do.
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "give", "use", "provide", "include", "show", "tell", "explain", "list", "format", "write",
    "answer", "reply", "respond", "keep", "add", "ask", "check", "cite", "mention", "say", "call",
    "put", "start", "begin", "end", "return", "send", "suggest", "offer", "summarize", "summarise",
    "highlight", "treat", "assume", "translate", "convert", "remind", "refer", "focus", "present",
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
