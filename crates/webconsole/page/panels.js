// Panels of a general kind: any row of sys.console_panels whose query returns names and values, or rows.
import {h, replace, inUnit} from './dom.js';
import {Chart, LINE_COLORS} from './chart.js';
import {tableOf} from './table.js';
import {read} from './api.js';
import {recorder, windowed} from './recorder.js';
import {state, change} from './state.js';

/** The kinds that this file draws. */
export const GENERAL = new Set(['table', 'bars', 'rate_bars', 'lines', 'rates', 'number']);
const LINES_MAX = 8, BARS_MAX = 20;

/** A screen made of panels. */
export class PanelScreen {
  constructor(screen, before) {
    this.screen = screen;
    this.before = before;
    this.panels = recorder.panels.filter(panel => panel.screen === screen && GENERAL.has(panel.kind)).map(panel => new Panel(panel));
    this.element = h('div', {}, before?.element, h('div', {class: 'grid'}, this.panels.map(panel => panel.element)),
      !before && !this.panels.length ? h('p', {class: 'panel'}, 'No panels: add rows to msdb.dbo.console_panels, as docs/console.md shows.') : null);
  }

  async read() {
    await this.before?.read();
    for (const panel of this.panels) await panel.read();
  }

  draw() {
    this.before?.draw();
    for (const panel of this.panels) panel.draw();
  }
}

/** One panel. */
export class Panel {
  constructor(row) {
    this.row = row;
    this.topic = `panel ${row.screen} ${row.position} ${row.title}`;
    this.body = h('div', {}, h('p', {class: 'dim'}, 'Not read yet.'));
    const wide = row.kind === 'table' ? ' wide' : '';
    this.element = h('section', {class: `panel${wide}`}, h('h2', {}, row.title, row.unit ? h('span', {class: 'unit'}, ` ${row.unit}`) : null), this.body);
  }

  /** Reads at most as often as the panel says; an error is shown in its place. */
  async read() {
    const {row} = this;
    const every = Math.max(1000, 1000 * (Number(row.refresh_seconds) || 1), this.least ?? 0);
    const key = JSON.stringify(state.window);
    if (recorder.age(this.topic) < every - 100 && (this.key === key || !/@from|@to/i.test(row.query))) return;
    this.key = key;
    const began = performance.now();
    try {
      const results = await read(windowed(row.query));
      const rows = results.at(-1) || [];
      this.error = null;
      this.rows = rows;
      const of = one => Object.values(one);
      recorder.keep(this.topic, row.kind === 'table' ? null : new Map(rows.map(one => [String(of(one)[0]), Number(of(one)[1])])));
    } catch (error) {
      if (error.status === 401) throw error;
      this.error = error.message;
      recorder.keep(this.topic, null);
    }
    // A query that takes long is asked less often.
    this.least = 30 * (performance.now() - began);
  }

  draw() {
    if (this.error) { replace(this.body, h('p', {class: 'alarm'}, this.error)); return; }
    if (!this.rows) return;
    const draw = {table: this.table, bars: this.bars, rate_bars: this.rateBars, lines: this.lines, rates: this.lines, number: this.single}[this.row.kind];
    draw.call(this);
  }

  table() {
    if (this.drawn === this.rows && this.filter === state.filter) return;
    [this.drawn, this.filter] = [this.rows, state.filter];
    replace(this.body, tableOf(this.rows, '').element);
    this.body.firstChild.setAttribute('aria-label', this.row.title);
  }

  single() {
    const [value] = [...(recorder.all(this.topic).at(-1)?.value?.values() ?? [])];
    replace(this.body, h('strong', {}, value === undefined ? '' : inUnit(value, this.row.unit)));
  }

  bars() {
    const kept = recorder.all(this.topic).filter(one => one.value && (!state.window || one.t <= state.window[1]));
    this.meters([...(kept.at(-1)?.value ?? [])], this.row.unit);
  }

  rateBars() {
    const pair = recorder.pair(this.topic, 900);
    if (!pair?.after.value || !pair.before.value) { replace(this.body, h('p', {class: 'dim'}, 'The second reading is awaited.')); return; }
    const seconds = (pair.after.t - pair.before.t) / 1000;
    this.meters([...pair.after.value].map(([name, value]) => [name, Math.max(0, value - (pair.before.value.get(name) ?? 0)) / seconds]), this.row.unit);
  }

  meters(all, unit) {
    const filter = state.filter.toLowerCase();
    const shown = all.filter(([name, value]) => value > 0 && name.toLowerCase().includes(filter)).sort((a, b) => b[1] - a[1]).slice(0, BARS_MAX);
    const most = shown[0]?.[1] || 1;
    replace(this.body, shown.length ? h('div', {class: 'meter'}, shown.map(([name, value]) => [
      h('span', {class: 'name'}, name), h('span', {class: 'fill', 'aria-hidden': 'true', style: {width: `${100 * value / most}%`}}), h('span', {class: 'value'}, inUnit(value, unit))])) : h('p', {class: 'dim'}, 'Nothing.'));
  }

  lines() {
    const kept = recorder.all(this.topic).filter(one => one.value);
    if (!kept.length) return;
    const last = kept.at(-1).value;
    const points = this.row.kind === 'lines' ? kept.map(one => ({t: one.t, of: one.value})) : kept.slice(1).map((one, at) => {
      const before = kept[at], seconds = (one.t - before.t) / 1000;
      return {t: one.t, of: new Map([...one.value].map(([name, value]) => [name, Math.max(0, value - (before.value.get(name) ?? value)) / seconds]))};
    });
    const largest = new Map();
    for (const point of points) for (const [name, value] of point.of) largest.set(name, Math.max(largest.get(name) ?? 0, value));
    const names = [...last.keys()].filter(name => name.toLowerCase().includes(state.filter.toLowerCase())).sort((a, b) => (largest.get(b) ?? 0) - (largest.get(a) ?? 0)).slice(0, LINES_MAX).sort();
    const key = names.join('\n');
    if (this.names !== key) {
      this.names = key;
      this.chart = new Chart({label: this.row.title, unit: this.row.unit, low: true, onSelect: window => change({window}),
        series: names.map((name, at) => ({name, color: LINE_COLORS[at], hatch: at % 2 === 1}))});
      replace(this.body, this.chart.element, h('div', {class: 'legend'}, names.map((name, at) => h('span', {}, h('span', {class: 'swatch', style: {background: `var(${LINE_COLORS[at]})`}}), name))));
    }
    const from = Math.max(recorder.now - 3600000, Math.min(kept[0].t, recorder.now - 60000));
    this.chart.set(points.map(point => ({t: point.t, values: names.map(name => point.of.get(name) ?? 0)})), [from, recorder.now], state.window);
  }
}
