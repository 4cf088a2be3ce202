// Statements: what each did between two readings, by category of the ledger; its plan; two windows compared.
import {h, replace, number, clock} from './dom.js';
import {Table} from './table.js';
import {read} from './api.js';
import {recorder} from './recorder.js';
import {state} from './state.js';
import {showPlan} from './plan.js';

const COLORS = {user: '--c-user', kernel: '--c-kernel', spin: '--c-spin', observation: '--c-observation', dark: '--c-dark', runnable: '--c-runnable', signal: '--c-signal', wait: '--c-wait', unexpected_blocking: '--c-unexpected_blocking'};

export class StatementsScreen {
  constructor() {
    this.base = null;
    const per = (name, title) => ({name, title, kind: 'n'});
    this.columns = [
      {name: 'plan', title: 'Plan', fixed: true, value: () => '', show: (_, row) => h('button', {type: 'button', class: 'small', 'data-key': `plan ${row.key}`, 'aria-label': 'Plan of this statement', onclick: () => showPlan(row.plan_handle, row.start, row.end)}, 'Plan')},
      {name: 'text', title: 'Statement', kind: 'text'},
      per('calls', 'Calls/s'), per('cpu', 'CPU ms/s'), per('wait', 'Not on CPU ms/s'), per('mean', 'Mean ms'), per('reads', 'Reads/s'), per('rows', 'Rows/s'),
      {name: 'categories', title: 'Time of a call by category', fixed: true, value: row => row.categories.map(part => part[0]).join(' '), show: (_, row) => cells(row.categories)},
      {name: 'change', title: 'CPU ms/s against base', kind: 'n', class: 'change', show: value => (value === null ? '' : `${value > 0 ? '+' : ''}${number(value)}`)},
      {name: 'database', title: 'Database'},
    ];
    this.table = new Table(this.columns, {caption: 'Statements', sort: 3, empty: 'No statement ran between the two readings.'});
    this.note = h('p', {class: 'dim'});
    this.baseButton = h('button', {type: 'button', onclick: () => { this.base = this.base ? null : this.pair(); this.draw(); }});
    this.element = h('section', {class: 'panel'}, h('div', {class: 'bar'}, h('h2', {}, 'Statements'), this.baseButton), this.note, this.table.element);
  }

  static async record() {
    const [rows] = await read(recorder.query('statements'));
    recorder.keep('statements', new Map(rows.map(row => [`${row.plan_handle} ${row.statement_start_offset}`, row])));
  }

  async read() {
    if (recorder.age('statements') >= 900) await StatementsScreen.record();
    if (recorder.age('statement_ledger') >= 4500) {
      const [rows] = await read(recorder.query('statement_ledger'));
      const byStatement = new Map();
      for (const row of rows) {
        const key = `${row.plan_handle} ${row.statement_start_offset}`;
        if (!byStatement.has(key)) byStatement.set(key, new Map());
        byStatement.get(key).set(row.category, [Number(row.total_ns), Number(row.timed_count)]);
      }
      recorder.keep('statement_ledger', byStatement);
    }
  }

  pair() {
    return recorder.pair('statements', 4000);
  }

  draw() {
    const pair = this.pair();
    this.baseButton.textContent = this.base ? 'Forget the base' : 'Take as base';
    this.baseButton.setAttribute('aria-pressed', String(Boolean(this.base)));
    this.baseButton.disabled = !pair && !this.base;
    if (!pair) {
      replace(this.note, state.window ? 'There are no two readings in the window; readings begin when the console is opened.' : 'The second reading is awaited.');
      this.table.set([]);
      return;
    }
    const rates = difference(pair), base = this.base && difference(this.base);
    const ledger = recorder.pair('statement_ledger', 4000);
    const kept = recorder.all('statement_ledger');
    const last = ledger?.after.value || kept[kept.length - 1]?.value;
    const rows = [...rates.values()].map(row => ({...row, categories: categories(row.key, ledger, last), change: base ? row.cpu - (base.get(row.key)?.cpu ?? 0) : null}));
    if (base) for (const [key, row] of base) if (!rates.has(key)) rows.push({...row, calls: 0, cpu: 0, wait: 0, mean: 0, reads: 0, rows: 0, categories: [], change: -row.cpu});
    this.table.element.classList.toggle('no-base', !base);
    this.table.set(rows);
    replace(this.note, `${clock(pair.before.t)} to ${clock(pair.after.t)}${this.base ? `, against ${clock(this.base.before.t)} to ${clock(this.base.after.t)}` : ''}. Only statements whose plan is cached are shown.`);
  }
}

/** Rates between two readings. */
function difference({before, after}) {
  const seconds = (after.t - before.t) / 1000, found = new Map();
  for (const [key, row] of after.value) {
    const old = before.value.get(key);
    const earlier = old && old.creation_time === row.creation_time ? old : {};
    const grown = name => Math.max(0, Number(row[name] ?? 0) - Number(earlier[name] ?? 0));
    const calls = grown('execution_count');
    if (!calls) continue;
    const cpu = grown('total_worker_time') / 1000, elapsed = grown('total_elapsed_time') / 1000;
    found.set(key, {key, text: row.sql_text || '', plan_handle: row.plan_handle, start: row.statement_start_offset, end: row.statement_end_offset, database: row.database_name ?? '',
      calls: calls / seconds, cpu: cpu / seconds, wait: Math.max(0, elapsed - cpu) / seconds, mean: elapsed / calls, reads: grown('total_logical_reads') / seconds, rows: grown('total_rows') / seconds});
  }
  return found;
}

/** The parts of a call's time, largest first: of the window where there are two readings, else since the plan was cached. */
function categories(key, pair, last) {
  const after = (pair?.after.value ?? last)?.get(key), before = pair?.before.value.get(key);
  if (!after) return [];
  const parts = [...after].map(([name, [ns]]) => [name, Math.max(0, ns - (before?.get(name)?.[0] ?? 0))]).filter(part => part[1] > 0);
  const total = parts.reduce((all, part) => all + part[1], 0);
  return parts.map(([name, ns]) => [name, ns / total]).sort((a, b) => b[1] - a[1]);
}

function cells(parts) {
  const label = parts.map(([name, share]) => `${name} ${(100 * share).toFixed(0)} %`).join(', ');
  if (!parts.length) return h('span', {class: 'dim'}, 'not timed yet');
  return h('div', {class: 'cells', role: 'img', 'aria-label': label, title: label}, parts.map(([name, share]) => h('span', {style: {width: `${100 * share}%`, background: `var(${COLORS[name] || '--c-idle'})`}})));
}
