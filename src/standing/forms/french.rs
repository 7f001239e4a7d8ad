//! French forms.

use super::form_lists::Forms;

#[rustfmt::skip]
pub(super) static FORMS: Forms = Forms {
    function_words: &[
        "le", "la", "les", "un", "une", "des", "je", "tu", "vous", "et", "est", "pas", "que", "de",
        "du", "dans", "pour", "s'il", "ne", "n'", "en", "toujours", "jamais", "mes", "ma", "ce",
        "j'", "l'", "d'", "moi", "te", "sur", "avec", "quand", "au", "aux", "plus",
    ],
    lead: &[
        ",", ":", "s'il", "s'", "te", "plait", "vous", "stp", "svp", "et", "mais", "alors", "ok",
        "d'accord", "bon", "aussi", "important", "note", "remarque", "oui", "non", "merci", "au",
        "fait", "sinon", "enfin", "puis", "rappel", "regle", "regles", "donc", "comme", "salut", "bonjour",
        "il",
    ],
    conjunctions: &["et", "mais", "alors", "puis", "donc", "car", "parce", "comme"],
    asides: &["au passage", "en passant", "une chose", "autre chose", "petite chose", "pour info"],
    relatives: &["qui", "que", "dont", "si", "pourquoi", "comment"],
    always: &["toujours", "systematiquement"],
    goes_on: |rest| {
        let Some(next) = rest.first() else { return false };
        rest.len() >= 2 && (is_infinitive(next) || is_imperative(next))
    },
    forbids,
    commands: |words| words.first().is_some_and(|word| is_imperative(word)),
    addresses: &[
        "tu dois", "tu devrais", "tu ne dois", "tu ne devrais", "vous devez", "vous devriez",
        "vous ne devez", "il faut", "il ne faut", "je veux que", "je voudrais que",
        "je souhaite que", "j' aimerais que", "j'aimerais que", "assure toi", "assurez vous",
        "veille a", "veillez a", "pense a", "pensez a", "merci de", "tes reponses", "vos reponses",
        "toutes les reponses", "veuillez",
    ],
    wishes: &["je veux", "je souhaite", "je voudrais", "j' aimerais", "il me faut"],
    asked: &[
        "quand je te demande", "quand je vous demande", "quand je demande", "lorsque je te demande",
        "lorsque je demande", "chaque fois que je te", "chaque fois que je vous",
    ],
    adverbs: &["toujours", "jamais", "systematiquement"],
    henceforth: &[
        "desormais", "dorenavant", "a partir de maintenant", "a l' avenir", "a compter de maintenant", "en regle generale", "par defaut",
        "en toute circonstance",
    ],
    general: &[
        "chaque fois", "quand je te", "quand je vous", "lorsque je", "lorsqu' on", "des que je",
        "dans chaque reponse", "dans tes reponses", "dans vos reponses", "sans me demander",
        "sauf si je", "a moins que je", "dans cette conversation", "tout au long",
    ],
    once: &[
        "pour l' instant", "pour l'instant", "pour le moment", "cette fois", "aujourd'hui",
        "tout de suite", "encore",
    ],
    scopes: &["quand je", "lorsque tu", "quand tu", "si je te", "si je vous", "pour tous", "pour toutes", "pour chaque", "dans tous", "dans toutes", "si tu n' es pas sur", "si tu ne"],
    requests: &["peux tu", "pourrais tu", "pouvez vous", "pourriez vous", "est ce que tu peux", "est ce que tu pourrais", "est ce que vous pouvez", "est ce que vous pourriez", "tu peux", "tu pourrais"],
    instructs: |words| match words {
        [verb, "uniquement" | "seulement" | "exclusivement", ..] => is_imperative(verb),
        ["pas" | "plus", "de" | "d'", rest @ ..] => {
            (1..=5).contains(&rest.len()) || rest.ends_with(&["s'il", "te", "plait"])
        }
        _ => false,
    },
    prefers: |words| match words {
        ["je", "trouve", rest @ ..] => rest.contains(&"plus") && rest.contains(&"que"),
        ["je", "suis", "plus", "a", "l'", "aise", ..] => true,
        ["je", "n'", "aime", "pas", "quand" | "que", ..] => true,
        ["j'", "aime", rest @ ..] => rest.contains(&"plus") && rest.contains(&"que"),
        _ => false,
    },
    openings: &[
        "evite", "evitez", "arrete de", "arretez de", "arrete d'", "cesse de", "cessez de",
        "rappelle toi que", "rappelez vous que", "souviens toi que", "souvenez vous que",
        "retiens que", "retenez que", "n' oublie pas que", "n' oubliez pas que", "souviens toi de toujours",
        "garde en tete que", "gardez en tete que",
        "garde a l' esprit que je", "gardez a l' esprit que je", "tiens t' en a", "tenez vous en a",
        "limite toi", "limitez vous", "appelle moi", "appelez moi", "tutoie moi", "vouvoie moi",
        "reponds en francais", "reponds moi en francais", "repondez en francais",
        "reponds en anglais", "prefere", "preferez", "jamais de", "jamais d'", "plus jamais de",
        "pas d' emoji", "pas d' emojis", "garde tes reponses", "gardez vos reponses",
        "je ne veux pas que", "je ne veux plus", "je ne veux jamais", "merci de toujours",
        "merci de ne", "utilise plutot", "utilisez plutot", "fais en sorte de toujours",
    ],
    preferences: &[
        "je prefere", "je prefererais", "je preferais", "j' aime mieux", "j' aime quand",
        "j' aime bien quand", "je n' aime pas quand", "je deteste quand", "ma preference",
        "j' ai une preference", "nous preferons", "j' aimerais mieux que", "je privilegie", "j' aimerais mieux",
    ],
    no_preferences: &["si je prefere", "ce que je prefere", "pourquoi je prefere"],
    retractions: &[
        "oublie la regle", "oublie les regles", "oublie ma", "oublie mes", "oublie ce que j'",
        "oublie ce que je", "oubliez la regle", "oubliez ma", "oubliez mes", "oubliez ce que",
        "ignore la regle", "ignore ma", "ignorez la regle", "ignorez ma", "laisse tomber la regle",
        "laisse tomber ma", "j' ai change d' avis",
    ],
    permissions: &[
        "tu peux", "vous pouvez", "tu n' as", "vous n' avez", "tu n' es", "vous n' etes",
        "plus besoin de", "il n' est",
    ],
    again: &[
        "a nouveau", "de nouveau", "plus besoin", "plus oblige", "plus a", "n' as plus",
        "n' avez plus", "plus necessaire",
    ],
    generic: &[
        "regle", "regles", "oublie", "oubliez", "nouveau", "peux", "pouvez", "besoin", "oblige",
        "plus", "tous", "toutes", "chaque", "fois", "demande", "dit", "utiliser", "donner",
        "mettre", "ecrire", "faire", "reponse", "reponses", "prefere", "plutot", "quand",
    ],
};

/// Words between `ne` and its verb.
#[rustfmt::skip]
const PRONOUNS: &[&str] =
    &[
    "me", "te", "m'", "t'", "le", "la", "l'", "les", "lui", "leur", "nous", "vous", "y", "en",
];

/// Verbs behind `ne` that state something or are set phrases.
#[rustfmt::skip]
const NOT_AFTER_NE: &[&str] = &[
    "peut", "doit", "sert", "sera", "est", "sont", "fonctionne", "marche", "concerne", "contient",
    "permet", "devrait", "pourrait", "serait", "a", "ont", "fait", "va", "sais", "inquiete",
    "inquietez", "hesite", "hesitez", "oublie", "oubliez", "quittez", "bouge", "t'inquiete", "suis",
    "crois", "pense", "vois", "peux", "veux", "sait", "etait", "avait", "faut",
];

fn forbids(words: &[&str]) -> bool {
    let ["ne" | "n'", rest @ ..] = words else { return false };
    if matches!(rest, ["t'" | "vous", "en", ..]) {
        return false;
    }
    let negations = ["pas", "jamais", "plus", "rien", "aucun", "aucune", "que"];
    let negated = rest.iter().take(4).any(|word| negations.contains(word));
    let verb = rest.iter().find(|word| !PRONOUNS.contains(word) && !negations.contains(word));
    negated
        && rest.len() >= 3
        && verb.is_some_and(|verb| {
            !NOT_AFTER_NE.contains(verb)
                && (is_infinitive(verb)
                    || is_imperative(verb)
                    || verb.ends_with("ez")
                    || verb.ends_with('e')
                    || verb.ends_with('s'))
        })
}

/// Imperatives of `tu`; those of `vous` end in `-ez`.
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "donne", "utilise", "reponds", "ecris", "mets", "garde", "indique", "cite", "ajoute", "montre",
    "explique", "fais", "faites", "evite", "verifie", "demande", "limite", "formate", "precise",
    "inclus", "reste", "prefere", "traduis", "appelle", "arrete", "cesse", "pense", "commence",
    "termine", "finis", "resume", "liste", "compare", "confirme", "propose", "mentionne", "parle",
    "dis", "dites", "presente", "structure", "classe", "arrondis", "teste", "lance", "suis", "sois",
    "soyez", "prends", "lis", "relis", "nomme", "signale", "rappelle", "tutoie", "vouvoie",
    "privilegie", "decris", "detaille", "justifie", "separe", "mets", "cree", "laisse", "considere",
    "envoie", "supprime", "change", "touche", "corrige", "convertis", "recommande", "suggere",
    "choisis", "calcule", "traite", "repete", "optimise", "previens", "tiens",
];

fn is_imperative(word: &str) -> bool {
    IMPERATIVES.contains(&word)
        || word.ends_with("ez")
            && word.len() > 4
            && !matches!(
                word,
                "devez"
                    | "pouvez"
                    | "assez"
                    | "avez"
                    | "voulez"
                    | "allez"
                    | "savez"
                    | "chez"
                    | "notez"
            )
}

fn is_infinitive(word: &str) -> bool {
    (word.ends_with("er") || word.ends_with("ir") || word.ends_with("re"))
        && word.len() > 3
        && !matches!(
            word,
            "hier" | "hiver" | "notre" | "votre" | "entre" | "autre" | "encore" | "etre"
        )
}
