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

// How much of what there was has been sent.
function share(call) {
  const td = document.createElement("td");
  if (call.tokens === null || call.left_out === null) return td;
  const meter = document.createElement("meter");
  meter.max = Math.max(1, call.tokens + call.left_out);
  meter.value = call.tokens;
  meter.title = Math.round((100 * call.tokens) / meter.max) + " % sent";
  td.append(meter);
  return td;
}

function row(call) {
  const tr = document.createElement("tr");
  if (call.passed) tr.classList.add("passed");
  if (call.status >= 400 || (call.end && call.end !== "whole")) tr.classList.add("failed");
  const time = document.createElement("td");
  const link = document.createElement("a");
  link.href = "/cupel/call/" + encodeURIComponent(call.id);
  link.textContent = new Date(call.at).toLocaleTimeString();
  time.append(link);
  link.title = "what was sent, what was left out, and why";
  tr.append(time, cell(call.conversation), cell(call.route), cell(call.model),
    cell(call.passed ? "as it came: " + call.passed : "fitted"),
    cell(shown(call.tokens), true), cell(shown(call.left_out), true), share(call),
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
  byId("counts").hidden = data.factors.length === 0;
  byId("factors").replaceChildren(...data.factors.map((factor) => {
    const li = document.createElement("li");
    li.textContent = factor.model + ": " + factor.factor.toFixed(3) + " (" + factor.calls + (factor.calls === 1 ? " call)" : " calls)");
    return li;
  }));
}

const events = new EventSource("/cupel/events");
function state(text, off) {
  byId("state").textContent = text;
  byId("state").className = off ? "off" : "";
}
events.onopen = () => state("live", false);
// A browser tries again by itself unless it was refused: then the token is asked for anew.
events.onerror = () => (events.readyState === EventSource.CLOSED
  ? state("not connected; load this page again to log in", true)
  : state("not connected, trying again", true));
events.onmessage = (event) => show(JSON.parse(event.data));
