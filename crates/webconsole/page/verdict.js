// Verdict: what sys.sp_diagnose finds, if the server has it.
import {h, replace, clock} from './dom.js';
import {query} from './api.js';
import {tableOf} from './table.js';
import {recorder} from './recorder.js';
import {link} from './state.js';

export class VerdictScreen {
  constructor() {
    this.run = h('button', {type: 'button', class: 'primary', onclick: () => this.diagnose()}, 'Diagnose now');
    this.body = h('div', {role: 'status'}, h('p', {class: 'dim'}, 'Nothing has been diagnosed since this page was opened.'));
    this.past = h('div', {});
    this.element = h('section', {class: 'panel'}, h('div', {class: 'bar'}, h('h2', {}, 'Verdict'), this.run), this.body, this.past);
  }

  async read() {}

  draw() {
    this.run.disabled = this.busy === true;
  }

  async diagnose() {
    this.busy = true;
    this.draw();
    replace(this.body, h('p', {}, 'The server is being watched for ten seconds.'));
    try {
      const answer = await query('EXEC sys.sp_diagnose;');
      const errors = answer.messages.filter(message => message.severity > 10);
      // 2812: there is no such procedure.
      if (errors.some(message => message.number === 2812)) throw new Error('This server has no sys.sp_diagnose. The Time screen shows where time goes, Now shows who blocks whom.');
      const parts = [h('p', {class: 'dim'}, `At ${clock(recorder.now)}`), ...answer.messages.map(message => h('p', {class: message.severity > 10 ? 'alarm' : null}, message.text))];
      for (const result of answer.results) parts.push(show(result));
      if (!errors.length && !answer.results.length && !answer.messages.length) parts.push(h('p', {}, 'It has found nothing.'));
      if (this.last) this.past.prepend(h('details', {}, h('summary', {}, this.last[0].textContent), this.last.slice(1)));
      this.last = parts.flat(Infinity).filter(Boolean);
      replace(this.body, this.last);
    } catch (error) {
      replace(this.body, h('p', {class: 'alarm'}, error.message));
    }
    this.busy = false;
    this.draw();
  }
}

/** Shows a result of sp_diagnose by its columns; any other as a table. */
function show(result) {
  const names = result.columns.map((column, at) => column.name || `column${at + 1}`);
  const rows = result.rows.map(row => Object.fromEntries(row.map((value, at) => [names[at], value])));
  rows.columns = result.columns;
  if (names.includes('sentence')) return rows.map(row => h('p', {class: 'sentence'}, row.sentence));
  if (names[0] === 'part') return time(rows);
  if (names[0] === 'Priority') return rows.map(finding);
  if (names[0] === 'ruled_out') return list('Ruled out', rows.map(row => `${row.finding ?? row.ruled_out}: ${row.percent_of_work} % of the server's work; 10 % would count`));
  if (names[0] === 'warning') return list('Warnings', rows.map(row => row.warning));
  return tableOf(rows, '').element;
}

/** Where the time went: the parts sum to 100 %. */
function time(rows) {
  const line = row => [
    h('span', {class: 'name'}, row.part),
    h('span', {}, h('div', {class: 'fill', style: {width: `${Number(row.percent)}%`}})),
    h('span', {class: 'value'}, `${row.percent} %`)];
  return h('div', {}, h('h3', {}, 'Where the time goes'), h('div', {class: 'meter'}, rows.map(line)));
}

/** A cause: what it costs, what shows it, what to do. */
function finding(row) {
  const [what, ...details] = row.Finding.split('; ');
  const entry = (name, ...value) => [h('dt', {}, name), h('dd', {}, value)];
  return h('article', {class: 'finding'}, h('h3', {}, `${row.Priority}. ${what}`), h('dl', {},
    details.length ? entry('Seen', details.map(detail => h('div', {}, detail))) : null,
    entry('Impact', row.Impact),
    entry('What to do', row['What to do']),
    entry('How to check', row['How to check']),
    entry('Evidence', h('pre', {}, row.Evidence), h('a', {href: link('query', {sql: row.Evidence})}, 'Open in the query page'))));
}

function list(title, lines) {
  return lines.length ? h('div', {}, h('h3', {}, title), h('ul', {}, lines.map(line => h('li', {}, line)))) : null;
}
