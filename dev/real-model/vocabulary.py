"""Vocabularies of GGUF files as `tokenizer.json`, the form in which models are published."""

import json
import pathlib
import struct

LETTERS_LLAMA3 = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LETTERS_QWEN2 = LETTERS_LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
LETTERS_QWEN35 = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LETTERS_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"

# Rules by which texts are cut before pairs are merged, by the name that GGUF files give them.
RULES = {
    "llama-bpe": [LETTERS_LLAMA3],
    "qwen2": [LETTERS_QWEN2],
    "qwen35": [LETTERS_QWEN35],
    "starcoder": [r"\p{N}", LETTERS_GPT2],
    "refact": [r"\p{N}", LETTERS_GPT2],
    "command-r": [r"\p{N}", LETTERS_GPT2],
    "smollm": [r"\p{N}", LETTERS_GPT2],
    "gpt-2": [LETTERS_GPT2],
    "mpt": [LETTERS_GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", LETTERS_GPT2, r"[0-9][0-9][0-9]"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
}

NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


def metadata(path):
    """Fields at the start of a GGUF file."""
    with open(path, "rb") as file:
        def number(kind):
            form = NUMBERS[kind]
            return struct.unpack(form, file.read(struct.calcsize(form)))[0]

        def value(kind):
            if kind == 8:
                return file.read(number(10)).decode("utf-8", "replace")
            if kind == 9:
                of, count = number(4), number(10)
                if of in NUMBERS:
                    form = f"<{count}{NUMBERS[of][1]}"
                    return list(struct.unpack(form, file.read(struct.calcsize(form))))
                return [value(of) for _ in range(count)]
            return number(kind)

        if file.read(4) != b"GGUF":
            raise SystemExit(f"{path} is no GGUF file")
        number(4)
        number(10)
        return {value(8): value(number(4)) for _ in range(number(10))}


def bpe(fields):
    """A tokenizer of byte pairs; None for rules that are not in the list."""
    rules = RULES.get(fields.get("tokenizer.ggml.pre"))
    if fields["tokenizer.ggml.model"] != "gpt2" or rules is None:
        return None
    splits = [{"type": "Split", "pattern": {"Regex": rule}, "behavior": "Isolated", "invert": False} for rule in rules]
    bytes_as_letters = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": added(tokens, kinds),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": splits + [bytes_as_letters]},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False,
            "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "ignore_merges": fields["tokenizer.ggml.pre"] == "llama-bpe",
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ", 1) for merge in fields["tokenizer.ggml.merges"]],
        },
    }


def sentencepiece(fields):
    """A tokenizer of SentencePiece, whose pairs follow from the scores of its tokens."""
    if fields["tokenizer.ggml.model"] != "llama":
        return None
    tokens, scores = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.scores"]
    vocab = {token: index for index, token in enumerate(tokens)}
    merges = []
    for token, score in zip(tokens, scores):
        pairs = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = [pair for pair in pairs if pair[0] in vocab and pair[1] in vocab]
        merges += [(score, vocab[left], vocab[right], [left, right]) for left, right in known]
    merges.sort(key=lambda merge: (-merge[0], merge[1], merge[2]))
    spaces = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    return {
        "version": "1.0", "truncation": None, "padding": None, "post_processor": None, "pre_tokenizer": None,
        "added_tokens": added(tokens, fields["tokenizer.ggml.token_type"]),
        "normalizer": {"type": "Sequence", "normalizers": spaces}, "decoder": None,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
            "continuing_subword_prefix": None, "end_of_word_suffix": None, "ignore_merges": False,
            "vocab": vocab, "merges": [pair for *_, pair in merges],
        },
    }


def added(tokens, kinds):
    """Tokens that a text names as a whole."""
    return [
        {
            "id": index, "content": tokens[index], "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": kinds[index] == 3,
        }
        for index in range(len(tokens))
        if kinds[index] in (3, 4)
    ]


def convert(gguf, folder, template=None):
    """Writes the files of a model into a folder. Returns False if its rules are not in the list."""
    fields = metadata(gguf)
    made = bpe(fields) or sentencepiece(fields)
    if made is None:
        return False
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(made), encoding="utf-8")
    tokens = fields["tokenizer.ggml.tokens"]

    def special(name):
        index = fields.get(f"tokenizer.ggml.{name}_token_id")
        return tokens[index] if index is not None else None

    config = {"bos_token": special("bos"), "eos_token": special("eos")}
    config["add_bos_token"] = bool(fields.get("tokenizer.ggml.add_bos_token", False))
    config["chat_template"] = template or fields.get("tokenizer.chat_template") or CHATML
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return True


# For models without a template: the one that most servers then take.
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def differences(folder, gguf):
    """Number of texts beside a GGUF file, and of those whose tokens differ from the expected ones."""
    from tokenizers import Tokenizer

    texts = pathlib.Path(f"{gguf}.inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
    expected = pathlib.Path(f"{gguf}.out").read_text(encoding="utf-8").split("\n")
    tokenizer = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    found = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    wrong = [at for at, ids in enumerate(found) if ids != [int(number) for number in expected[at].split()]]
    return len(texts), len(wrong)
