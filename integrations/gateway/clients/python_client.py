"""Drives a gateway with OpenAI's official Python client: only the base address is another."""

import sys

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="sk-none", max_retries=0)
MODEL = "test-900"
ANSWER = "It left on day three."
TOOL = {
    "name": "look_up",
    "description": "Looks an order up.",
    "parameters": {"type": "object", "properties": {"order": {"type": "integer"}}},
}

history = [{"role": "system", "content": "You help with orders."}]
for turn in range(12):
    history += [
        {"role": "user", "content": f"Where is order {turn}?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"call_{turn}", "type": "function",
             "function": {"name": "look_up", "arguments": '{"order": %d}' % turn}}]},
        {"role": "tool", "tool_call_id": f"call_{turn}",
         "content": f"order {turn} left on day {turn}; " + "it passed another station. " * 12},
        {"role": "assistant", "content": f"Order {turn} is on its way."},
    ]
history.append({"role": "user", "content": "When did order 3 leave?"})

raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=history, max_completion_tokens=50)
answer = raw.parse()
assert answer.choices[0].message.content == ANSWER, answer
tokens = int(raw.headers["x-cupel-tokens"])
assert tokens <= 850 and tokens == answer.usage.prompt_tokens, (tokens, answer.usage)
assert raw.headers["x-cupel-report"]

stream = client.chat.completions.create(model=MODEL, messages=history, max_completion_tokens=50, stream=True)
assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == ANSWER

tools = [{"type": "function", "function": TOOL}]
called = client.chat.completions.create(model=MODEL, messages=history, tools=tools, max_completion_tokens=50)
message = called.choices[0].message
assert message.tool_calls[0].function.name == "look_up", called
history += [message.model_dump(exclude_none=True, exclude={"annotations", "refusal", "audio"}),
            {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "left on day 3"}]
answer = client.chat.completions.create(model=MODEL, messages=history, tools=tools, max_completion_tokens=50)
assert answer.choices[0].message.content == ANSWER, answer

items = [{"role": "user", "content": "Where is it? " + "It passed another station. " * 20}] * 12
items.append({"role": "user", "content": "When did order 3 leave?"})
response = client.responses.create(model=MODEL, input=items, max_output_tokens=50)
assert response.output_text == ANSWER, response
called = client.responses.create(model=MODEL, input=items, tools=[{"type": "function", "strict": False, **TOOL}], max_output_tokens=50)
assert called.output[0].name == "look_up", called
deltas = [event.delta for event in client.responses.create(model=MODEL, input=items, stream=True, max_output_tokens=50)
          if event.type == "response.output_text.delta"]
assert "".join(deltas) == ANSWER, deltas
print("python: chat and responses, unary, streamed and with tools")
