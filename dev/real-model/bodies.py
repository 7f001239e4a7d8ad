"""Recorded chats as requests of the three protocols, and what the answers say about tokens."""

import json
import re

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


def tools(messages):
    """Definitions of the tools that a chat calls."""
    calls = [call["function"] for one in messages for call in one.get("tool_calls") or []]
    known = {}
    for call in calls:
        arguments = json.loads(call["arguments"] or "{}")
        known.setdefault(call["name"], {}).update({name: {"type": "string"} for name in arguments})
    return {
        name: {"type": "object", "description": f"Arguments of {name}.", "properties": fields}
        for name, fields in known.items()
    }


def request(protocol, messages, known, most):
    """A request of the protocol for a chat; `known` are tools."""
    if protocol == "chat":
        body = {"messages": messages, "max_tokens": most, "temperature": 0}
        functions = [{"name": name, "parameters": schema} for name, schema in known.items()]
        body["tools"] = [{"type": "function", "function": one} for one in functions]
    elif protocol == "responses":
        body = {"input": [item for one in messages for item in items(one)], "max_output_tokens": most}
        body["tools"] = [{"type": "function", "name": name, "parameters": schema} for name, schema in known.items()]
        body["temperature"] = 0
    else:
        system = "\n".join(one["content"] for one in messages if one["role"] == "system")
        body = {"system": system, "messages": turns(messages), "max_tokens": most, "temperature": 0}
        body["tools"] = [{"name": name, "input_schema": schema} for name, schema in known.items()]
    if not known:
        del body["tools"]
    return {"model": "smollm2", **body}


def items(message):
    """Input items of the Responses API for a message."""
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    found, role = [], message["role"]
    if message.get("content"):
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": message["content"]}
        found.append({"type": "message", "role": role, "content": [part]})
    for call in message.get("tool_calls") or []:
        function = call["function"]
        found.append({"type": "function_call", "call_id": call["id"], **function})
    return found


def turns(messages):
    """Anthropic's messages: results of tools are the user's, and roles alternate."""
    found = []
    for one in messages:
        if one["role"] == "system":
            continue
        if one["role"] == "tool":
            role = "user"
            blocks = [{"type": "tool_result", "tool_use_id": one["tool_call_id"], "content": one["content"]}]
        else:
            role = one["role"]
            blocks = [{"type": "text", "text": one["content"]}] if one.get("content") else []
            for call in one.get("tool_calls") or []:
                given = json.loads(call["function"]["arguments"] or "{}")
                blocks.append({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": given})
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    return found


def usage(text):
    """Tokens of the prompt and those read from the cache, of an answer or of the events of a stream."""
    def last(*names):
        found = [re.findall(rf'"{name}":\s*(\d+)', text) for name in names]
        return max((int(number) for numbers in found for number in numbers), default=0)

    read = last("cache_read_input_tokens")
    # Anthropic counts what was read from the cache beside the rest.
    return last("prompt_tokens", "input_tokens") + read, last("cached_tokens") or read
