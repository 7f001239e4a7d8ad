"""Draws the sentences of sentences.tsv, without their labels.

Fetch both packages into this folder first:
    pip download --no-deps chatterbot-corpus==1.3.3          (BSD-3-Clause)
    npm pack electron-i18n@1.3136.0 && tar xzf electron-i18n-*.tgz   (MIT)
"""
import html, json, random, re, zipfile
import yaml

SEED = 30
LANGUAGES = {"en": ("en-US", "english"), "de": ("de-DE", "german"), "fr": ("fr-FR", "french"), "es": ("es-ES", "spanish")}
# Words that a directive or a preference may have, anywhere in the sentence.
WORDS = {
    "en": r"always|never|prefer\w*|rather|from now on|whenever|make sure|remember|avoid|don't",
    "de": r"immer|nie|niemals|bevorzug\w*|lieber|ab jetzt|künftig|stets|bitte|vermeide\w*|sollte\w*",
    "fr": r"toujours|jamais|préfér\w*|plutôt|désormais|dorénavant|évite\w*|assure\w*|n'oublie\w*|devriez",
    "es": r"siempre|nunca|jamás|prefier\w*|en adelante|aseg[uú]r\w*|recuerd\w*|evit\w*|por favor",
}
# Openings of an imperative.
OPENINGS = {
    "en": r"(please |also,? )?(always|never|don't|do not|make sure|be sure|remember|avoid|prefer|keep|ensure|use|we prefer|i prefer)\b",
    "de": r"(bitte )?(verwende\w*|benutze\w*|nutze\w*|achte\w*|stelle\w*|denke\w*|vermeide\w*|immer|nie|niemals|bitte|füge\w*|setze\w*)\b",
    "fr": r"(veuillez|n'\w+ez|ne|évite\w*|assure\w*|utilisez|préfére\w*|toujours|jamais|gardez|vérifiez)\b",
    "es": r"(por favor,? )?(no \w+[ea]s?|evit[ea]|asegúr\w+|recuerd[ea]|us[ea]|utilic[ea]|siempre|nunca|prefier\w+|mantenga)\b",
}


def documents(locale):
    for name in ("docs", "blogs"):
        pages = json.load(open(f"package/dist/{name}.json"))[locale]
        for key in sorted(pages):
            page = re.sub(r"(?s)<pre.*?</pre>|<table.*?</table>", "", pages[key].get("html") or "")
            for block in re.findall(r"(?s)<(?:p|li)[^>]*>(.*?)</(?:p|li)>", page):
                text = html.unescape(re.sub(r"<[^>]+>", "", block)).replace("\n", " ")
                yield from re.split(r"(?<=[.!?])\s+", text)


def dialogues(language):
    corpus = zipfile.ZipFile("chatterbot_corpus-1.3.3-py2.py3-none-any.whl")
    for name in sorted(n for n in corpus.namelist() if f"/{language}/" in n):
        for turns in yaml.safe_load(corpus.read(name))["conversations"]:
            for turn in turns:
                yield from re.split(r"(?<=[.!?])\s+", str(turn))


def clean(sentences):
    sentences = (" ".join(s.split()) for s in sentences)
    return list(dict.fromkeys(s for s in sentences if 4 <= len(s.split()) <= 30 and s[0].isalpha() and s[-1] in ".!?"))


english = set(clean(documents("en-US")))
for language, (locale, name) in LANGUAGES.items():
    chats = clean(dialogues(name))
    pages = [s for s in clean(documents(locale)) if language == "en" or s not in english]
    draw, seen = random.Random(SEED), set()
    strata = [
        ("chat", 10, chats),
        ("opening", 25, [s for s in pages + chats if re.match(OPENINGS[language], s, re.I)]),
        ("word", 25, [s for s in pages + chats if re.search(rf"\b({WORDS[language]})\b", s, re.I)]),
        ("page", 50, pages),
    ]
    for stratum, most, pool in strata:
        pool = [s for s in pool if s not in seen]
        for sentence in draw.sample(pool, min(most, len(pool), 50 - len(seen))):
            seen.add(sentence)
            print(language, stratum, sentence, sep="\t")
