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

// The share of the tokens that was sent, as a bar.
function share(call) {
  const td = document.createElement("td");
  if (call.tokens === null || call.dropped === null) return td;
  const meter = document.createElement("meter");
  meter.max = Math.max(1, call.tokens + call.dropped);
  meter.value = call.tokens;
  meter.title = Math.round((100 * call.tokens) / meter.max) + " % sent";
  td.append(meter);
  return td;
}

function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds >= 1000) return (milliseconds / 1000).toFixed(1) + " s";
  return milliseconds.toFixed(milliseconds < 10 ? 1 : 0) + " ms";
}

function status(call) {
  if (!call.status) return "in progress";
  return call.end === "complete" ? String(call.status) : call.status + " " + call.end.replaceAll("_", " ");
}

function row(call) {
  const tr = document.createElement("tr");
  if (call.passed) tr.classList.add("passed");
  if (call.status >= 400 || (call.end && call.end !== "complete")) tr.classList.add("failed");
  const time = document.createElement("td");
  const link = document.createElement("a");
  link.href = "/cupel/call/" + encodeURIComponent(call.id);
  link.textContent = new Date(call.at).toLocaleTimeString();
  time.append(link);
  link.title = "messages that were sent and dropped, and why";
  tr.append(time, cell(call.conversation), cell(call.route), cell(call.model), cell(status(call)),
    cell(duration(call.milliseconds), true),
    cell(call.passed === "summary" ? "the gateway's own" : call.passed ? "unchanged: " + call.passed : "fitted"),
    cell(shown(call.tokens), true), cell(shown(call.dropped), true), share(call),
    cell(shown(call.cached), true), cell(shown(call.counted), true));
  return tr;
}

// The part of `all` that is not in `some`, in percent.
function saved(some, all) {
  return all > 0 ? Math.round(100 * (1 - some / all)) + " %" : "–";
}

function show(data) {
  byId("calls").replaceChildren(...data.calls.map(row));
  byId("none").hidden = data.calls.length > 0;
  const sum = data.totals;
  const totals = [
    ["calls", number.format(sum.calls), ""],
    ["sent unchanged", number.format(sum.passed), "calls that were not fitted"],
    ["tokens sent", number.format(sum.sent), "as the gateway counts them"],
    ["tokens dropped", number.format(sum.dropped), "tokens of messages that were not sent; excerpts are not counted"],
    ["saved against sending everything", saved(sum.sent_bytes, sum.original_bytes),
      "bytes of fitted requests that were not sent"],
    ["saved against newest-first trimming", saved(sum.cost, sum.newest_first_cost),
      "input cost of planned calls, if a cached token costs a tenth of a new one"],
    ["cached, expected", number.format(sum.expected_cached), "tokens that upstreams are expected to read from their prompt caches"],
    ["cached, reported", number.format(sum.cached), "tokens that upstreams reported to have read from their prompt caches"],
  ];
  const repeated = (repeats, turns) => (turns > 0 ? number.format(repeats) + " of " + number.format(turns) + " turns" : "–");
  const { fitted } = data.sides;
  totals.push(
    ["repeats after a cut", repeated(fitted.cut_repeats, fitted.cut_turns),
      "turns that repeat a tool call or a question whose first copy was cut; a sample of all turns"],
    ["repeats without a cut", repeated(fitted.whole_repeats, fitted.whole_turns),
      "turns that repeat a tool call or a question although everything was in view: the rate to compare with"],
  );
  if (sum.summaries > 0) {
    totals.push(["summaries", number.format(sum.summaries), "calls of the gateway's own"],
      ["tokens for summaries", number.format(sum.summary_input) + " + " + number.format(sum.summary_output),
        "read and written, as the upstream reported them; no call of a client counts them"]);
  }
  byId("totals").replaceChildren(...totals.map(([name, value, title]) => {
    const div = document.createElement("div");
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    div.title = title;
    div.append(dt, dd);
    return div;
  }));
  const sides = data.sides;
  byId("rollout").hidden = sides.shadow.calls === 0;
  byId("sides").replaceChildren(...[["fitted", sides.fitted], ["sent unchanged", sides.shadow]].map(([name, side]) => {
    const tr = document.createElement("tr");
    const each = (value, calls) => (calls > 0 ? number.format(Math.round(value / calls)) : "–");
    tr.append(cell(name), cell(number.format(side.calls), true), cell(each(side.input, side.counted), true),
      cell(each(side.cached, side.counted), true), cell(each(side.cost, side.counted), true),
      cell(side.calls > 0 ? duration(side.milliseconds / side.calls) : "–", true),
      cell(repeated(side.cut_repeats, side.cut_turns), true), cell(repeated(side.whole_repeats, side.whole_turns), true));
    return tr;
  }));
  const planned = sides.planned;
  byId("planned").textContent = "Of the calls that were sent unchanged, " + number.format(planned.calls) + " were planned beside the call: "
    + number.format(planned.tokens) + " tokens would have been sent, " + number.format(planned.dropped)
    + " dropped, " + number.format(planned.cached) + " read from prompt caches. "
    + saved(planned.sent_bytes, planned.original_bytes) + " of their bytes would have been saved.";
  byId("counts").hidden = data.ratios.length === 0;
  byId("ratios").replaceChildren(...data.ratios.map((ratio) => {
    const li = document.createElement("li");
    const line = document.createElement("code");
    line.textContent = "factor = " + ratio.factor.toFixed(2);
    const found = ["median " + ratio.median.toFixed(2), "99 % of calls up to " + ratio.factor.toFixed(2),
      "most " + ratio.most.toFixed(2), ratio.calls + (ratio.calls === 1 ? " call" : " calls")];
    li.append(ratio.model + ": " + found.join(", ") + ". ", line);
    return li;
  }));
}

const events = new EventSource("/cupel/events");
function state(text, off) {
  byId("state").textContent = text;
  byId("state").className = off ? "off" : "";
}
events.onopen = () => state("live", false);
// A browser connects again by itself, unless the server refused it: then a new login is needed.
events.onerror = () => (events.readyState === EventSource.CLOSED
  ? state("not connected; reload this page to log in", true)
  : state("not connected, trying again", true));
events.onmessage = (event) => show(JSON.parse(event.data));
