//! German forms.

use super::form_lists::Forms;

#[rustfmt::skip]
pub(super) static FORMS: Forms = Forms {
    function_words: &[
        "der", "die", "das", "ich", "du", "sie", "und", "nicht", "ist", "ein", "eine", "einen",
        "mit", "bitte", "mir", "auf", "wenn", "fur", "zu", "den", "dem", "immer", "nie", "keine",
        "niemals", "ab", "im", "dass", "dir", "dich", "mich", "meine", "deine", "von", "bei",
        "ohne", "in", "nur", "noch", "was", "ist",
    ],
    lead: &[
        ",", ":", "bitte", "und", "aber", "also", "ok", "okay", "hallo", "hey", "ubrigens",
        "wichtig", "ja", "nein", "danke", "ach", "dann", "noch", "hinweis", "regel", "regeln",
        "nochmal", "gut", "super", "so", "merke", "stil", "etwas", "eins",
    ],
    conjunctions: &["und", "aber", "dann", "also", "weil", "denn", "sondern"],
    asides: &["noch etwas", "noch eins", "noch eine sache", "eine bitte", "im ubrigen", "kleine bitte"],
    relatives: &["dass", "ob", "wie", "warum", "wo"],
    always: &["immer", "nie", "niemals", "stets", "grundsatzlich"],
    goes_on: |rest| {
        let rest = rest.split(|word| matches!(*word, "," | ":")).next().unwrap_or_default();
        let (Some(next), Some(last)) = (rest.first(), rest.last()) else { return false };
        let is_infinitive =
            (last.ends_with("en") || last.ends_with("ern") || last.ends_with("eln"))
                && !last.starts_with("ge")
                && !last.contains("gege");
        rest.len() >= 2 && is_infinitive && !NOT_AFTER_ALWAYS.contains(next)
    },
    forbids: |words| match words {
        ["kein" | "keine" | "keinen", rest @ .., "mehr"] => (1..=6).contains(&rest.len()),
        ["hor" | "hore", .., "auf"] => true,
        ["hor" | "hore", "auf", ..] => true,
        [verb, rest @ ..] if is_imperative(verb, rest) => {
            rest.iter().any(|word| {
                matches!(*word, "nicht" | "nie" | "niemals" | "kein" | "keine" | "keinen")
            }) && !matches!(*verb, "mach" | "mache" | "denk" | "sei")
        }
        _ => false,
    },
    commands: |words| match words {
        [verb, rest @ ..] => is_imperative(verb, rest),
        [] => false,
    },
    addresses: &[
        "du sollst", "sollst du", "solltest du", "darfst du", "du solltest", "du brauchst", "ich brauche dich", "du musst", "du darfst", "sie sollen", "sie sollten",
        "sie mussen", "sie durfen", "ich mochte , dass", "ich mochte dass", "ich will , dass",
        "ich will dass", "achte darauf", "achten sie darauf", "stell sicher", "stelle sicher",
        "stellen sie sicher", "deine antworten", "alle antworten", "lass uns",
    ],
    wishes: &["ich mochte", "ich erwarte", "ich hatte gern", "ich hatte gerne", "ich wunsche mir", "ich will", "ich hatte gern"],
    asked: &["wenn ich frage", "wenn ich dich", "wenn ich nach", "immer wenn ich frage"],
    adverbs: &["immer", "nie", "niemals", "stets", "grundsatzlich"],
    henceforth: &[
        "ab jetzt", "ab sofort", "von jetzt an", "von nun an", "kunftig", "zukunftig", "in der zukunft", "fortan", "in zukunft",
        "generell", "grundsatzlich", "standardmassig", "im weiteren",
    ],
    general: &[
        "jedes mal", "jedesmal", "wenn ich um", "sobald ich", "wann immer", "in jeder antwort",
        "in deinen antworten", "ohne zu fragen", "ohne vorher zu fragen", "ohne mich vorher", "in all deinen",
        "in allen antworten", "nicht jedes mal", "ohne mich zu fragen", "nie wieder", "solange ich",
        "es sei denn", "ausser ich", "in diesem chat",
    ],
    once: &["jetzt noch nicht", "noch nicht", "diesmal", "heute", "vorerst", "im moment", "gerade"],
    scopes: &["wenn ich", "wenn du", "falls ich", "falls du", "bei allen", "bei jeder", "bei jedem", "fur alle", "fur jede", "fur jeden", "in allen", "in jeder", "in jedem"],
    requests: &["kannst du", "konntest du", "wurdest du", "konnen sie", "konnten sie", "wurden sie"],
    instructs: |words| match words {
        [verb, rest @ ..] if is_imperative(verb, rest) => {
            let rest = rest.iter().filter(|word| !matches!(**word, "bitte" | "sie" | "mir"));
            rest.take(1).any(|word| matches!(*word, "nur" | "ausschliesslich"))
        }
        ["bitte", "nur", rest @ ..] | ["nur", "noch", rest @ ..] => !rest.is_empty(),
        _ => false,
    },
    prefers: |words| match words {
        ["ich", verb, "lieber", ..] => !matches!(*verb, "wurde" | "wusste"),
        ["ich", _, _, "lieber", ..] => words.contains(&"als"),
        ["mir", "ist" | "sind" | "ware" | "waren", rest @ ..] => {
            rest.iter().any(|word| matches!(*word, "lieber" | "wichtiger"))
        }
        ["am", "liebsten", _, "ich", ..] => true,
        _ => false,
    },
    openings: &[
        "vermeide", "vermeiden sie", "verzichte auf", "verzichten sie auf", "halte dich an",
        "halt dich an", "bleib bei", "bleibe bei", "merk dir", "merke dir", "merken sie sich",
        "denk daran , dass ich", "denk dran , dass ich", "denke daran , dass ich",
        "denk immer daran", "vergiss nicht , dass ich", "halte deine antworten",
        "halte die antworten", "halte antworten", "nenn mich", "nenne mich", "duze mich", "duz mich", "sieze mich", "achte darauf , dass alle",
        "achte darauf , dass jede", "denk daran , dass", "denke daran , dass", "denk dran , dass",
        "vergiss nicht , dass", "ich will , dass du immer", "ich mochte , dass du immer", "antworte auf deutsch",
        "antworte auf englisch", "antworte nur auf", "antworten sie auf deutsch", "kein emojis",
        "keine emojis", "bitte keine", "bitte kein", "bitte nie", "bitte niemals", "bitte immer",
        "immer wenn ich", "ich will nicht , dass du", "ich mochte nicht , dass du",
        "ich will keine", "ich mochte keine", "verwende lieber", "nutze lieber", "benutze lieber",
        "nimm lieber", "schreib lieber",
    ],
    preferences: &[
        "ich bevorzuge", "bevorzuge ich", "ich mag es , wenn", "ich mag es wenn",
        "ich mag es nicht , wenn", "ich mag keine", "mir ist lieber", "mir ist es lieber",
        "mir ware lieber", "mir ware es lieber", "ist mir lieber", "sind mir lieber",
        "ware mir lieber , wenn", "ich habe lieber", "ich nutze lieber", "ich verwende lieber",
        "ich benutze lieber", "ich arbeite lieber", "ich schaue lieber", "ich lese lieber",
        "ich nehme lieber", "ich mochte lieber", "ich schreibe lieber", "am liebsten habe ich",
        "am liebsten nutze ich", "am liebsten ist mir", "am liebsten sind mir", "meine vorliebe",
        "meine praferenz", "wir bevorzugen", "ich lege wert auf", "ich ziehe",
    ],
    no_preferences: &["ob ich", "ich ziehe um", "ich ziehe in", "ich ziehe nach"],
    retractions: &[
        "vergiss die regel", "vergiss die regeln", "vergiss meine", "vergiss , was ich",
        "vergiss was ich", "ignoriere die regel", "ignoriere meine", "ignoriere , was ich",
        "die regel mit", "die regel uber", "die regel zu", "streich die regel",
        "streiche die regel", "vergessen sie die regel", "vergessen sie meine",
        "ich habe meine meinung", "ich habe es mir anders",
    ],
    permissions: &[
        "du darfst", "du kannst", "du musst", "du brauchst", "sie durfen", "sie konnen",
        "sie mussen", "sie brauchen",
    ],
    again: &["wieder", "nicht mehr", "kein mehr", "nicht langer", "mehr"],
    generic: &[
        "regel", "regeln", "vergiss", "meine", "meinen", "wieder", "mehr", "darfst", "kannst",
        "musst", "brauchst", "langer", "gesagt", "habe", "hast", "antworten", "antwort", "lieber",
        "bevorzuge", "uber", "was", "alle", "jede", "jeder", "wann", "frage", "verwenden", "nutzen",
        "benutzen", "geben", "angeben", "nennen", "schreiben", "kein", "keinen",
    ],
};

#[rustfmt::skip]
const NOT_AFTER_ALWAYS: &[&str] = &[
    "noch", "mehr", "wieder", "ofter", "ich", "er", "es", "wir", "ihr", "man", "nur", "schon",
    "dasselbe", "so", "zu", "besser", "im", "gehort", "gesehen", "gewusst", "davon",
];

/// Imperatives of `du`; those of `Sie` are seen by their pronoun.
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "gib", "nenne", "nenn", "verwende", "nutze", "nutz", "benutze", "benutz", "nimm", "schreib",
    "schreibe", "antworte", "zeig", "zeige", "erklar", "erklare", "fuge", "fug", "mach", "mache",
    "halte", "halt", "achte", "denk", "denke", "frag", "frage", "sag", "sage", "formatiere",
    "liste", "fasse", "fass", "prufe", "pruf", "bleib", "bleibe", "vermeide", "verzichte", "lass",
    "lasse", "stelle", "stell", "setz", "setze", "ubersetze", "erwahne", "zitiere", "runde",
    "sortiere", "teste", "starte", "beginne", "beginn", "beende", "kurze", "sprich", "rede", "duze",
    "sieze", "hange", "hang", "lege", "leg", "ordne", "fang", "fange", "gehe", "geh", "fuhre",
    "fuhr", "committe", "pushe", "losche", "andere", "fasse", "beruhre", "lies", "begrunde",
    "verlinke", "empfiehl", "schlage", "schlag", "weise", "bezieh", "beziehe", "konzentriere",
    "bevorzuge", "sei", "tu", "rate", "rechne", "gliedere", "benenne", "dokumentiere",
    "kommentiere", "melde", "schick", "schicke", "losch", "wiederhole", "lass", "uberprufe",
    "formuliere", "ergänze", "erganze", "beschreibe", "vergleiche", "behandle",
];

fn is_imperative(verb: &str, rest: &[&str]) -> bool {
    IMPERATIVES.contains(&verb)
        || verb.ends_with('n')
            && rest.first() == Some(&"sie")
            && verb.len() > 3
            && !matches!(
                verb,
                "wenn"
                    | "dann"
                    | "haben"
                    | "sind"
                    | "konnen"
                    | "mussen"
                    | "sollen"
                    | "wollen"
                    | "denn"
            )
}
