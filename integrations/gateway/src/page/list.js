"use strict";
const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat();
const shown = (value) => (value === null || value === undefined ? "" : number.format(value));

function cell(text, right) {
  const td = document.createElement("td");
  td.textContent = text;
  if (right) td.className = "n";
  return td;
}

function row(call) {
  const tr = document.createElement("tr");
  if (call.passed) tr.className = "passed";
  const time = document.createElement("td");
  const link = document.createElement("a");
  link.href = "/cupel/call/" + encodeURIComponent(call.id);
  link.textContent = new Date(call.at).toLocaleTimeString();
  time.append(link);
  tr.append(time, cell(call.conversation), cell(call.model),
    cell(call.passed ? "as it came: " + call.passed : "fitted"),
    cell(shown(call.tokens), true), cell(shown(call.left_out), true),
    cell(shown(call.cached), true), cell(shown(call.counted), true),
    cell(call.status ? call.status + " " + call.end : "under way"),
    cell(shown(call.milliseconds), true));
  return tr;
}

function show(data) {
  byId("calls").replaceChildren(...data.calls.map(row));
  byId("none").hidden = data.calls.length > 0;
  const totals = [
    ["calls", data.totals.calls], ["went out as they came", data.totals.passed],
    ["tokens sent", data.totals.sent], ["tokens left out", data.totals.left_out],
    ["expected from the cache", data.totals.expected_cached],
    ["read from the cache, by usage", data.totals.cached],
  ];
  byId("totals").replaceChildren(...totals.map(([name, value]) => {
    const div = document.createElement("div");
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = number.format(value);
    div.append(dt, dd);
    return div;
  }));
  byId("factors").replaceChildren(...data.factors.map((factor) => {
    const li = document.createElement("li");
    li.textContent = factor.model + ": " + factor.factor.toFixed(3) + " (" + factor.calls + " calls)";
    return li;
  }));
}

const events = new EventSource("/cupel/events");
events.onopen = () => { byId("state").textContent = "live"; };
events.onerror = () => { byId("state").textContent = "not connected"; };
events.onmessage = (event) => show(JSON.parse(event.data));
