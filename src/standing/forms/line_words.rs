//! Words that mark a line as quoted from somebody else.

/// Words of a label that ends with a colon, behind which somebody else's text stands.
#[rustfmt::skip]
pub(in crate::standing) const FRAME_WORDS: &[&str] = &[
    "context", "document", "documents", "doc", "docs", "mail", "email", "message", "messages",
    "article", "page", "text", "quote", "log", "logs", "output", "transcript", "readme", "result",
    "results", "source", "sources", "reply", "letter", "post", "comment", "comments", "issue",
    "ticket", "excerpt", "snippet", "content", "contents", "passage", "passages", "wrote", "writes",
    "written", "said", "says", "sent", "told", "tells", "reads", "retrieved", "knowledge",
    "background", "reference", "references", "search", "tool", "system", "user", "assistant",
    "human", "ai", "bot", "website", "html", "file", "policy", "guide", "manual", "review",
    "reviews", "chat", "input", "data", "response", "responses", "attachment", "notes", "memory",
    "memories", "observation", "observations", "faq", "wiki", "thread", "conversation", "history",
    "kontext", "dokument", "dokumente", "nachricht", "artikel", "seite", "zitat", "ausgabe",
    "protokoll", "ergebnis", "ergebnisse", "quelle", "quellen", "antwort", "brief", "beitrag",
    "kommentar", "auszug", "inhalt", "schrieb", "schreibt", "geschrieben", "sagte", "sagt",
    "meinte", "hintergrund", "webseite", "datei", "richtlinie", "anleitung", "benutzer", "nutzer",
    "eingabe", "contexte", "courriel", "texte", "citation", "sortie", "journal", "résultat",
    "résultats", "réponse", "lettre", "commentaire", "extrait", "contenu", "écrit", "dit", "site",
    "fichier", "politique", "utilisateur", "entrée", "contexto", "documento", "documentos",
    "correo", "mensaje", "artículo", "página", "texto", "cita", "salida", "registro", "resultado",
    "resultados", "fuente", "fuentes", "respuesta", "carta", "comentario", "extracto", "contenido",
    "escribió", "dijo", "dice", "sitio", "archivo", "política", "guía", "usuario", "entrada",
];

/// Words before a text that follows.
#[rustfmt::skip]
pub(in crate::standing) const DEMONSTRATIVES: &[&str] = &[
    "this", "these", "following", "below", "diese", "dieser", "diesen", "dieses", "dieser", "folgende",
    "folgenden", "ce", "cet", "cette", "ces", "suivant", "suivante", "este", "esta", "estos", "estas",
    "siguiente", "siguientes",
];

/// Texts that people paste.
#[rustfmt::skip]
pub(in crate::standing) const PASTED_TEXTS: &[&str] = &[
    "mail", "mails", "email", "emails", "message", "messages", "article", "text", "letter", "transcript",
    "document", "documents", "quote", "excerpt", "passage", "post", "thread", "paragraph", "webpage",
    "readme", "log", "contract", "review", "nachricht", "artikel", "brief", "dokument", "auszug", "absatz",
    "vertrag", "beitrag", "courriel", "texte", "lettre", "extrait", "contrat", "correo", "mensaje",
    "texto", "carta", "documento", "extracto", "contrato",
];

/// Words with which a user announces rules of his own.
#[rustfmt::skip]
pub(in crate::standing) const RULE_WORDS: &[&str] = &[
    "rule", "rules", "preference", "preferences", "always", "never", "remember", "prefer", "follow",
    "instructions", "regel", "regeln", "vorlieben", "vorgaben", "immer", "merk", "merke", "règle",
    "règles", "préférence", "préférences", "consignes", "toujours", "regla", "reglas",
    "preferencias", "siempre", "instrucciones",
];

/// First words of a line with a colon that is a user's own remark.
#[rustfmt::skip]
pub(in crate::standing) const LABELS: &[&str] = &[
    "note", "important", "reminder", "rule", "rules", "ps", "btw", "also", "fyi", "edit", "update",
    "preference", "preferences", "style", "format", "formatting", "remember", "please", "request",
    "oh", "ok", "okay", "wichtig", "hinweis", "merke", "regel", "regeln", "bitte", "stil",
    "remarque", "règle", "règles", "rappel", "nota", "importante", "regla", "reglas", "recuerda",
    "recordatorio", "estilo",
];

/// Headers of mail.
#[rustfmt::skip]
pub(in crate::standing) const MAIL_HEADERS: &[&str] = &[
    "from", "to", "cc", "bcc", "subject", "date", "sent", "reply-to", "von", "an", "betreff",
    "datum", "gesendet", "de", "à", "objet", "envoyé", "para", "asunto", "fecha", "enviado",
];

/// First words of a letter.
#[rustfmt::skip]
pub(in crate::standing) const GREETINGS: &[&str] = &[
    "dear", "hi", "hello", "hey", "hallo", "liebe", "lieber", "sehr", "guten", "bonjour", "cher",
    "chère", "salut", "hola", "estimado", "estimada", "querido", "querida",
];

/// Names by which a user greets an assistant.
#[rustfmt::skip]
pub(in crate::standing) const NAMES: &[&str] =
    &[
    "there", "assistant", "claude", "chatgpt", "gpt", "gemini", "copilot", "again", "ai", "bot",
];

/// Last lines of a letter.
#[rustfmt::skip]
pub(in crate::standing) const SIGN_OFFS: &[&str] = &[
    "best", "best regards", "kind regards", "warm regards", "regards", "sincerely",
    "yours sincerely", "yours truly", "yours", "cheers", "best wishes", "all the best",
    "many thanks", "thanks and regards", "mit freundlichen grüßen", "freundliche grüße",
    "viele grüße", "liebe grüße", "beste grüße", "mfg", "cordialement", "bien cordialement",
    "bien à vous", "amicalement", "salutations", "saludos", "un saludo", "saludos cordiales",
    "atentamente", "cordialmente", "un abrazo",
];

/// Elements of HTML without content.
#[rustfmt::skip]
pub(in crate::standing) const VOID_TAGS: &[&str] =
    &[
    "br", "hr", "img", "input", "meta", "link", "wbr", "area", "col", "source",
];
