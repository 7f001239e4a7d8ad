"""Chooses the margin of `LocalEstimate` by public vocabularies, and tests it on each one that was left out.

The estimate is linear: a share of the tokens of `cl100k_base` (with one token a digit) and so much for each sign,
line break, capital and character of another script. The margin is the cheapest one that reaches the count of every
vocabulary on every stretch of the texts, found by linear programming.
"""

import argparse
import json
import os
import pathlib
import string
import sys

import numpy
import scipy.optimize

import vocabulary

# Bytes of a stretch: about 1,400 tokens.
STRETCH = 5000

# GPT-2 has no tokens for indentation and no chat template. The others have the vocabulary of one in the list.
SKIPPED = {"gpt-2", "llama-spm", "refact", "qwen35"}

FEATURES = ["base", "line", "underscore", "underscore after a letter", "sign", "capital", "latin", "hangul", "indic", "cjk", "other"]
# Set by hand: the recorded conversations have next to no text in other scripts.
SCRIPTS = {"latin": 1.8, "hangul": 2.0, "indic": 1.3, "cjk": 0.9, "other": 0.7}
PUNCTUATION = set(string.punctuation)


def kind(character):
    """The script of a character outside ASCII, as `of_script` has it."""
    code = ord(character)
    if 0xC0 <= code <= 0x24F or 0x1E00 <= code <= 0x1EFF:
        return "latin"
    if 0xAC00 <= code <= 0xD7AF:
        return "hangul"
    if 0x900 <= code <= 0xE7F:
        return "indic"
    if 0x3040 <= code <= 0x30FF or 0x3400 <= code <= 0x9FFF:
        return "cjk"
    return "other"


def features(text, base):
    """What the estimate adds up, in the order of FEATURES."""
    found = dict.fromkeys(FEATURES, 0)
    found["base"] = base
    last = " "
    for one in text:
        if one == "\n":
            found["line"] += last != "\n"
        elif one == "_":
            found["underscore"] += 1
            found["underscore after a letter"] += last not in PUNCTUATION
        elif one in PUNCTUATION:
            found["sign"] += not (last in PUNCTUATION and last != "_")
        elif "A" <= one <= "Z":
            found["capital"] += "a" <= last <= "z"
        elif ord(one) > 127:
            found[kind(one)] += 1
        last = one
    return [found[name] for name in FEATURES]


def single_digits(tokens, text):
    """Tokens if each digit is one, as `single_digits` has it."""
    run = more = 0
    for one in text + " ":
        if "0" <= one <= "9":
            run += 1
        else:
            more += run - -(-run // 3)
            run = 0
    return tokens + more


def stretches(folders, size):
    """Texts of recorded conversations, in pieces."""
    for folder in folders:
        for file in sorted(pathlib.Path(folder).glob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                texts = []
                for message in json.loads(line)["messages"]:
                    texts.append(message.get("content") or "")
                    texts += [call["function"]["arguments"] for call in message.get("tool_calls") or []]
                piece = []
                for text in texts:
                    piece.append(text)
                    if sum(map(len, piece)) >= size:
                        yield piece
                        piece = []
                if sum(map(len, piece)) > size / 2:
                    yield piece


def choose(table, counts):
    """The margin with the smallest sum of estimates that reaches every count."""
    needed = numpy.max(counts, axis=0)
    bounds = [(1, None)] + [(SCRIPTS.get(name, 0), SCRIPTS.get(name)) for name in FEATURES[1:]]
    answer = scipy.optimize.linprog(table.sum(axis=0), -table, -needed, bounds=bounds)
    if not answer.success:
        raise SystemExit(answer.message)
    return answer.x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True, help="llama.cpp's sources")
    parser.add_argument("--more", nargs="*", default=[], help="folders or files of other tokenizer.json")
    parser.add_argument("--weights", help="a model with a vocabulary of its own")
    parser.add_argument("--ranks", required=True, help="cl100k_base, as tiktoken stores it")
    parser.add_argument("--runs", required=True, nargs="+")
    parser.add_argument("--texts", nargs="*", default=[], help="files of other texts, code and logs")
    parser.add_argument("--work", required=True)
    parser.add_argument("--now", type=float, nargs="*", help="the margin in use, for comparison")
    options = parser.parse_args()
    import tiktoken
    import tiktoken.load
    from tokenizers import Tokenizer

    pattern = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    os.environ["TIKTOKEN_CACHE_DIR"] = ""
    ranks = tiktoken.load.load_tiktoken_bpe(options.ranks)
    cl100k = tiktoken.Encoding("cl100k", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    found = {}
    for gguf in sorted((pathlib.Path(options.source) / "models").glob("ggml-vocab-*.gguf")):
        name = gguf.stem.removeprefix("ggml-vocab-")
        folder = pathlib.Path(options.work) / "vocabularies" / name
        if name in SKIPPED or not pathlib.Path(f"{gguf}.inp").exists() or not vocabulary.convert(gguf, folder):
            continue
        texts, wrong = vocabulary.differences(folder, gguf)
        print(f"{name}: {texts - wrong} of {texts} texts have the expected tokens", file=sys.stderr)
        if wrong == 0:
            found[name] = folder / "tokenizer.json"
    if options.weights:
        folder = pathlib.Path(options.work) / "vocabularies" / "smollm2"
        vocabulary.convert(options.weights, folder)
        found["smollm2"] = folder / "tokenizer.json"
    found.update({pathlib.Path(path).parent.name + "/" + pathlib.Path(path).stem: path for path in options.more})
    tokenizers = {name: Tokenizer.from_file(str(path)) for name, path in found.items()}

    pieces = list(stretches(options.runs, STRETCH))
    for path in options.texts:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        pieces += [[text[at : at + STRETCH]] for at in range(0, len(text) - STRETCH // 2, STRETCH)]
    rows = []
    for piece in pieces:
        of_texts = [features(text, single_digits(len(cl100k.encode_ordinary(text)), text)) for text in piece]
        rows.append(numpy.sum(of_texts, axis=0))
    table = numpy.array(rows, dtype=float)
    counts = {
        name: numpy.array([sum(len(one.ids) for one in tokenizer.encode_batch(piece, add_special_tokens=False)) for piece in pieces])
        for name, tokenizer in tokenizers.items()
    }
    everything = list(counts.values())
    print(f"{len(pieces)} stretches, {len(counts)} vocabularies")
    chosen = choose(table, everything)
    print("\n| feature | texts | margin |" + (" in use |" if options.now else "") + "\n| --- | ---: | ---: |" + (" ---: |" if options.now else ""))
    for index, name in enumerate(FEATURES):
        now = f" {options.now[index]:.2f} |" if options.now else ""
        print(f"| {name} | {int((table[:, index] > 0).sum())} | {chosen[index]:.3f} |{now}")
    print("\n| vocabulary | real over estimate: mean | largest | left out: mean | 999 of 1,000 | largest | over | estimate, left out over all |")
    print("| --- |" + " ---: |" * 7)
    used = numpy.array(options.now) if options.now else chosen
    for name, real in counts.items():
        others = [count for other, count in counts.items() if other != name]
        without = choose(table, others)
        with_all, left_out = real / (table @ used), real / (table @ without)
        ratio = (table @ without) / (table @ used)
        print(
            f"| {name} | {with_all.mean():.3f} | {with_all.max():.3f} | {left_out.mean():.3f} "
            f"| {numpy.quantile(left_out, .999):.3f} | {left_out.max():.3f} | {int((left_out > 1).sum())} | {ratio.min():.3f} to {ratio.max():.3f} |"
        )


if __name__ == "__main__":
    main()
