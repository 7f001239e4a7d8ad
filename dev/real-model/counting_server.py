"""A server with the vocabularies and chat templates of real models: it counts requests and answers nothing.

`/<model>/<window>/v1/...` is a server for that model with that window. It reads the three protocols as llama.cpp's
server does, counts with Hugging Face's tokenizers and renders with Python's Jinja, so it shares no code with the
gateway's own way to count.
"""

import datetime
import http.server
import json
import pathlib
import threading

import jinja2
import jinja2.ext
import jinja2.sandbox
from tokenizers import Tokenizer

import bodies


class Model:
    """The vocabulary and the template in a folder."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
        )
        environment.filters["tojson"] = lambda value, indent=None, **_: json.dumps(value, ensure_ascii=False, indent=indent)
        environment.globals["raise_exception"] = refuse
        environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
        self.template = environment.from_string(config["chat_template"])
        self.special = {name: config.get(name) or "" for name in ["bos_token", "eos_token"]}
        self.adds_bos = config["add_bos_token"]

    def tokens(self, messages, tools):
        """Tokens of the prompt of a chat."""
        try:
            text = self.render(messages, tools)
        except jinja2.TemplateError:
            # Llama's template takes one call a message.
            text = self.render(one_by_one(messages), tools)
        first = self.special["bos_token"]
        bos = self.adds_bos and first != "" and not text.startswith(first)
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids) + bos

    def render(self, messages, tools):
        return self.template.render(messages=messages, tools=tools or None, add_generation_prompt=True, **self.special)


def refuse(message):
    raise jinja2.TemplateError(message)


def one_by_one(messages):
    """The same chat with each call in a message of its own, in front of its result."""
    results = {one["tool_call_id"]: one for one in messages if one["role"] == "tool"}
    found = []
    for one in messages:
        calls = one.get("tool_calls") or []
        if one["role"] == "tool":
            continue
        for index, call in enumerate(calls):
            found.append({**one, "content": one["content"] if index == 0 else "", "tool_calls": [call]})
            found += [results[call["id"]]] if call["id"] in results else []
        found += [] if calls else [one]
    return found


def text_of(content):
    """Text of a content that is a string, a list of parts or nothing."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


def chat_message(role, content, calls=()):
    message = {"role": "system" if role == "developer" else role, "content": text_of(content)}
    if calls:
        message["tool_calls"] = [
            {"id": name, "type": "function", "function": {"name": function, "arguments": arguments}}
            for name, function, arguments in calls
        ]
    return message


def of_chat(body):
    """Messages and tools of Chat Completions, with the arguments of calls as objects."""
    found = []
    for one in body["messages"]:
        calls = [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
            for call in one.get("tool_calls") or []
        ]
        message = chat_message(one["role"], one.get("content"), calls)
        if one["role"] == "tool":
            message["tool_call_id"] = one["tool_call_id"]
        found.append(message)
    return found, body.get("tools")


def of_responses(body):
    """The same of the Responses API: text and calls that follow each other are one message."""
    found = [chat_message("system", body["instructions"])] if body.get("instructions") else []
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items:
        is_open = bool(found) and found[-1]["role"] == "assistant"
        if item.get("type") == "function_call":
            call = {"id": item["call_id"], "type": "function"}
            call["function"] = {"name": item["name"], "arguments": json.loads(item["arguments"] or "{}")}
            if not is_open:
                found.append(chat_message("assistant", ""))
            found[-1].setdefault("tool_calls", []).append(call)
        elif item.get("type") == "function_call_output":
            result = {"role": "tool", "tool_call_id": item["call_id"], "content": text_of(item["output"])}
            found.append(result)
        else:
            found.append(chat_message(item["role"], item["content"]))
    names = ["name", "description", "parameters"]
    tools = [
        {"type": "function", "function": {name: tool[name] for name in names if name in tool}}
        for tool in body.get("tools") or []
    ]
    return found, tools


def of_messages(body):
    """The same of Anthropic's Messages: results of tools follow the text beside them."""
    found = [chat_message("system", "".join(part["text"] for part in parts(body["system"])))] if body.get("system") else []
    for one in body["messages"]:
        blocks = parts(one["content"])
        texts = [block for block in blocks if block["type"] == "text"]
        calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
        if texts or calls:
            found.append(chat_message(one["role"], texts, calls))
        for block in blocks:
            if block["type"] == "tool_result":
                content = "".join(part.get("text", "") for part in parts(block.get("content") or ""))
                found.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": content})
    tools = [
        {"type": "function", "function": {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["input_schema"]}}
        for tool in body.get("tools") or []
    ]
    return found, tools


def parts(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


READ = {"chat": of_chat, "responses": of_responses, "messages": of_messages}
COUNTS = {"chat": "/v1/chat/completions/input_tokens", "responses": "/v1/responses/input_tokens", "messages": "/v1/messages/count_tokens"}
LIMITS = {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, models):
        super().__init__(("127.0.0.1", 0), Handler)
        self.models = models
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, model, window):
        return f"http://127.0.0.1:{self.server_address[1]}/{model}/{window}"

    def tokens(self, model, protocol, body):
        messages, tools = READ[protocol](body)
        return self.models[model].tokens(messages, tools)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        _, model, window, path = self.path.split("/", 3)
        path = "/" + path
        for protocol in READ:
            if path == COUNTS[protocol]:
                return self.answer(200, {"input_tokens": self.server.tokens(model, protocol, body)})
            if path == bodies.PATHS[protocol]:
                tokens = self.server.tokens(model, protocol, body)
                room = int(window) - body[LIMITS[protocol]]
                # Not in the words of a server: the gateway would send the request again.
                status = 400 if tokens > room else 200
                return self.answer(status, {"tokens": tokens, "room": room})
        return self.answer(404, {})

    def do_GET(self):
        self.answer(404, {})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass
