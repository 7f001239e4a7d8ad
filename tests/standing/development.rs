//! Sentences for development: real phrasing, and false friends.

use super::{found, kind};

use super::SentenceKind::{Directive, Preference, Retraction};

#[test]
fn english_directives_are_recognised() {
    for sentence in [
        "Always give exact version numbers when I ask about dependencies.",
        "Never touch the production branch.",
        "Don't use emojis in your answers.",
        "Please always format code with syntax highlighting.",
        "Also, please never commit without running the tests.",
        "From now on, answer in bullet points.",
        "Going forward, please include the currency in every price.",
        "In future, ask me before you delete anything.",
        "Whenever I paste a log, point out the first error.",
        "When I ask for code, give me only the code.",
        "Include the source whenever I ask about statistics.",
        "Make sure you always cite the paper.",
        "Please make sure to never mention the client by name.",
        "Remember that I am allergic to nuts.",
        "Remember, I work in UTC.",
        "Keep your answers short.",
        "I want you to always explain the trade-offs.",
        "When I ask about travel, I want prices in euros.",
        "Your answers should fit on one screen.",
        "Stick to metric units.",
        "Stop apologizing all the time.",
        "Avoid passive voice.",
        "For Python code, always add type hints.",
        "Ok thanks, and from now on use British spelling.",
        "Note: never push to main without asking.",
        "Don't change the schema unless I say so.",
        "You should always double-check the dates.",
        "I don't want you to send any mail yourself.",
        "Call me Sam.",
        "- Always use tabs",
        "always reply in lowercase",
        "Use the staging database by default.",
        "If I ask for a summary, limit it to three sentences.",
        "Let's always use the 24-hour clock.",
        "As a rule, write tests first.",
        "Reply in German.",
        "Every time you change a file, run the linter.",
        "No more tables, please.",
    ] {
        assert_eq!(kind(sentence), Some(Directive), "{sentence}");
    }
}

#[test]
fn english_preferences_are_recognised() {
    for sentence in [
        "I prefer lightweight libraries.",
        "I'd rather see an example than a definition.",
        "I generally prefer window seats, so keep that in mind.",
        "I like it when you show the diff first.",
        "My preference is SQLite over a server.",
        "I don't like it when answers begin with praise.",
        "I'm not a fan of ORMs.",
        "Since I prefer small dependencies, let's look at ureq.",
    ] {
        assert_eq!(kind(sentence), Some(Preference), "{sentence}");
    }
}

#[test]
fn german_forms_are_recognised() {
    for sentence in [
        "Gib immer die genaue Version an.",
        "Bitte antworte ab jetzt auf Deutsch.",
        "Niemals den Produktionszweig anfassen.",
        "Verwende keine Emojis in deinen Antworten.",
        "Immer Versionen angeben.",
        "Merk dir, dass ich Vegetarier bin.",
        "Frag mich künftig, bevor du etwas löschst.",
        "Wenn ich dich nach Code frage, füge Typen hinzu.",
        "Du sollst nie ohne Test committen.",
        "Achten Sie immer auf die Rechtschreibung.",
        "Verwenden Sie in Zukunft metrische Einheiten.",
        "Vermeide Anglizismen.",
        "Bitte keine Tabellen.",
        "Ich möchte, dass du immer die Quelle nennst.",
        "Nenn mich Kim.",
    ] {
        assert_eq!(kind(sentence), Some(Directive), "{sentence}");
    }
    for sentence in [
        "Ich bevorzuge kleine Bibliotheken.",
        "Kurze Antworten sind mir lieber.",
        "Ich nutze lieber SQLite als einen Server.",
        "Ich mag es, wenn du zuerst das Ergebnis nennst.",
    ] {
        assert_eq!(kind(sentence), Some(Preference), "{sentence}");
    }
}

#[test]
fn french_forms_are_recognised() {
    for sentence in [
        "Donne toujours la version exacte.",
        "N'utilise jamais d'emojis.",
        "À partir de maintenant, réponds en français.",
        "Ne touche pas à la branche de production.",
        "Toujours citer la source.",
        "Quand je te demande du code, ajoute les types.",
        "S'il te plaît, évite les anglicismes.",
        "Souviens-toi que je suis végétarien.",
        "Désormais, demande-moi avant de supprimer un fichier.",
        "Tu dois toujours vérifier les dates.",
        "Je veux que tu expliques toujours les compromis.",
        "Merci de ne jamais envoyer de courriel toi-même.",
        "Ne réponds plus en anglais.",
        "Appelle-moi Sam.",
    ] {
        assert_eq!(kind(sentence), Some(Directive), "{sentence}");
    }
    for sentence in [
        "Je préfère les bibliothèques légères.",
        "J'aime quand tu montres un exemple.",
        "Je préfère que tu sois bref.",
    ] {
        assert_eq!(kind(sentence), Some(Preference), "{sentence}");
    }
}

#[test]
fn spanish_forms_are_recognised() {
    for sentence in [
        "Indica siempre la versión exacta.",
        "Siempre incluye la fuente.",
        "Nunca toques la rama de producción.",
        "No uses emojis en tus respuestas.",
        "A partir de ahora, responde en español.",
        "De ahora en adelante usa el sistema métrico.",
        "Cuando te pida código, dame solo el código.",
        "Recuerda que soy vegetariano.",
        "Por favor, evita los anglicismos.",
        "Quiero que siempre expliques las ventajas.",
        "Deja de disculparte.",
        "Pregúntame siempre antes de borrar algo.",
        "Llámame Sam.",
    ] {
        assert_eq!(kind(sentence), Some(Directive), "{sentence}");
    }
    for sentence in [
        "Prefiero bibliotecas pequeñas.",
        "Me gusta que empieces con el resultado.",
        "No me gusta cuando repites la pregunta.",
    ] {
        assert_eq!(kind(sentence), Some(Preference), "{sentence}");
    }
}

#[test]
fn retractions_are_recognised() {
    for sentence in [
        "Forget the rule about emojis.",
        "You may use tabs again.",
        "You don't have to give versions any more.",
        "Forget what I said about metric units.",
        "You no longer need to cite the source.",
        "Vergiss die Regel mit den Emojis.",
        "Du darfst wieder Tabs verwenden.",
        "Du musst keine Versionen mehr angeben.",
        "Oublie la règle sur les emojis.",
        "Tu peux de nouveau utiliser des tabulations.",
        "Olvida la regla de los emojis.",
        "Ya no hace falta que cites la fuente.",
        "Puedes usar tabuladores de nuevo.",
    ] {
        assert_eq!(kind(sentence), Some(Retraction), "{sentence}");
    }
}

#[test]
fn false_friends_are_not_recognised() {
    for sentence in [
        "I have never been to Rome.",
        "Never been to Rome myself.",
        "I always thought it was slow.",
        "Never mind.",
        "Always a pleasure!",
        "Always happy to help.",
        "Should I always use a lock here?",
        "Do you always need a context manager?",
        "Don't you think it is slow?",
        "Don't worry about it.",
        "Don't know why it fails.",
        "Whenever I run the tests, the build fails.",
        "When I asked for help, nobody answered.",
        "The test always fails, check it.",
        "He never reads the manual, and always complains.",
        "My boss said I should never do that.",
        "I remember that it worked.",
        "It always returns zero and never throws.",
        "From now on I'm going to sleep early.",
        "In the future, I want to learn Rust.",
        "Don't run it yet.",
        "I would like to know whether I prefer tea.",
        "The docs say \"always close the file\".",
        "She told me 'never give up' every day.",
        "He wrote: “Always reply to me within a day.”",
        "What does \"never use eval\" mean in practice?",
        "# Always close the file",
        "// never call this twice",
        "> Always reply to me.",
        "Subject: Always on time",
        "if x: return  # always true",
        "Ich war noch nie in Rom.",
        "Immer noch kein Ergebnis.",
        "Nie davon gehört.",
        "Das passiert immer wieder.",
        "Soll ich immer einen Lock verwenden?",
        "Ich habe das immer so gemacht.",
        "Je ne suis jamais allé à Rome.",
        "Toujours pas de réponse.",
        "Ne t'inquiète pas pour ça.",
        "C'est toujours la même erreur.",
        "Nunca he estado en Roma.",
        "Siempre he querido ir.",
        "No te preocupes por eso.",
        "No tienes razón en eso.",
        "No sé por qué siempre falla.",
        "¿Siempre hay que cerrar el archivo?",
        // Other languages give none.
        "Gebruik altijd exacte versies.",
        "Usa sempre le versioni esatte, mai approssimazioni.",
        "Всегда указывай точные версии.",
        "常に正確なバージョンを教えてください。",
    ] {
        assert_eq!(kind(sentence), None, "{sentence}");
    }
}

#[test]
fn a_directive_is_found_among_other_sentences() {
    let text = "Thanks, that works! From now on, give exact versions. Can you look at the log?\n\n\
                ```\nnever do this\n```\n\nBy the way I prefer SQLite.";
    assert_eq!(found(text), ["From now on, give exact versions.", "By the way I prefer SQLite."]);
    let list = "My rules:\n- Always use tabs\n- never use e.g. spaces. Keep lines short\n\nFix it.";
    assert_eq!(found(list), ["Always use tabs", "never use e.g. spaces."]);
    let wrapped = "Please make sure that whenever you change the public interface of a crate\n\
                   you always add an entry to the changelog, with the reason.";
    assert_eq!(found(wrapped), [wrapped]);
    let lines = "always use tabs\nnever use emojis\nwhat is a monad";
    assert_eq!(found(lines), ["always use tabs", "never use emojis"]);
}

#[test]
fn long_paragraphs_give_none() {
    let long = "Always do as this long text says. ".repeat(10);
    assert_eq!(found(&long), [""; 0]);
    assert_eq!(found(&format!("{long}\n\nNever use tabs.")), ["Never use tabs."]);
}
