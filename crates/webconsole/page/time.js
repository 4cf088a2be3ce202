// Time: where the time of all threads goes, per second, and in the selected window.
import {h, replace, number, clock} from './dom.js';
import {Chart} from './chart.js';
import {Table} from './table.js';
import {read} from './api.js';
import {recorder, windowed, CATEGORIES} from './recorder.js';
import {state, change} from './state.js';

const SPANS = [[2, '2 min'], [10, '10 min'], [60, '1 h']];
const MEANINGS = {
  user: 'the engine, on a CPU', kernel: 'in system calls', spin: 'looping for a lock', observation: 'reading these views', dark: 'explained by nothing',
  runnable: 'ready, but the machine gives no CPU', signal: 'ready, but no scheduler is free', wait: 'blocked by a lock or another resource',
  unexpected_blocking: 'blocked where nothing should block', foreign: 'threads of others',
};
/** Categories that are told by stripes as well as by colour. */
const HATCHED = new Set(['dark', 'unexpected_blocking', 'signal', 'foreign']);

export class TimeScreen {
  constructor() {
    this.minutes = 2;
    this.chart = new Chart({
      label: 'Active time of all threads by category, in seconds per second', stacked: true, unit: '',
      series: CATEGORIES.map(name => ({name, color: `--c-${name}`, hatch: HATCHED.has(name)})),
      limit: () => state.schedulers, limitName: value => `${value} scheduler${value === 1 ? '' : 's'}`,
      onSelect: window => change({window}),
    });
    this.categories = new Table([
      {name: 'category', title: 'Category', kind: 'wrap', show: (value, row) => [h('span', {class: 'swatch', style: {background: `var(--c-${value})`}}), value, ' ', h('span', {class: 'dim'}, row.meaning)]},
      {name: 'active', title: 's/s', kind: 'n', show: value => value.toFixed(3)},
      {name: 'share', title: '%', kind: 'n', show: value => value.toFixed(1)},
    ], {caption: 'By category', sort: 1});
    this.parts = new Table([
      {name: 'name', title: 'Part', kind: 'wrap', value: row => `${row.name} ${row.category}`, show: (_, row) => [h('span', {class: 'swatch', style: {background: `var(--c-${row.category})`}}), row.name, ' ', h('span', {class: 'dim'}, row.category)]},
      {name: 'active', title: 's/s', kind: 'n', show: value => value.toFixed(3)},
      {name: 'entries', title: 'entries/s', kind: 'n', show: value => (value ? number(value) : '')},
    ], {caption: 'Largest parts', sort: 1, empty: 'The second reading is awaited.'});
    this.spans = h('span', {class: 'bar'}, SPANS.map(([minutes, name]) => h('button', {type: 'button', class: 'small', 'aria-pressed': String(minutes === this.minutes), 'data-minutes': minutes,
      onclick: () => { this.minutes = minutes; this.draw(); }}, name)));
    this.note = h('p', {class: 'dim'});
    this.element = h('div', {},
      h('section', {class: 'panel', 'aria-labelledby': 'time-title'},
        h('div', {class: 'bar'}, h('h2', {id: 'time-title'}, 'Active time ', h('span', {class: 'unit'}, 'seconds per second')), this.spans), this.chart.element, this.note),
      h('div', {class: 'grid'}, h('section', {class: 'panel'}, this.categories.element), h('section', {class: 'panel'}, this.parts.element)));
  }

  /** Reads what the window needs from the server, which remembers the ledger for four hours. */
  async read() {
    const key = JSON.stringify(state.window);
    if (!state.window || this.read_for === key) return;
    const [rows] = await read(windowed(recorder.query('ledger_window')));
    this.read_for = key;
    const seconds = rows.length ? Math.max(0.001, Number(rows[0].seconds)) : 1;
    this.inWindow = rows.filter(row => row.category !== 'idle').map(row => ({category: row.category, name: row.name, active: Number(row.wall_ns) / 1e9 / seconds, entries: Number(row.occurrences) / seconds}));
  }

  draw() {
    for (const button of this.spans.children) button.setAttribute('aria-pressed', String(Number(button.dataset.minutes) === this.minutes));
    this.chart.set(recorder.points, recorder.range(this.minutes), state.window);
    let leaves = state.window ? this.inWindow || [] : recorder.leaves;
    this.parts.set(leaves);
    // Before the second reading, the server's memory knows categories.
    if (!state.window && !leaves.length) leaves = (recorder.points.at(-1)?.values ?? []).map((active, at) => ({category: CATEGORIES[at], active}));
    const sums = new Map(CATEGORIES.map(name => [name, 0]));
    for (const leaf of leaves) sums.set(leaf.category, (sums.get(leaf.category) || 0) + leaf.active);
    const total = [...sums.values()].reduce((all, value) => all + value, 0) || 1;
    this.categories.set([...sums].map(([category, active]) => ({category, active, share: 100 * active / total, meaning: MEANINGS[category] || ''})));
    replace(this.note, state.window
      ? `The tables show ${clock(state.window[0])} to ${clock(state.window[1])}; so do the other screens, as far as there are readings.`
      : 'The tables show the last reading. Drag in the chart to select a window for all screens. Time on a CPU does not stay above the dashed line; what is above it waits.');
  }
}
