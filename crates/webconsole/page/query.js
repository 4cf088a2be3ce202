// The query page: a text, its results as tables and as a chart, on a session that lasts.
import {h, replace, duration} from './dom.js';
import {query, cancel} from './api.js';
import {tableOf} from './table.js';
import {Chart, LINE_COLORS} from './chart.js';
import {open} from './plan.js';
import {state, change} from './state.js';

const LINK_LENGTH_MAX = 2000;

export class QueryScreen {
  constructor() {
    this.text = h('textarea', {class: 'sql', id: 'sql', spellcheck: 'false', 'aria-describedby': 'sql-help', onkeydown: event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.go(); } }});
    this.text.value = state.query || 'SELECT TOP (10) wait_type, wait_time_ms, waiting_tasks_count\nFROM sys.dm_os_wait_stats\nORDER BY wait_time_ms DESC;';
    this.run = h('button', {type: 'button', class: 'primary', id: 'run', onclick: () => this.go()}, 'Run');
    this.stop = h('button', {type: 'button', disabled: true, onclick: () => cancel()}, 'Cancel');
    this.said = h('p', {role: 'status', class: 'dim', id: 'said'});
    this.results = h('div', {id: 'results'});
    this.element = h('div', {},
      h('section', {class: 'panel'}, h('h2', {}, h('label', {for: 'sql'}, 'Query')), this.text,
        h('div', {class: 'bar'}, this.run, this.stop, h('span', {class: 'dim', id: 'sql-help'}, 'Ctrl+Enter runs it. Nothing that a link brings is run by itself.')), this.said),
      this.results);
  }

  async read() {}
  draw() {}

  async go() {
    if (this.busy) return;
    this.busy = true;
    [this.run.disabled, this.stop.disabled] = [true, false];
    const text = this.text.value;
    change({query: text.length <= LINK_LENGTH_MAX ? text : ''});
    replace(this.said, 'Running.');
    try {
      this.show(await query(text));
    } catch (error) {
      replace(this.said, h('span', {class: 'alarm'}, error.message));
      replace(this.results);
    }
    this.busy = false;
    [this.run.disabled, this.stop.disabled] = [false, true];
  }

  show(answer) {
    const counts = answer.counts.length ? ` ${answer.counts.join(', ')} rows.` : '';
    replace(this.said, `${duration(answer.milliseconds)} on the server.${counts}`);
    const messages = answer.messages.map(message => h('pre', {class: message.severity > 10 ? 'alarm' : null},
      message.severity > 10 ? `Msg ${message.number}, Level ${message.severity}, State ${message.state}, Line ${message.line}: ${message.text}` : message.text));
    replace(this.results, messages.length ? h('section', {class: 'panel', 'aria-label': 'Messages'}, messages) : null, answer.results.map((result, at) => resultOf(result, at + 1)));
  }
}

function resultOf(result, place) {
  const names = result.columns.map((column, at) => column.name || `column${at + 1}`);
  const rows = result.rows.map(row => Object.fromEntries(row.map((value, at) => [names[at], value])));
  rows.columns = result.columns.map((column, at) => ({...column, name: names[at]}));
  const caption = `Result ${place}: ${rows.length} rows${result.truncated ? ', and more that are not shown' : ''}`;
  const table = tableOf(rows, caption).element;
  const section = h('section', {class: 'panel'});
  const numbers = rows.columns.filter(column => /int|decimal|numeric|float|real|money/.test(column.type)).map(column => column.name);
  const toggle = numbers.length && rows.length > 1 ? h('button', {type: 'button', 'aria-pressed': 'false', onclick: () => {
    const on = toggle.getAttribute('aria-pressed') !== 'true';
    toggle.setAttribute('aria-pressed', String(on));
    body.replaceChildren(on ? chartOf(rows, numbers) : table);
  }}, 'Chart') : null;
  const plan = names.length === 1 && /^<ShowPlanXML/.test(String(result.rows[0]?.[0] ?? '')) ? h('button', {type: 'button', onclick: () => open(result.rows[0][0])}, 'Picture of the plan') : null;
  const body = h('div', {}, table);
  section.append(...[toggle || plan ? h('div', {class: 'bar'}, toggle, plan) : null, body].filter(Boolean));
  return section;
}

/** Lines where the first column is a time or a number, else bars. */
function chartOf(rows, numbers) {
  const first = rows.columns[0].name;
  const times = rows.map(row => Date.parse(`${String(row[first]).replace(' ', 'T').slice(0, 23)}Z`));
  if (/date|time/.test(rows.columns[0].type) && times.every(Number.isFinite)) {
    const shown = numbers.slice(0, LINE_COLORS.length);
    const chart = new Chart({label: 'Chart of the result', low: true, series: shown.map((name, at) => ({name, color: LINE_COLORS[at], hatch: at % 2 === 1}))});
    const points = rows.map((row, at) => ({t: times[at], values: shown.map(name => Number(row[name]))})).sort((a, b) => a.t - b.t);
    chart.set(points, [points[0].t, points.at(-1).t], null);
    return h('div', {}, chart.element, h('div', {class: 'legend'}, shown.map((name, at) => h('span', {}, h('span', {class: 'swatch', style: {background: `var(${LINE_COLORS[at]})`}}), name))));
  }
  const column = numbers.find(name => name !== first) ?? first;
  const values = rows.slice(0, 60).map(row => [String(row[first] ?? ''), Number(row[column]) || 0]);
  const most = Math.max(...values.map(pair => Math.abs(pair[1])), 1e-9);
  return h('div', {}, h('p', {class: 'dim'}, `${column} by ${first}`), h('div', {class: 'meter'}, values.map(([name, value]) => [
    h('span', {class: 'name'}, name), h('span', {class: 'fill', style: {width: `${100 * Math.abs(value) / most}%`}}), h('span', {class: 'value'}, String(value))])));
}
