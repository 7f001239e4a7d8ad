"""Runs the gateway in front of a real model, and prints tables. Fails if the server refused a request."""

import argparse
import json
import pathlib
import sys

import bodies
import needles
from processes import gateway, llama, post

WINDOWS = [1536, 3072, 6144]

# What stands before a question: the newest messages, what the gateway's plan keeps, or the fact and nothing else.
WAYS = ["newest first", "plan", "fact alone"]

# The gateway asks the server for its window, and for the count of requests that are cut or close to it.
EXACT = "exact_from = 0.8"


def recordings(folder):
    for file in sorted(pathlib.Path(folder).glob("*.jsonl")):
        yield from recordings_of(file)


def recordings_of(file):
    for line in file.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        yield run["name"], run["messages"]


def call_ends(messages):
    """Positions at which the recorded agent called its model."""
    return [at for at, one in enumerate(messages) if one["role"] == "assistant" and at > 1]


def spread(positions, most):
    """At most so many of them, one after the other, from the end: there a conversation is longest."""
    return positions[-most:]


def replay(options, short):
    """Recorded conversations in three protocols at three windows."""
    most = options.turns or (2 if short else 12)
    print("\n| window | protocol | requests | refused | sent twice | fullest | cached, expected | cached, reported |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    refused = 0
    for window in options.windows or (WINDOWS[1:2] if short else WINDOWS):
        with llama(options, window) as server:
            for protocol in options.protocols:
                path = bodies.PATHS[protocol]
                with gateway(options, server, EXACT) as front:
                    row = replay_protocol(options, front, protocol, path, most, short)
                    sent, bad, fullest, reported = row
                    expected = expected_cached(front.page()["calls"])
                    refused += bad
                    share = f"{fullest / window:.2f}"
                    cells = [window, protocol, sent, bad, front.overflows(), share, expected, reported]
                    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return refused


def expected_cached(calls):
    """Tokens that the gateway expects to be cached. Nothing was sent before the first call of a conversation."""
    known, expected = set(), 0
    for call in reversed(calls):
        if call["conversation"] in known and call["end"] == "complete":
            expected += call["cached"] or 0
        known.add(call["conversation"])
    return expected


def replay_protocol(options, front, protocol, path, most, short):
    sent = bad = fullest = reported = 0
    for index, (name, messages) in enumerate(recordings(options.runs)):
        if short and index % 4 != 0:
            continue
        known = bodies.tools(messages)
        for turn, at in enumerate(spread(call_ends(messages), most)):
            body = bodies.request(protocol, messages[:at], known, 1)
            body["stream"] = turn % 2 == 1
            if body["stream"] and protocol == "chat":
                body["stream_options"] = {"include_usage": True}
            status, headers, text = post(front.url + path, body)
            sent += 1
            tokens, cached = bodies.usage(text)
            fullest, reported = max(fullest, tokens), reported + cached
            if status != 200 or "x-cupel-passed" in headers:
                bad += 1
                print(f"{name}, message {at}: {status} {headers.get('x-cupel-passed')} {text[:300]}", file=sys.stderr)
    return sent, bad, fullest, reported


def ask(url, messages, question):
    body = {"model": "smollm2", "temperature": 0, "max_tokens": 24}
    body["messages"] = messages + [{"role": "user", "content": question}]
    status, _, text = post(url + "/v1/chat/completions", body)
    return json.loads(text)["choices"][0]["message"]["content"].lower() if status == 200 else ""


def newest(server, messages, room):
    """The system message and the newest messages that fit, by the server's own count."""
    kept = []
    for one in reversed(messages[1:]):
        body = {"messages": messages[:1] + [one] + kept}
        _, _, text = post(server + "/v1/chat/completions/input_tokens", body)
        if json.loads(text)["input_tokens"] > room:
            break
        kept.insert(0, one)
    return messages[:1] + kept


def questions(options, short):
    """Planted facts: newest first, the plan, and the fact alone."""
    window = options.question_window
    number, facts = (2, 2) if short else (options.conversations, 9)
    right, asked = dict.fromkeys(options.ways, 0), 0
    with llama(options, window) as server, gateway(options, server, f"window = {window}\n{EXACT}") as front:
        for index in range(number):
            messages, planted = needles.conversation(index, 72, facts)
            trimmed = newest(server, messages, window - 100) if "newest first" in right else []
            for way in right:
                for fact, question, answers in planted:
                    alone = [needles.SYSTEM, {"role": "user", "content": fact}, {"role": "assistant", "content": "I see."}]
                    url, before = {
                        "newest first": (server, trimmed), "plan": (front.url, messages), "fact alone": (server, alone),
                    }[way]
                    said = ask(url, before, question)
                    is_right = any(answer in said for answer in answers)
                    right[way] += is_right
                    if not is_right:
                        print(f"{way}: {question} {said!r}", file=sys.stderr)
            asked += len(planted)
            print(f"after {asked} questions: {right}", file=sys.stderr, flush=True)
    print(f"\n| planted facts answered, of {asked} in {number} conversations, window {window} | |\n| --- | ---: |")
    for way, count in right.items():
        print(f"| {way} | {count / asked:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ["server", "model", "gateway", "work", "runs"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--short", action="store_true", help="a few requests of each kind")
    parser.add_argument("--only", choices=["recordings", "questions"])
    parser.add_argument("--protocols", nargs="*", choices=list(bodies.PATHS), default=list(bodies.PATHS))
    parser.add_argument("--windows", type=int, nargs="*")
    parser.add_argument("--threads", type=int, help="of the server; one is fastest on a machine that is busy")
    parser.add_argument("--turns", type=int, help="newest turns of each recording")
    parser.add_argument("--conversations", type=int, default=8, help="with planted facts")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS, help="of answering the questions")
    parser.add_argument("--question-window", type=int, default=1500)
    options = parser.parse_args()
    refused = 0
    if options.only != "questions":
        refused = replay(options, options.short)
    if options.only != "recordings":
        questions(options, options.short)
    if refused:
        raise SystemExit(f"{refused} requests were refused or sent unchanged")


if __name__ == "__main__":
    main()
