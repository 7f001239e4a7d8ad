"""Serves MiniLM at `/v1/embeddings`, as OpenAI's API and llama.cpp do, with numpy alone.

Vectors are kept in a folder, so that a text of a benchmark is embedded once.
"""

import argparse
import hashlib
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from scipy.special import erf
from tokenizers import Tokenizer

MOST_TOKENS = 256
BATCH_TOKENS = 2048


def tensors(path):
    """The tensors of a safetensors file, by name."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    kinds = {"F32": np.float32, "I64": np.int64}
    found = {}
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        found[name] = np.frombuffer(data[start:end], kinds[tensor["dtype"]]).reshape(tensor["shape"])
    return found


class MiniLM:
    """A BERT of six layers, mean pooling, vectors of length one."""

    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        self.heads, self.layers = config["num_attention_heads"], config["num_hidden_layers"]
        self.weights = tensors(os.path.join(folder, "model.safetensors"))
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.enable_truncation(MOST_TOKENS)
        self.tokenizer.no_padding()

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def forward(self, ids):
        """Vectors of texts of equal length."""
        count, length = ids.shape
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][:length] + w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("embeddings.LayerNorm", x)
        size = x.shape[-1] // self.heads
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}."

            def split(name, x=x, at=at):
                y = self.linear(at + "attention.self." + name, x.reshape(count * length, -1))
                return y.reshape(count, length, self.heads, size).transpose(0, 2, 1, 3)

            query, key, value = split("query"), split("key"), split("value")
            scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(np.float32(size))
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(count * length, -1)
            flat = x.reshape(count * length, -1)
            flat = self.norm(at + "attention.output.LayerNorm", self.linear(at + "attention.output.dense", mixed) + flat)
            inner = self.linear(at + "intermediate.dense", flat)
            inner = inner * np.float32(0.5) * (1 + erf(inner / np.sqrt(np.float32(2))))
            flat = self.norm(at + "output.LayerNorm", self.linear(at + "output.dense", inner.astype(np.float32)) + flat)
            x = flat.reshape(count, length, -1)
        pooled = x.mean(1)
        return pooled / np.linalg.norm(pooled, axis=-1, keepdims=True)

    def embed(self, texts):
        ids = [encoded.ids for encoded in self.tokenizer.encode_batch(texts)]
        by_length = {}
        for at, text in enumerate(ids):
            by_length.setdefault(len(text), []).append(at)
        vectors = [None] * len(texts)
        for length, places in by_length.items():
            step = max(1, BATCH_TOKENS // length)
            for start in range(0, len(places), step):
                batch = places[start : start + step]
                for at, vector in zip(batch, self.forward(np.array([ids[at] for at in batch]))):
                    vectors[at] = vector.astype(np.float32)
        return vectors


class Kept:
    """Vectors by the hash of their text, in memory and in a file."""

    def __init__(self, path, model):
        self.model, self.path, self.lock, self.vectors = model, path, threading.Lock(), {}
        if path and os.path.exists(path):
            with open(path, "rb") as file:
                while len(entry := file.read(32 + 4 * 384)) == 32 + 4 * 384:
                    self.vectors[entry[:32]] = np.frombuffer(entry[32:], np.float32)

    def embed(self, texts):
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        with self.lock:
            new = {key: text for key, text in zip(keys, texts) if key not in self.vectors}
            made = self.model.embed(list(new.values())) if new else []
            self.vectors.update(zip(new, made))
            if self.path and new:
                with open(self.path, "ab") as file:
                    for key, vector in zip(new, made):
                        file.write(key + vector.tobytes())
            return [self.vectors[key] for key in keys]


def handler(kept):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.path.rstrip("/") not in ("/v1/embeddings", "/embeddings"):
                return self.answer(404, {"error": {"message": "only /v1/embeddings is served"}})
            texts = json.loads(body)["input"]
            vectors = kept.embed([texts] if isinstance(texts, str) else texts)
            data = [
                {"object": "embedding", "index": at, "embedding": [round(float(x), 7) for x in vector]}
                for at, vector in enumerate(vectors)
            ]
            self.answer(200, {"object": "list", "model": "all-minilm-l6-v2", "data": data})

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder with config.json, model.safetensors, tokenizer.json")
    parser.add_argument("--port", type=int, default=8089)
    parser.add_argument("--kept", help="file for vectors")
    options = parser.parse_args()
    kept = Kept(options.kept, MiniLM(options.model))
    server = ThreadingHTTPServer(("127.0.0.1", options.port), handler(kept))
    print(f"listening on http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
