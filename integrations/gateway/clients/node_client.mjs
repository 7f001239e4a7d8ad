// Drives a gateway with OpenAI's official Node client: only the base address is another.

import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "sk-none", maxRetries: 0 });
const model = "test-900";
const ANSWER = "It left on day three.";
const tool = {
  name: "look_up",
  description: "Looks an order up.",
  parameters: { type: "object", properties: { order: { type: "integer" } } },
};

const messages = [{ role: "system", content: "You help with orders." }];
for (let turn = 0; turn < 12; turn++) {
  messages.push(
    { role: "user", content: `Where is order ${turn}?` },
    { role: "assistant", content: null, tool_calls: [{ id: `call_${turn}`, type: "function",
      function: { name: "look_up", arguments: JSON.stringify({ order: turn }) } }] },
    { role: "tool", tool_call_id: `call_${turn}`,
      content: `order ${turn} left on day ${turn}; ` + "it passed another station. ".repeat(12) },
    { role: "assistant", content: `Order ${turn} is on its way.` },
  );
}
messages.push({ role: "user", content: "When did order 3 leave?" });
const limit = { max_completion_tokens: 50 };

const { data, response } = await client.chat.completions.create({ model, messages, ...limit }).withResponse();
assert.equal(data.choices[0].message.content, ANSWER);
assert.equal(Number(response.headers.get("x-cupel-tokens")), data.usage.prompt_tokens);
assert.ok(data.usage.prompt_tokens <= 850);

let text = "";
for await (const chunk of await client.chat.completions.create({ model, messages, ...limit, stream: true })) {
  text += chunk.choices[0].delta.content ?? "";
}
assert.equal(text, ANSWER);

const tools = [{ type: "function", function: tool }];
const called = await client.chat.completions.create({ model, messages, tools, ...limit });
const { tool_calls } = called.choices[0].message;
assert.equal(tool_calls[0].function.name, "look_up");
messages.push({ role: "assistant", content: null, tool_calls },
  { role: "tool", tool_call_id: tool_calls[0].id, content: "left on day 3" });
const answer = await client.chat.completions.create({ model, messages, tools, ...limit });
assert.equal(answer.choices[0].message.content, ANSWER);

const input = Array.from({ length: 12 }, () => ({ role: "user", content: "Where is it? " + "It passed another station. ".repeat(20) }));
input.push({ role: "user", content: "When did order 3 leave?" });
const whole = await client.responses.create({ model, input, max_output_tokens: 50 });
assert.equal(whole.output_text, ANSWER);
let deltas = "";
for await (const event of await client.responses.create({ model, input, max_output_tokens: 50, stream: true })) {
  if (event.type === "response.output_text.delta") deltas += event.delta;
}
assert.equal(deltas, ANSWER);
console.log("node: chat and responses, unary, streamed and with tools");
