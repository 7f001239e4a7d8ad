"""Requests over the window, for the vocabularies of real models and each way in which the gateway counts.

The gateway fits recorded conversations; `counting_server.py` counts what arrives.
"""

import argparse
import collections
import concurrent.futures
import http.client
import json
import pathlib
import sys
import urllib.parse

import bodies
import check
import vocabulary
from counting_server import Model, Server
from processes import gateway

WINDOWS = [1500, 3000, 6000]
ANSWER = 100

# Vocabulary, chat template and a name by which the gateway knows the family.
MODELS = {
    "smollm2": ("", "", "smollm2-135m"),
    "llama3": ("llama-bpe", "meta-llama-Llama-3.1-8B-Instruct", "llama3.1:8b"),
    "qwen2.5": ("qwen2", "Qwen-Qwen2.5-7B-Instruct", "qwen2.5:7b"),
    # StarCoder has no template: it gets one that writes tools.
    "starcoder": ("starcoder", "Qwen-Qwen2.5-7B-Instruct", "starcoder"),
}

WAYS = ["tokenizer", "exact_from", "estimate", "name"]


def prepare(source, weights, work):
    """Writes the files of the models; returns their folders."""
    source = pathlib.Path(source) / "models"
    folders = {}
    for model, (vocab, template, _) in MODELS.items():
        gguf = source / f"ggml-vocab-{vocab}.gguf" if vocab else weights
        template = (source / "templates" / f"{template}.jinja").read_text(encoding="utf-8") if template else None
        folders[model] = pathlib.Path(work) / "models" / model
        vocabulary.convert(gguf, folders[model], template)
        if vocab:
            texts, wrong = vocabulary.differences(folders[model], gguf)
            if wrong:
                raise SystemExit(f"{model}: {wrong} of {texts} texts have other tokens than llama.cpp expects")
    return folders


def recordings(folders, joined):
    """Recorded conversations, and of each file one session of all of them."""
    for folder in folders:
        for file in sorted(pathlib.Path(folder).glob("*.jsonl")):
            runs = list(check.recordings_of(file))
            for _, messages in runs:
                yield messages
            session = runs[0][1][:1]
            for index, (_, messages) in enumerate(runs):
                session += [renamed(one, index) for one in messages if one["role"] != "system"]
            if joined:
                yield session[:joined]


def renamed(message, index):
    """The same message with ids that no other run has."""
    message = dict(message)
    if message.get("tool_calls"):
        message["tool_calls"] = [{**call, "id": f"{index}-{call['id']}"} for call in message["tool_calls"]]
    if "tool_call_id" in message:
        message["tool_call_id"] = f"{index}-{message['tool_call_id']}"
    return message


def sample(options):
    """Every so many calls of all recordings: what stands before each, and the tools that its recording uses."""
    calls = []
    for messages in recordings(options.runs, options.joined):
        known = bodies.tools(messages)
        calls += [(messages[:at], known) for at in check.call_ends(messages)]
    return calls[options.every // 2 :: options.every]


def settings(way, folder, window):
    rule = f'[[models]]\nname = "*"\nwindow = {window}\n'
    if way == "tokenizer":
        rule += f'tokenizer = {json.dumps(str(folder))}\n'
    if way == "exact_from":
        # On a busy machine the counting server takes its time.
        return "exact_from = 0.8\n", f"{rule}[limits]\ncount_seconds = 60\n"
    return "", rule


class Cell(collections.Counter):
    """Requests of one row of the table."""

    def __init__(self):
        super().__init__()
        self.shares, self.worst = [], 0

    def row(self):
        shares = sorted(self.shares)
        full = f"{sum(shares) / len(shares):.2f}" if shares else ""
        return [self["sent"], self["no room"], self["cut"], self["over"], full, f"{self.worst:.2f}"]


def fit(options, server, folders, calls, model, window, way):
    """Sends all requests through a gateway; returns a cell for each protocol, with tools and without."""
    cells = collections.defaultdict(Cell)
    name = MODELS[model][2] if way == "name" else "local-model"
    top, rule = settings(way, folders[model], window)
    with gateway(options, server.url(model, window), top, rule) as front:
        address = urllib.parse.urlsplit(front.url)

        def send(call):
            (messages, known), protocol, with_tools = call
            body = bodies.request(protocol, messages, known if with_tools else {}, ANSWER)
            body["model"] = name
            full = server.tokens(model, protocol, body)
            connection = http.client.HTTPConnection(address.netloc, timeout=120)
            connection.request("POST", bodies.PATHS[protocol], json.dumps(body), {"content-type": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read())
            connection.close()
            return protocol, with_tools, full, answer.status, answer.headers, found

        work = [(call, protocol, tools) for call in calls for protocol in options.protocols for tools in options.tools]
        with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
            for protocol, with_tools, full, status, headers, found in pool.map(send, work):
                cell = cells[protocol, with_tools]
                cell["sent"] += 1
                if "x-cupel-tokens" not in headers:
                    # The newest messages, instructions and tools alone take more than the window.
                    cell["no room"] += 1
                    options.reasons[headers.get("x-cupel-passed") or found.get("error", {}).get("message")] += 1
                    continue
                share = found["tokens"] / found["room"]
                cell.worst = max(cell.worst, share)
                cell["over"] += status != 200
                if full > found["room"]:
                    cell["cut"] += 1
                    cell.shares.append(share)
    return cells


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True, help="llama.cpp's sources, with its vocabularies")
    for name in ["weights", "gateway", "work"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--runs", required=True, nargs="+", help="folders with recorded conversations")
    parser.add_argument("--every", type=int, default=6, help="every so many calls of all recordings")
    parser.add_argument("--joined", type=int, default=200, help="messages of a session of all runs of a file; 0 for none")
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--windows", type=int, nargs="*", default=WINDOWS)
    parser.add_argument("--protocols", nargs="*", choices=list(bodies.PATHS), default=list(bodies.PATHS))
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    options.tools, options.reasons = [False, True], collections.Counter()
    folders = prepare(options.source, options.weights, options.work)
    server = Server({model: Model(folders[model]) for model in options.models})
    calls = sample(options)
    print(f"{len(calls)} calls of recorded conversations, {ANSWER} tokens for the answer\n")
    columns = ["counted by", "vocabulary", "window", "protocol", "tools", "requests", "no room", "cut", "over", "full", "fullest"]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * 5 + " ---: |" * 6)
    totals = collections.defaultdict(Cell)
    for way in options.ways:
        for model in options.models:
            for window in options.windows:
                cells = fit(options, server, folders, calls, model, window, way)
                for (protocol, tools), cell in sorted(cells.items()):
                    row = [way, model, window, protocol, "yes" if tools else "no", *cell.row()]
                    print("| " + " | ".join(map(str, row)) + " |", flush=True)
                    for key in [(way, model), (way, "all")]:
                        totals[key].update(cell)
                        totals[key].shares += cell.shares
                        totals[key].worst = max(totals[key].worst, cell.worst)
    print("\n| counted by | vocabulary | requests | no room | cut | over | full | fullest |\n| --- | --- |" + " ---: |" * 6)
    for (way, model), cell in totals.items():
        print("| " + " | ".join(map(str, [way, model, *cell.row()])) + " |")
    for reason, count in options.reasons.most_common(8):
        print(f"{count} without room: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
