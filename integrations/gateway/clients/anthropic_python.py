"""Drives a gateway with Anthropic's official Python client: only the base address is another."""

import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1].removesuffix("/v1"), api_key="sk-none", max_retries=0)
MODEL = "test-2000"
ANSWER = "It left on day three."
TOOL = {"name": "look_up", "description": "Looks an order up.",
        "input_schema": {"type": "object", "properties": {"order": {"type": "integer"}}}}

history = []
for turn in range(12):
    history += [
        {"role": "user", "content": f"Where is order {turn}?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": f"toolu_{turn}", "name": "look_up", "input": {"order": turn}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": f"toolu_{turn}",
             "content": f"order {turn} left on day {turn}; " + "it passed another station. " * 20}]},
        {"role": "assistant", "content": f"Order {turn} is on its way."},
    ]
history.append({"role": "user", "content": "When did order 3 leave?"})
common = {"model": MODEL, "max_tokens": 50, "system": "You help with orders.", "tools": [TOOL]}

raw = client.messages.with_raw_response.create(messages=history, **common)
called = raw.parse()
assert called.stop_reason == "tool_use" and called.content[0].name == "look_up", called
assert int(raw.headers["x-cupel-tokens"]) < 2000
history += [{"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in called.content]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": called.content[0].id, "content": "left on day 3"}]}]
answer = client.messages.create(messages=history, **common)
assert answer.content[0].text == ANSWER, answer
with client.messages.stream(messages=history, **common) as stream:
    assert "".join(stream.text_stream) == ANSWER
count = client.messages.count_tokens(messages=history, model=MODEL, tools=[TOOL])
assert count.input_tokens > 2000, count
try:
    client.messages.create(model="claude-none", max_tokens=5, messages=[{"role": "user", "content": "Hi"}])
    raise AssertionError("taken")
except anthropic.NotFoundError as error:
    assert error.body["error"]["type"] == "not_found_error", error.body
print("python: messages, unary, streamed, with tools, counted and refused")
