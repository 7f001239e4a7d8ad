// Draws the page from its data. Content only ever becomes text nodes, so nothing in it can be markup.
(() => {
'use strict';
performance.mark('cupel-start');
const root = document.getElementById('cupel');
const data = JSON.parse(document.getElementById('cupel-data').textContent);
const PAGE = 100;      // rows that are drawn at once
const PRINTED = 2000;  // rows that are drawn for a printer
const CELLS = 500;
const LEGEND = 24;     // kinds or sources that are named under the bar
const OPTIONS = 500;   // names that can be chosen from

const h = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'width') element.style.width = value;
    else if (name === 'color') element.style.background = value;
    else element.setAttribute(name === 'class' ? 'class' : name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};
const number = new Intl.NumberFormat('en-US');
const n = (value) => number.format(value);
const percent = (part, whole) => whole > 0 ? `${(part / whole * 100).toFixed(1)} %` : '–';
const scoreText = (score) => typeof score === 'number' ? score.toFixed(3) : score;
const plural = (count, word) => `${n(count)} ${word}${count === 1 ? '' : 's'}`;
const ms = (value) => value === null ? '–' : value >= 1 ? `${value.toFixed(1)} ms` : `${(value * 1000).toFixed(0)} µs`;

// ---------------------------------------------------------------- items
const items = data.items;
items.forEach((item, index) => {
  item.index = index;
  item.in = index < data.included;
  item.gone = item.d === 'g';
});
const listed = items.filter((item) => !item.gone);
const FIXED_COLORS = new Map([['Message', 0], ['Document', 1], ['SystemPrompt', 2], ['ToolOutput', 3], ['Memory', 6]]);
const colors = (names) => {
  const taken = new Set(names.map((name) => FIXED_COLORS.get(name)).filter((color) => color !== undefined));
  const rest = [...Array(10).keys()].filter((color) => !taken.has(color));
  let next = 0;
  return names.map((name) => `var(--k${FIXED_COLORS.get(name) ?? rest[next++ % rest.length] ?? 9})`);
};
const palettes = { k: colors(data.kinds), s: colors(data.sources) };
const names = { k: data.kinds, s: data.sources, r: data.reasons.map((reason) => reason.name) };
const label = (item) => item.x === undefined ? `${data.kinds[item.k]}, ${plural(item.t, 'token')}` : item.x.replace(/\s+/g, ' ').slice(0, 300);

// ---------------------------------------------------------------- head
const difference = data.difference;
const window_ = data.window;
const title = h('h1', { class: (data.title || '').length > 120 ? 'long' : null, title: (data.title || '').length > 120 ? data.title : null }, data.title || 'What went into the context, and why');
const sub = h('p', { class: 'sub' },
  `${n(data.included)} of ${plural(data.candidates, 'candidate')}, ${n(data.includedTokens)} of ${plural(data.candidateTokens, 'token')}`,
  window_ ? ` in a window of ${n(window_.size)}` : '',
  data.texts ? '' : ' · texts are left out');
const tile = (value, text, id) => h('div', { class: 'tile' }, h('b', { class: 'num', id }, value), h('span', {}, text));
const tiles = h('div', { class: 'tiles' },
  window_ ? tile(percent(window_.selected, window_.goal), `of ${plural(window_.goal, 'token')} used`, 'tile-used') : tile(n(data.includedTokens), 'tokens selected', 'tile-used'),
  tile(n(data.included), 'items in', 'tile-in'),
  tile(n(data.candidates - data.included), 'items out', 'tile-out'),
  difference ? tile(percent(difference.prefixTokens, data.includedTokens), 'begins as the call before', 'tile-prefix') : null,
  data.cache ? tile(n(data.cache.cached_tokens), `tokens from the cache, ${n(data.cache.new_tokens)} new`, 'tile-cache') : null);

// ---------------------------------------------------------------- the window
const REST = [
  ['free', 'Free'], ['margin', 'Margin for estimates'], ['slots', 'Kept for kinds'],
  ['above', 'Above the target'], ['reserve', 'Kept for the answer'],
];
const FIXED = [['Tools', 'toolset', Math.min(data.toolTokens, data.fixed)], ['Fixed', 'fixed', data.fixed - Math.min(data.toolTokens, data.fixed)]].filter(([, , tokens]) => tokens > 0);
let by = 'k';
const groups = (field) => {
  const all = names[field].map((name, index) => ({ name, index, tokens: 0, inside: 0, out: 0 }));
  for (const item of listed) {
    const group = all[item[field]];
    if (item.in) { group.inside += 1; group.tokens += item.t; } else group.out += 1;
  }
  return all.filter((group) => group.inside + group.out > 0).sort((a, b) => b.tokens - a.tokens || b.out - a.out);
};
const whole = Math.max(1, window_ ? Math.max(window_.size, window_.fixed + window_.selected + window_.reserve) : data.includedTokens + data.fixed);
const bar = h('div', { class: 'bar', role: 'img', id: 'bar' });
const legend = h('ul', { class: 'legend', id: 'legend' });
const drawWindow = () => {
  const segment = (tokens, name, attributes) => tokens > 0 && h('i', { ...attributes, width: `${tokens / whole * 100}%`, title: `${name}: ${plural(tokens, 'token')}` });
  const parts = groups(by);
  const rest = window_ ? REST.filter(([key]) => window_[key] > 0) : [];
  bar.replaceChildren(...[
    ...FIXED.map(([name, kind, tokens]) => segment(tokens, name, { class: kind })),
    ...parts.map((group) => segment(group.tokens, group.name, { color: palettes[by][group.index] })),
    ...rest.map(([key, name]) => segment(window_[key], name, { class: key })),
  ].filter(Boolean));
  const words = [...FIXED.map(([name, , tokens]) => `${name} ${n(tokens)}`), ...parts.filter((group) => group.tokens > 0).map((group) => `${group.name} ${n(group.tokens)}`), ...rest.map(([key, name]) => `${name} ${n(window_[key])}`)];
  bar.setAttribute('aria-label', `The window by ${by === 'k' ? 'kind' : 'source'}, in tokens: ${words.join(', ')}`);
  const entry = (swatch, name, value, note) => [swatch, h('span', { class: 'name', title: name }, name), h('span', { class: 'num' }, value), h('span', { class: 'soft num' }, note)];
  legend.replaceChildren(...[
    ...FIXED.map(([name, kind, tokens]) => h('li', {}, h('span', { class: 'entry' }, entry(h('i', { class: `swatch ${kind}` }), name, n(tokens), percent(tokens, whole))))),
    ...parts.slice(0, LEGEND).map((group) => h('li', {}, h('button', {
      type: 'button', 'aria-pressed': String(state[by] === group.index), title: `${n(group.inside)} in, ${n(group.out)} out; show only these`,
      onclick: () => { state[by] = state[by] === group.index ? -1 : group.index; sync(); },
    }, entry(h('i', { class: 'swatch', color: palettes[by][group.index] }), group.name, n(group.tokens), percent(group.tokens, whole))))),
    parts.length > LEGEND && h('li', {}, h('span', { class: 'entry soft' }, `and ${n(parts.length - LEGEND)} more, ${n(parts.slice(LEGEND).reduce((sum, group) => sum + group.tokens, 0))} tokens`)),
    ...rest.map(([key, name]) => h('li', {}, h('span', { class: 'entry' }, entry(h('i', { class: `swatch ${key}` }), key === 'margin' ? `${name} (${window_.marginPercent} %)` : name, n(window_[key]), percent(window_[key], whole))))),
  ].filter(Boolean));
  drawGrid();
};

// The owner of each cell's middle, in the order of presentation.
const spread = (parts, total, cells) => {
  const owners = [];
  let at = 0; let end = 0; let part = null;
  for (let cell = 0; cell < cells; cell += 1) {
    const middle = (cell + 0.5) * total / cells;
    while (middle >= end && at < parts.length) { part = parts[at]; end += Math.max(0, part.tokens); at += 1; }
    owners.push(middle < end ? part : null);
  }
  return owners;
};
const grid = h('div', { class: 'grid', id: 'grid', role: 'group', 'aria-label': 'What fills the window, in the order the model reads it. Arrow keys move, Enter shows the item.' });
const gridWord = h('output', { id: 'grid-word' });
const cellsOf = () => {
  const parts = [];
  for (const [name, kind, tokens] of FIXED) parts.push({ tokens, name, class: kind });
  for (let index = 0; index < data.included; index += 1) parts.push({ tokens: items[index].t, item: items[index] });
  if (window_) for (const [key, name] of REST) if (window_[key] > 0) parts.push({ tokens: window_[key], name, class: key });
  const cells = Math.min(CELLS, Math.max(50, Math.ceil(whole / 50) * 50));
  return { cells, owners: spread(parts, whole, cells) };
};
const told = (owner) => !owner ? '' : owner.item ? `#${owner.item.index + 1} ${data.kinds[owner.item.k]}, ${plural(owner.item.t, 'token')}: ${label(owner.item)}` : `${owner.name}: ${plural(owner.tokens, 'token')}`;
let cellElements = [];
const drawGrid = () => {
  const { owners } = cellsOf();
  cellElements = owners.map((owner, index) => {
    if (!owner) return h('span', { class: 'cell free' });
    const tell = () => { gridWord.textContent = told(owner); };
    if (!owner.item) return h('span', { class: `cell ${owner.class}`, onmouseenter: tell });
    const cell = h('button', { class: 'cell', type: 'button', tabindex: '-1', 'aria-label': told(owner), color: palettes[by][owner.item[by]], onmouseenter: tell, onfocus: tell, onclick: () => reveal(owner.item) });
    cell.dataset.item = owner.item.index;
    cell.dataset.cell = index;
    return cell;
  });
  const first = cellElements.find((cell) => cell.tagName === 'BUTTON');
  if (first) first.tabIndex = 0;
  grid.replaceChildren(...cellElements);
};
grid.addEventListener('keydown', (event) => {
  const columns = getComputedStyle(grid).gridTemplateColumns.split(' ').length;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
  if (!step || !event.target.dataset.cell) return;
  event.preventDefault();
  const target = cellElements[Number(event.target.dataset.cell) + step];
  if (target && target.tagName === 'BUTTON') {
    event.target.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  }
});

const segmented = (name, title, options, chosen, choose) => h('fieldset', { class: 'seg', 'aria-label': title },
  options.map(([value, text]) => h('label', {}, h('input', { type: 'radio', name, value, checked: value === chosen, onchange: () => choose(value) }), text)));
const perCell = () => { const tokens = whole / cellsOf().cells; return tokens < 1.5 ? 'One square is about a token' : `One square is about ${n(Math.round(tokens))} tokens`; };
const windowSection = h('section', { 'aria-labelledby': 'h-window' },
  h('div', { class: 'top' }, h('h2', { id: 'h-window' }, window_ ? 'The window' : 'The selection'),
    segmented('by', 'Colours', [['k', 'By kind'], ['s', 'By source']], 'k', (value) => { by = value; drawWindow(); })),
  bar, legend,
  h('div', { class: 'gridnote' }, h('span', {}, `${perCell()}, in the order the model reads them.`), gridWord), grid);

// ---------------------------------------------------------------- since the call before
const strip = (parts, total) => {
  const row = h('div', { class: 'strip', role: 'presentation' });
  let run = null;
  for (const owner of spread(parts, total, 400)) {
    const kind = owner ? owner.class : '';
    if (run && run.kind === kind) run.cells += 1; else { if (run) row.append(run.element()); run = { kind, cells: 1, element() { return h('i', { class: this.kind, width: `${this.cells / 4}%` }); } }; }
  }
  if (run) row.append(run.element());
  return row;
};
const differenceSection = () => {
  if (!difference) return null;
  const count = { k: 0, n: 0, d: 0 }; const tokens = { k: 0, n: 0, d: 0 };
  for (const item of items) if (item.d) { const key = item.d === 'g' ? 'd' : item.d; count[key] += 1; tokens[key] += item.t; }
  const before = difference.before.map((index, position) => ({ tokens: items[index].t, class: position < difference.prefixItems ? 's-p' : items[index].d === 'k' ? 's-k' : 's-d' }));
  const now = items.slice(0, data.included).map((item, position) => ({ tokens: item.t, class: position < difference.prefixItems ? 's-p' : item.d === 'k' ? 's-k' : 's-n' }));
  const total = Math.max(1, difference.beforeTokens, data.includedTokens);
  const same = difference.prefixItems === difference.beforeItems && difference.prefixItems === data.included;
  const was = items[difference.before[difference.prefixItems]];
  const is = difference.prefixItems < data.included ? items[difference.prefixItems] : undefined;
  const key = (name, text) => h('li', {}, h('i', { class: `swatch ${name}` }), text);
  const show = (value) => () => { state.d = value; sync(); document.getElementById('items').scrollIntoView(); };
  return h('section', { 'aria-labelledby': 'h-difference', id: 'difference' },
    h('div', { class: 'top' }, h('h2', { id: 'h-difference' }, 'Since the call before'),
      h('span', { class: 'num', id: 'moved' }, `${n(count.k)} kept, ${n(count.n)} new, ${n(count.d)} dropped`)),
    h('div', { class: 'strips' },
      h('span', {}, 'before'), strip(before, total), h('span', {}, 'now'), strip(now, total)),
    h('ul', { class: 'keys' }, key('s-p', 'shared beginning'), key('s-k', 'kept, behind it'), key('s-n', `new (${plural(tokens.n, 'token')})`), key('s-d', `dropped (${plural(tokens.d, 'token')})`)),
    h('p', { id: 'prefix' }, same ? 'The same selection, in the same order.'
      : difference.prefixItems === 0 ? 'Nothing at the beginning is the same: a prompt cache has nothing to go by.'
      : `The first ${plural(difference.prefixItems, 'item')} are the same, ${plural(difference.prefixTokens, 'token')}: ${percent(difference.prefixTokens, data.includedTokens)} of this selection.`),
    same ? null : h('dl', { class: 'broke' },
      was && [h('dt', {}, 'then there was'), h('dd', {}, label(was))],
      is && [h('dt', {}, 'now there is'), h('dd', {}, label(is))]),
    h('div', { class: 'tools' },
      h('button', { class: 'btn', type: 'button', onclick: show('n') }, 'Show what is new'),
      h('button', { class: 'btn', type: 'button', onclick: show('d') }, 'Show what was dropped')));
};

// ---------------------------------------------------------------- the list
const state = { in: 'all', k: -1, s: -1, r: -1, d: '', search: '', sort: 'order', down: false };
const DOWN_FIRST = { score: true, tokens: true };
const comparable = (score) => typeof score === 'number' ? score : score === 'Infinity' ? Infinity : score === '-Infinity' ? -Infinity : NaN;
const KEYS = {
  order: (item) => item.index,
  score: (item) => comparable(item.c),
  tokens: (item) => item.t,
  kind: (item) => names.k[item.k].toLowerCase(),
  source: (item) => names.s[item.s].toLowerCase(),
  reason: (item) => names.r[item.r],
};
let haystacks = null;
const hay = (item) => [item.x, names.k[item.k], names.s[item.s], names.r[item.r], item.why, (item.tags || []).join(' '), (item.matched || []).join(' '), item.meta ? Object.entries(item.meta).flat().join(' ') : ''].filter(Boolean).join('\n').toLowerCase();
let shown = [];
let drawn = 0;
const rows = h('ol', { class: 'rows', id: 'rows' });
const status = h('p', { class: 'status', role: 'status', id: 'status' });
const moreButton = h('button', { class: 'btn', type: 'button', id: 'more', onclick: () => drawMore(PAGE) });
const more = h('div', { class: 'more' }, moreButton);

// The text with what is searched for, or what matched, marked.
const marked = (text, words) => {
  if (!words.length) return [text];
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'gi');
  const out = []; let at = 0; let hits = 0;
  for (const hit of text.matchAll(pattern)) {
    if (hit[0] === '' || hits > 500) break;
    out.push(text.slice(at, hit.index), h('mark', {}, hit[0]));
    at = hit.index + hit[0].length;
    hits += 1;
  }
  out.push(text.slice(at));
  return out;
};
const wordsOf = (item) => [...(state.search ? [state.search] : []), ...(item.matched || [])];
const preview = (item) => {
  if (item.x === undefined) return [h('span', { class: 'soft' }, 'text left out')];
  const text = item.x.slice(0, 2000).replace(/\s+/g, ' ');
  const hit = state.search ? text.toLowerCase().indexOf(state.search) : -1;
  // What was found must be visible.
  return marked((hit > 60 ? '…' + text.slice(hit - 40) : text).slice(0, 240), wordsOf(item));
};
const BADGES = { n: 'new', d: 'dropped', g: 'gone' };
const row = (item) => {
  const score = comparable(item.c);
  const summary = h('summary', {},
    h('span', { class: 'pos' }, item.in ? `#${item.index + 1}` : 'out'),
    h('span', { class: 'kind' }, h('i', { class: 'swatch', color: palettes.k[item.k] }), h('span', { title: names.k[item.k] }, names.k[item.k])),
    h('span', { class: 'text' },
      item.d && BADGES[item.d] ? h('span', { class: `badge b-${item.d}` }, BADGES[item.d]) : null,
      item.part ? h('span', { class: 'badge soft' }, item.part) : null,
      item.matched ? h('span', { class: 'words', title: 'matched words' }, item.matched.join(', ')) : null,
      preview(item)),
    h('span', { class: 'score', title: 'score' }, typeof item.c === 'number' ? item.c.toFixed(2) : item.c,
      score > 0 ? h('i', { class: 'meter', width: `${Math.min(1, score) * 100}%` }) : null),
    h('span', { class: 'tokens', title: 'tokens' }, n(item.t)),
    h('span', { class: 'reason', title: data.reasons[item.r].meaning }, names.r[item.r]));
  const details = h('details', {}, summary);
  details.addEventListener('toggle', () => { if (details.open && details.childElementCount === 1) details.append(body(item)); });
  const element = h('li', { class: item.in ? 'in' : 'out', id: `item-${item.index}` }, details);
  return element;
};
const tree = (parts) => {
  const share = parts.share === undefined || parts.share === null ? null : parts.share;
  const amount = typeof parts.score === 'number' ? parts.score * (share === null ? 1 : share) : 0;
  return h('li', {}, h('div', { class: 'line' },
    h('span', { class: 'track' }, h('i', { width: `${Math.max(0, Math.min(1, amount)) * 100}%` })),
    h('b', { class: 'num' }, share === null ? scoreText(parts.score) : `${scoreText(parts.score)} × ${(share * 100).toFixed(0)} % = ${amount.toFixed(3)}`),
    h('span', {}, parts.scorer),
    parts.note ? h('span', { class: 'soft' }, parts.note) : null),
    parts.parts && parts.parts.length ? h('ul', {}, parts.parts.map(tree)) : null);
};
const body = (item) => {
  const facts = [
    ['Reason', names.r[item.r] + (item.in ? '' : `: ${item.why || data.reasons[item.r].meaning}`)],
    ['Score', item.pinned && item.in ? `${scoreText(item.c)} (pinned, not scored)` : scoreText(item.c)],
    ['Tokens', n(item.t) + (item.original === undefined ? '' : `, ${n(item.original)} originally`)],
    ['Kind, source', `${names.k[item.k]}, ${names.s[item.s]}`],
    item.part && ['Part of the plan', item.part],
    item.hint !== undefined && ['Relevance hint', scoreText(item.hint)],
    item.matched && ['Matched words', item.matched.join(', ')],
    item.priority !== undefined && ['Priority', String(item.priority)],
    item.at && ['Date', item.at.replace('T', ' ').replace('Z', ' UTC')],
    item.tags && ['Tags', item.tags.join(', ')],
    ...Object.entries(item.meta || {}).map(([key, value]) => [key, value]),
  ].filter(Boolean);
  return h('div', { class: 'body' },
    h('dl', { class: 'facts' }, facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    item.parts ? h('ul', { class: 'tree', 'aria-label': 'How the score came about' }, tree(item.parts)) : null,
    item.x === undefined ? null : h('pre', { tabindex: '0' }, marked(item.x, wordsOf(item))),
    item.cut ? h('p', { class: 'soft' }, `${plural(item.cut, 'more character')} are not shown.`) : null);
};
const drawMore = (count) => {
  rows.append(...shown.slice(drawn, drawn + count).map(row));
  drawn = Math.min(shown.length, drawn + count);
  more.hidden = drawn >= shown.length;
  moreButton.textContent = `Show more (${n(shown.length - drawn)} left)`;
};
const matches = (item) => (state.in === 'all' || (state.in === 'in') === item.in)
  && (state.k < 0 || item.k === state.k) && (state.s < 0 || item.s === state.s) && (state.r < 0 || item.r === state.r)
  && (state.d === '' ? !item.gone : item.d === state.d || (state.d === 'd' && item.gone))
  && (state.search === '' || haystacks[item.index].includes(state.search));
const list = () => {
  performance.mark('cupel-list-start');
  if (state.search && !haystacks) haystacks = items.map(hay);
  shown = items.filter(matches);
  if (state.sort !== 'order' || state.down) {
    const key = KEYS[state.sort]; const sign = state.down ? -1 : 1;
    const keyed = shown.map((item) => [key(item), item]);
    // What is no number comes last either way, as it does in the pipeline.
    keyed.sort(([a, x], [b, y]) => (a !== a ? (b !== b ? 0 : 1) : b !== b ? -1 : a < b ? -sign : a > b ? sign : 0) || x.index - y.index);
    shown = keyed.map(([, item]) => item);
  }
  rows.replaceChildren();
  drawn = 0;
  drawMore(PAGE);
  const tokens = shown.reduce((sum, item) => sum + item.t, 0);
  status.textContent = shown.length === listed.length && !state.d ? `${plural(listed.length, 'item')}, ${plural(tokens, 'token')}`
    : `${n(shown.length)} of ${plural(listed.length, 'item')}, ${plural(tokens, 'token')}`;
  if (!shown.length) rows.append(h('li', { class: 'empty' }, listed.length ? 'Nothing matches. Change the filters.' : 'There was nothing to select from.'));
  performance.measure('cupel-list', 'cupel-list-start');
};

const select = (field, title, id) => {
  const counts = new Map();
  for (const item of listed) counts.set(item[field], (counts.get(item[field]) || 0) + 1);
  const options = [...counts].sort((a, b) => b[1] - a[1]).slice(0, OPTIONS);
  return h('select', { id, 'aria-label': title, onchange: (event) => { state[field] = Number(event.target.value); sync(); } },
    h('option', { value: '-1' }, title), options.map(([index, count]) => h('option', { value: index }, `${names[field][index].slice(0, 60)} (${n(count)})`)));
};
const selects = { k: select('k', 'All kinds', 'filter-kind'), r: select('r', 'All reasons', 'filter-reason'), s: select('s', 'All sources', 'filter-source') };
const changes = difference && h('select', { id: 'filter-change', 'aria-label': 'All changes', onchange: (event) => { state.d = event.target.value; sync(); } },
  [['', 'All changes'], ['k', 'Kept'], ['n', 'New'], ['d', 'Dropped']].map(([value, text]) => h('option', { value }, text)));
const search = h('input', { type: 'search', id: 'search', placeholder: data.texts ? 'Search texts, tags, metadata' : 'Search kinds, sources, reasons', 'aria-label': 'Search', oninput: () => { state.search = search.value.trim().toLowerCase(); list(); } });
const inOut = segmented('in', 'In or out', [['all', 'All'], ['in', 'In'], ['out', 'Out']], 'all', (value) => { state.in = value; sync(); });
const reset = h('button', { class: 'btn', type: 'button', id: 'reset', onclick: () => { Object.assign(state, { in: 'all', k: -1, s: -1, r: -1, d: '', search: '', sort: 'order', down: false }); sync(); } }, 'Reset');
const SORTS = [['order', 'Order'], ['score', 'Score'], ['tokens', 'Tokens'], ['kind', 'Kind'], ['source', 'Source'], ['reason', 'Reason']];
const sorts = h('div', { class: 'sorts', role: 'group', 'aria-label': 'Sort' }, h('span', {}, 'Sort by'), SORTS.map(([key, text]) => h('button', {
  type: 'button', 'data-sort': key, onclick: () => {
    if (state.sort === key) state.down = !state.down; else { state.sort = key; state.down = !!DOWN_FIRST[key]; }
    sync();
  },
}, text)));
// Controls show what the state says, whoever changed it.
const sync = () => {
  for (const [field, element] of Object.entries(selects)) element.value = String(state[field]);
  if (changes) changes.value = state.d;
  if (search.value.trim().toLowerCase() !== state.search) search.value = state.search;
  for (const input of inOut.querySelectorAll('input')) input.checked = input.value === state.in;
  for (const button of sorts.querySelectorAll('button')) {
    const on = button.dataset.sort === state.sort;
    button.setAttribute('aria-pressed', String(on));
    button.textContent = SORTS.find(([key]) => key === button.dataset.sort)[1] + (on ? state.down ? ' ↓' : ' ↑' : '');
  }
  for (const button of legend.querySelectorAll('button')) button.setAttribute('aria-pressed', 'false');
  drawLegendPressed();
  list();
};
const drawLegendPressed = () => {
  const shownGroups = groups(by);
  [...legend.querySelectorAll('button')].forEach((button, index) => button.setAttribute('aria-pressed', String(shownGroups[index].index === state[by])));
};
// Shows one item in the list, whatever the filters hide.
const reveal = (item) => {
  if (!matches(item)) { Object.assign(state, { in: 'all', k: -1, s: -1, r: -1, d: '', search: '' }); sync(); }
  const at = shown.indexOf(item);
  if (at >= drawn) drawMore(at - drawn + 20);
  const details = document.getElementById(`item-${item.index}`).firstElementChild;
  details.open = true;
  details.firstElementChild.focus({ preventScroll: true });
  details.scrollIntoView({ block: 'center' });
};
rows.addEventListener('keydown', (event) => {
  if (event.target.tagName !== 'SUMMARY') return;
  const own = event.target.closest('li');
  const next = { ArrowDown: own.nextElementSibling, ArrowUp: own.previousElementSibling, Home: rows.firstElementChild, End: rows.lastElementChild }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  if (next) next.querySelector('summary').focus();
});
document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); search.focus(); }
  if (event.key === 'Escape' && event.target === search) { state.search = ''; sync(); }
});
addEventListener('beforeprint', () => { if (drawn < PRINTED) drawMore(PRINTED - drawn); });
const listSection = h('section', { id: 'items', 'aria-labelledby': 'h-items' },
  h('div', { class: 'top' }, h('h2', { id: 'h-items' }, 'What is in, what is out, and why'), inOut),
  h('div', { class: 'tools' }, search, selects.k, selects.r, selects.s, changes, reset),
  status,
  data.candidates > data.included + data.excluded ? h('p', { class: 'status' }, `${plural(data.candidates - data.included - data.excluded, 'more candidate')} were left out and are not listed in the report.`) : null,
  sorts, rows, more);

// ---------------------------------------------------------------- times, notes
const timesSection = () => {
  const stages = data.stages; const sources = data.gathered;
  if (!stages.length && !sources.length) return null;
  const most = Math.max(...stages.map((stage) => stage.ms), 1e-9);
  const longest = Math.max(...sources.map((source) => source.elapsed_ms), 1e-9);
  const sum = stages.reduce((total, stage) => total + stage.ms, 0);
  return h('section', { 'aria-labelledby': 'h-times', id: 'times' },
    h('div', { class: 'top' }, h('h2', { id: 'h-times' }, 'Where the time went'),
      h('span', { class: 'soft num' }, [data.gatheredMs === null ? null : `gathering ${ms(data.gatheredMs)}`, stages.length ? `selecting ${ms(sum)}` : null].filter(Boolean).join(', '))),
    sources.length ? h('table', { class: 'times', id: 'sources' },
      h('thead', {}, h('tr', {}, ['Source', 'Items', 'Tokens', 'Took', '', 'Ended'].map((text, at) => h('th', { scope: 'col', class: at > 0 && at < 4 ? 'r' : at === 4 ? 'w' : null }, text)))),
      h('tbody', {}, sources.map((source) => h('tr', {}, h('td', {}, source.name), h('td', { class: 'r' }, n(source.items)), h('td', { class: 'r' }, n(source.tokens)), h('td', { class: 'r' }, ms(source.elapsed_ms)),
        h('td', { class: 'w' }, h('i', { class: source.failed ? 'late' : null, width: `${source.elapsed_ms / longest * 100}%` })),
        h('td', { class: source.failed ? 'bad' : null }, source.outcome.replace(/_/g, ' ') + (source.detail ? `: ${source.detail}` : '')))))) : null,
    stages.length ? h('table', { class: 'times', id: 'stages' },
      h('thead', {}, h('tr', {}, ['Stage', 'Items in', 'Out', 'Took', '', ''].map((text, at) => h('th', { scope: 'col', class: at > 0 && at < 4 ? 'r' : at === 4 ? 'w' : null }, text)))),
      h('tbody', {}, stages.map((stage) => h('tr', {}, h('td', {}, stage.name), h('td', { class: 'r' }, n(stage.items)), h('td', { class: 'r' }, stage.out === undefined ? '–' : n(stage.out)), h('td', { class: 'r' }, ms(stage.ms)),
        h('td', { class: 'w' }, h('i', { width: `${stage.ms / most * 100}%` })), h('td', { class: 'soft' }, stage.note || ''))))) : null);
};
const TOOL_ROWS = 200; // rows of tools
const toolsSection = () => {
  const tools = data.tools;
  if (!tools) return null;
  const table = (list, name) => h('table', { class: 'times', id: name },
    h('thead', {}, h('tr', {}, ['Tool', 'Tokens', 'Score', 'Why'].map((text, at) => h('th', { scope: 'col', class: at === 1 || at === 2 ? 'r' : null }, text)))),
    h('tbody', {}, list.slice(0, TOOL_ROWS).map((tool) => h('tr', {}, h('td', {}, tool.name || 'name left out'), h('td', { class: 'r' }, n(tool.tokens)), h('td', { class: 'r' }, scoreText(tool.score)), h('td', {}, tool.reason)))),
    list.length > TOOL_ROWS ? h('tfoot', {}, h('tr', {}, h('td', { class: 'soft', colspan: '4' }, `and ${n(list.length - TOOL_ROWS)} more`))) : null);
  const sent = tools.list.filter((tool) => tool.sent);
  const out = tools.list.filter((tool) => !tool.sent);
  return h('section', { 'aria-labelledby': 'h-tools', id: 'tools' },
    h('div', { class: 'top' }, h('h2', { id: 'h-tools' }, 'Tools'), h('span', { class: 'soft num' }, tools.line)),
    h('details', { open: true }, h('summary', {}, `${plural(sent.length, 'tool')} sent`), table(sent, 'tools-in')),
    h('details', {}, h('summary', {}, `${plural(out.length, 'tool')} left out`), table(out, 'tools-out')));
};
const lines = [...data.shortfalls, ...(data.cache && data.cache.broke ? [`The prompt cache: ${data.cache.broke}`] : []), ...data.notes];
const notesSection = lines.length ? h('section', { id: 'notes' }, h('h2', {}, 'Notes'), h('ul', { class: 'notes' }, lines.map((line) => h('li', {}, line)))) : null;

root.replaceChildren(...[
  h('a', { class: 'skip', href: '#items' }, 'Skip to the items'),
  title, sub, tiles, windowSection, notesSection, differenceSection(), listSection, toolsSection(), timesSection(),
  h('footer', {}, h('kbd', {}, '/'), ' search · ', h('kbd', {}, '↑'), ' ', h('kbd', {}, '↓'), ' rows · ', h('kbd', {}, 'Enter'), ' details · made by tower-cupel'),
].filter(Boolean));
drawWindow();
sync();
if ('IntersectionObserver' in window) {
  new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting) && drawn < shown.length && drawn >= PAGE && scrollY > 0) drawMore(PAGE); }, { rootMargin: '800px' }).observe(more);
}
performance.measure('cupel-open', 'cupel-start');
document.documentElement.dataset.ready = 'true';
})();
