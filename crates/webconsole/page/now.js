// Now: requests and sessions that hold something, who waits for whom, and KILL.
import {h, replace, duration, number} from './dom.js';
import {Table} from './table.js';
import {read} from './api.js';
import {recorder} from './recorder.js';
import {state} from './state.js';
import {showPlan} from './plan.js';

const SAMPLE_MAX = 200;

export class NowScreen {
  constructor() {
    this.table = new Table([
      {name: 'kill', title: 'Kill', fixed: true, value: () => '', show: (_, row) => h('button', {type: 'button', class: 'small', 'data-key': `kill ${row.session_id}`, onclick: () => this.ask(row), 'aria-label': `Kill session ${row.session_id}`}, 'Kill')},
      {name: 'plan', title: 'Plan', fixed: true, value: () => '', show: (_, row) => row.plan_handle && h('button', {type: 'button', class: 'small', 'data-key': `plan ${row.session_id}`, 'aria-label': `Plan of session ${row.session_id}`, onclick: () => showPlan(row.plan_handle, row.statement_start_offset, row.statement_end_offset)}, 'Plan')},
      {name: 'session_id', title: 'Session', kind: 'n'},
      {name: 'duration_ms', title: 'Duration', kind: 'n', show: duration},
      {name: 'sql_text', title: 'Statement', kind: 'text'},
      {name: 'wait', title: 'Waits for', value: row => (row.wait_type ? `${row.wait_type} ${duration(row.wait_time)}` : '')},
      {name: 'blocking_session_id', title: 'Blocked by', kind: 'n', show: value => (value > 0 ? String(value) : '')},
      {name: 'cpu_time', title: 'CPU', kind: 'n', show: duration},
      {name: 'logical_reads', title: 'Reads', kind: 'n'},
      {name: 'writes', title: 'Writes', kind: 'n'},
      {name: 'status', title: 'Status'}, {name: 'open_transaction_count', title: 'Transactions', kind: 'n'},
      {name: 'database_name', title: 'Database'}, {name: 'login_name', title: 'Login'}, {name: 'host_name', title: 'Host'}, {name: 'program_name', title: 'Program'},
      {name: 'traceparent', title: 'Trace'},
      {name: 'percent_complete', title: 'Done', kind: 'n', show: value => (value > 0 ? `${number(value)} %` : '')},
    ], {caption: 'Requests, and sessions that hold a transaction open', sort: 3, empty: 'Nothing runs at this moment.', row: row => (row.blocking_session_id > 0 ? 'waits' : null)});
    this.tree = h('div', {class: 'tree'});
    this.element = h('div', {},
      h('section', {class: 'panel'}, h('h2', {}, 'Who waits for whom'), this.tree),
      h('section', {class: 'panel'}, h('h2', {}, 'Requests'), this.table.element));
  }

  async read() {
    const [rows] = await read(recorder.query('requests'));
    recorder.keep('requests', rows.slice(0, SAMPLE_MAX));
  }

  draw() {
    const kept = recorder.all('requests');
    let rows = kept[kept.length - 1]?.value || [];
    if (state.window) rows = sampled(kept.filter(one => one.t >= state.window[0] && one.t <= state.window[1]));
    this.table.options.caption = state.window ? 'Requests that were seen in the window, as they were last seen' : 'Requests, and sessions that hold a transaction open';
    this.table.set(rows);
    const branches = tree(rows);
    replace(this.tree, branches.length ? [h('ul', {}, branches.map(branch => this.branch(branch)))] : [h('p', {class: 'dim'}, 'No request waits for another session.')]);
  }

  branch({row, waiters}) {
    const what = row.status === 'sleeping' ? `idle for ${duration(row.duration_ms)} with ${row.open_transaction_count} open transaction${row.open_transaction_count === 1 ? '' : 's'}` : `${row.status} for ${duration(row.duration_ms)}`;
    return h('li', {}, h('strong', {}, `session ${row.session_id}`), ` ${row.login_name ?? ''} ${row.program_name ?? ''}: ${what}`, row.wait_type ? `, waits for ${row.wait_type}` : '', ' ',
      h('button', {type: 'button', class: 'small', 'data-key': `tree ${row.session_id}`, 'aria-label': `Kill session ${row.session_id} of the tree`, onclick: () => this.ask(row)}, 'Kill'),
      h('div', {class: 'dim'}, (row.sql_text || '').slice(0, 160)), waiters.length ? h('ul', {}, waiters.map(waiter => this.branch(waiter))) : null);
  }

  /** Asks before a session is killed. */
  ask(row) {
    const dialog = h('dialog', {'aria-labelledby': 'kill-title'},
      h('h2', {id: 'kill-title'}, `Kill session ${row.session_id}?`),
      h('p', {}, `${row.login_name ?? ''} from ${row.host_name ?? ''} with ${row.program_name ?? ''}. Its open transaction is rolled back.`),
      h('pre', {}, (row.sql_text || '').slice(0, 600)),
      h('p', {class: 'alarm', id: 'kill-said', role: 'status'}),
      h('div', {class: 'bar'},
        h('button', {type: 'button', class: 'primary', id: 'kill-yes', onclick: async () => {
          try { await read(`KILL ${Number(row.session_id)};`); dialog.close(); } catch (error) { dialog.querySelector('#kill-said').textContent = error.message; }
        }}, 'Kill it'),
        h('button', {type: 'button', autofocus: true, onclick: () => dialog.close()}, 'No')));
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

/** The last sight of each request. */
function sampled(readings) {
  const seen = new Map();
  for (const reading of readings) for (const row of reading.value) seen.set(`${row.session_id} ${row.start_time} ${row.sql_text}`, row);
  return [...seen.values()];
}

/** Blockers that wait for nobody who is known, with those who wait for them. */
function tree(rows) {
  const bySession = new Map(rows.map(row => [row.session_id, row]));
  const waiting = rows.filter(row => row.blocking_session_id > 0);
  const seen = new Set();
  const build = row => {
    seen.add(row.session_id);
    return {row, waiters: waiting.filter(other => other.blocking_session_id === row.session_id && !seen.has(other.session_id)).map(build)};
  };
  const heads = new Set();
  for (const row of waiting) {
    const blocker = row.blocking_session_id;
    if (!bySession.has(blocker)) bySession.set(blocker, {session_id: blocker, status: 'unknown'});
    if (!waiting.some(other => other.session_id === blocker)) heads.add(blocker);
  }
  // A cycle has no head: it begins anywhere.
  const built = [...heads].map(id => build(bySession.get(id)));
  for (const row of waiting) if (!seen.has(row.session_id)) built.push(build(row));
  return built;
}
