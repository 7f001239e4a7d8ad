//! Spanish forms.

use super::form_lists::Forms;

#[rustfmt::skip]
pub(super) static FORMS: Forms = Forms {
    function_words: &[
        "el", "la", "los", "las", "un", "una", "de", "que", "y", "no", "en", "por", "para", "con",
        "mi", "tu", "es", "siempre", "nunca", "me", "lo", "cuando", "si", "mis", "tus", "del", "al",
        "se", "te", "favor", "ahora", "sin", "su", "sus", "como", "mas",
    ],
    lead: &[
        ",", ":", "por", "favor", "y", "pero", "tambien", "entonces", "ok", "vale", "bueno", "hola",
        "nota", "importante", "gracias", "ademas", "asi", "pues", "como", "regla", "reglas", "recordatorio",
    ],
    conjunctions: &["y", "pero", "entonces", "porque", "asi", "como"],
    asides: &["por cierto", "una cosa", "otra cosa", "en general", "una nota"],
    relatives: &["que", "como", "si", "donde"],
    always: &["siempre", "nunca", "jamas"],
    goes_on: |rest| {
        let Some(next) = skip_pronouns(rest).first() else { return false };
        rest.len() >= 2 && (is_imperative(next) || is_subjunctive(next) || is_infinitive(next))
    },
    forbids: |words| match words {
        ["no", rest @ ..] => {
            let rest = skip_pronouns(rest);
            rest.len() >= 2 && rest.first().is_some_and(|verb| is_subjunctive(verb))
        }
        ["nada", "de", ..] => words.len() <= 8,
        _ => false,
    },
    commands: |words| words.first().is_some_and(|word| is_imperative(word)),
    addresses: &[
        "debes", "deberias", "no debes", "no deberias", "tienes que", "no tienes que", "debe usted",
        "quiero que", "me gustaria que", "necesito que", "espero que", "quisiera que", "asegurate",
        "asegurese", "procura", "procure", "intenta", "hay que", "tus respuestas", "sus respuestas",
        "todas las respuestas",
    ],
    wishes: &["quiero", "necesito", "me gustaria tener", "espero"],
    asked: &[
        "cuando te pregunte", "cuando pregunte", "cuando te pida", "cuando pida", "cuando te diga", "cuando mencione", "cuando comparta", "cuando hable de",
        "si te pregunto", "si te pido",
    ],
    adverbs: &["siempre", "nunca", "jamas"],
    henceforth: &[
        "a partir de ahora", "de ahora en adelante", "en adelante", "en el futuro",
        "de aqui en adelante", "por defecto", "por norma", "en todo momento",
    ],
    general: &[
        "cada vez", "en todas tus respuestas", "en tus respuestas", "en cada respuesta",
        "sin preguntar", "sin preguntarme", "a menos que te", "salvo que te",
        "en esta conversacion",
    ],
    once: &["por ahora", "todavia", "esta vez", "hoy", "de momento", "aun"],
    scopes: &["cuando te", "cuando me", "si te", "para todos", "para todas", "para cada", "en todos", "en todas", "si no estas seguro", "siempre que te"],
    requests: &["puedes", "podrias", "puede", "podria", "podeis"],
    instructs: |words| match words {
        [verb, "solo" | "solamente" | "unicamente", ..] => is_imperative(verb),
        ["sin", rest @ ..] => (1..=4).contains(&rest.len()) && rest.contains(&"favor"),
        _ => false,
    },
    prefers: |words| match words {
        ["me", "resulta" | "parece", rest @ ..] => rest.contains(&"que") && rest.contains(&"mas"),
        ["valoro", "mas", ..] => true,
        ["estoy", "mas", "comodo" | "comoda", ..] => true,
        ["aprendo" | "trabajo", "mejor", ..] => true,
        _ => false,
    },
    openings: &[
        "evita el", "evita la", "evita los", "evita las", "evita usar", "evita utilizar",
        "evita poner", "evita hacer", "evita incluir", "evite usar", "evite el", "evite la",
        "evite los", "evite las", "evite utilizar", "deja de", "deje de", "recuerda que",
        "recuerde que", "no olvides que", "no olvide que", "ten en cuenta que",
        "tenga en cuenta que", "ten presente que", "recuerda siempre", "limitate a", "cinete a",
        "manten tus respuestas", "mantenga sus respuestas", "manten las respuestas", "llamame",
        "tuteame", "responde en espanol", "respondeme en espanol", "contesta en espanol",
        "responda en espanol", "responde en ingles", "nada de emojis", "sin emojis",
        "no quiero que", "no quiero ver", "no me des", "quiero que siempre", "quiero que nunca",
        "prefiere",
    ],
    preferences: &[
        "prefiero", "preferiria", "yo prefiero", "mi preferencia", "me gusta que",
        "me gusta cuando", "no me gusta que", "no me gusta cuando", "me gusta mas", "me gustan mas",
        "preferimos", "odio que", "odio cuando", "soy partidario de",
    ],
    no_preferences: &["si prefiero", "lo que prefiero", "aunque prefiero"],
    retractions: &[
        "olvida la regla", "olvida las reglas", "olvida lo que", "olvida lo de", "olvida mi",
        "olvidate de la regla", "olvidate de lo", "olvide la regla", "olvide lo que",
        "ignora la regla", "ignora mi", "ignora lo que", "ignore la regla", "descarta la regla",
        "cancela la regla", "he cambiado de opinion", "cambie de opinion", "ya no quiero",
        "ya no necesito", "ya no prefiero", "ya no hace falta", "ya no es necesario",
        "ya no tienes que", "ya no debes",
    ],
    permissions: &[
        "puedes", "puede", "no hace falta", "no tienes que", "no es necesario", "vuelve a",
    ],
    again: &["de nuevo", "otra vez", "ya no", "mas", "otra", "vuelve a"],
    generic: &[
        "regla", "reglas", "olvida", "puedes", "nuevo", "otra", "vez", "dije", "dicho", "falta",
        "necesario", "usar", "utilizar", "poner", "hacer", "dar", "todos", "todas", "cada",
        "pregunte", "pida", "respuesta", "respuestas", "prefiero", "cuando", "quiero",
    ],
};

fn skip_pronouns<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        ["me" | "te" | "le" | "lo" | "la" | "les" | "nos" | "los" | "las", rest @ ..] => rest,
        _ => words,
    }
}

#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "usa", "use", "da", "dame", "deme", "incluye", "incluya", "pon", "ponga", "escribe", "escriba",
    "responde", "responda", "contesta", "conteste", "muestra", "muestre", "explica", "explique",
    "indica", "indique", "menciona", "mencione", "cita", "cite", "agrega", "agregue", "anade",
    "anada", "haz", "haga", "verifica", "verifique", "comprueba", "compruebe", "pregunta",
    "pregunte", "preguntame", "utiliza", "utilice", "formatea", "formatee", "resume", "resuma",
    "traduce", "traduzca", "evita", "evite", "manten", "mantenga", "di", "diga", "dime", "digame",
    "empieza", "comienza", "termina", "revisa", "revise", "confirma", "confirme", "consulta",
    "consulte", "especifica", "especifique", "prioriza", "recuerda", "recuerde", "avisame", "avisa",
    "respondeme", "contestame", "explicame", "muestrame", "habla", "hable", "limita", "limite",
    "sigue", "siga", "crea", "cree", "deja", "trata", "se", "sugiere", "sugiera", "recomienda",
    "ejecuta", "ejecute", "proporciona", "proporcione", "prefiere", "detalla", "ordena", "redondea", "conviertelo",
    "conviertela", "convierte", "anadelo", "incluyelo", "ponlo", "traducelo", "ponme", "calcula",
    "propon", "elige", "compara", "repite", "asume", "supon",
];

/// Verbs in other forms that end as a subjunctive of `tú` does.
#[rustfmt::skip]
const INDICATIVES: &[&str] = &[
    "tienes", "puedes", "sabes", "estas", "eres", "crees", "quieres", "debes", "haces", "dices",
    "entiendes", "necesitas", "pareces", "gracias", "menos", "ves", "vas", "has", "es", "mas",
    "preocupes", "olvides", "dudes", "deberias", "podrias", "sabias", "habias", "eras", "ganas",
    "problemas", "cosas", "veces", "antes", "apenas", "lees", "vives", "hablas", "piensas",
];

/// Subjunctives of `usted`.
#[rustfmt::skip]
const POLITE: &[&str] = &[
    "use", "utilice", "haga", "toque", "incluya", "ponga", "escriba", "responda", "envie", "borre",
    "cambie", "modifique", "agregue", "muestre", "diga", "mencione", "elimine", "instale",
    "ejecute", "conteste", "anada", "repita", "explique", "establezca", "deshabilite",
];

fn is_subjunctive(verb: &str) -> bool {
    POLITE.contains(&verb)
        || (verb.ends_with("es") || verb.ends_with("as"))
            && verb.len() >= 4
            && !INDICATIVES.contains(&verb)
            && !verb.ends_with("rias")
            && !verb.ends_with("abas")
}

fn is_imperative(verb: &str) -> bool {
    IMPERATIVES.contains(&verb)
}

fn is_infinitive(verb: &str) -> bool {
    (verb.ends_with("ar") || verb.ends_with("er") || verb.ends_with("ir"))
        && verb.len() >= 4
        && !matches!(verb, "ayer" | "lugar" | "mujer" | "mejor")
}
