// Verdict: what sys.sp_diagnose finds, if the server has it.
import {h, replace, clock} from './dom.js';
import {query} from './api.js';
import {tableOf} from './table.js';
import {recorder} from './recorder.js';

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
    replace(this.body, h('p', {}, 'The server is being watched.'));
    try {
      const answer = await query('EXEC sys.sp_diagnose;');
      const errors = answer.messages.filter(message => message.severity > 10);
      // 2812: there is no such procedure.
      if (errors.some(message => message.number === 2812)) throw new Error('This server has no sys.sp_diagnose. The Time screen shows where time goes, Now shows who blocks whom.');
      const parts = [h('p', {class: 'dim'}, `At ${clock(recorder.now)}`), ...answer.messages.map(message => h('p', {class: message.severity > 10 ? 'alarm' : null}, message.text))];
      for (const result of answer.results) parts.push(show(result));
      if (!errors.length && !answer.results.length && !answer.messages.length) parts.push(h('p', {}, 'It has found nothing.'));
      if (this.last) this.past.prepend(h('details', {}, h('summary', {}, this.last[0].textContent), this.last.slice(1)));
      this.last = parts;
      replace(this.body, parts);
    } catch (error) {
      replace(this.body, h('p', {class: 'alarm'}, error.message));
    }
    this.busy = false;
    this.draw();
  }
}

/** A result of one cell is a sentence, any other a table. */
function show(result) {
  const names = result.columns.map((column, at) => column.name || `column${at + 1}`);
  if (names.length === 1 && result.rows.length === 1) return h('p', {}, h('strong', {}, String(result.rows[0][0] ?? '')));
  const rows = result.rows.map(row => Object.fromEntries(row.map((value, at) => [names[at], value])));
  rows.columns = result.columns;
  return tableOf(rows, '').element;
}
