// Drives a gateway with Anthropic's official Node client: only the base address is another.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.argv[2].replace(/\/v1$/, ""), apiKey: "sk-none", maxRetries: 0 });
const ANSWER = "It left on day three.";
const tool = { name: "look_up", description: "Looks an order up.",
  input_schema: { type: "object", properties: { order: { type: "integer" } } } };

const messages = [];
for (let turn = 0; turn < 12; turn++) {
  messages.push(
    { role: "user", content: `Where is order ${turn}?` },
    { role: "assistant", content: [{ type: "tool_use", id: `toolu_${turn}`, name: "look_up", input: { order: turn } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${turn}`,
      content: `order ${turn} left on day ${turn}; ` + "it passed another station. ".repeat(20) }] },
    { role: "assistant", content: `Order ${turn} is on its way.` },
  );
}
messages.push({ role: "user", content: "When did order 3 leave?" });
const common = { model: "test-2000", max_tokens: 50, system: "You help with orders.", tools: [tool] };

const called = await client.messages.create({ ...common, messages });
assert.equal(called.stop_reason, "tool_use");
messages.push({ role: "assistant", content: called.content },
  { role: "user", content: [{ type: "tool_result", tool_use_id: called.content[0].id, content: "left on day 3" }] });
const { data, response } = await client.messages.create({ ...common, messages }).withResponse();
assert.equal(data.content[0].text, ANSWER);
assert.ok(Number(response.headers.get("x-cupel-tokens")) < 2000);
const streamed = await client.messages.stream({ ...common, messages }).finalMessage();
assert.equal(streamed.content[0].text, ANSWER);
const { input_tokens } = await client.messages.countTokens({ model: "test-2000", tools: [tool], messages });
assert.ok(input_tokens > 2000);
await assert.rejects(
  client.messages.create({ model: "claude-none", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] }),
  (error) => error.status === 404 && error.error.error.type === "not_found_error",
);
console.log("node: messages, unary, streamed, with tools, counted and refused");
