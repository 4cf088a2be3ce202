// Readings of the server, kept for an hour: what a selected window shows is the difference of two of them.
import {read} from './api.js';
import {state} from './state.js';

/** The categories of the ledger, in the order in which they are stacked: on a CPU first. */
export const CATEGORIES = ['user', 'kernel', 'spin', 'observation', 'dark', 'runnable', 'signal', 'wait', 'unexpected_blocking', 'foreign'];
const KEPT_MS = 3600 * 1000;

/** Clocks: monotonic and of the day, the start, the number of schedulers. */
const CLOCK = `SELECT i.ms_ticks, i.sqlserver_start_time_ms_ticks AS start_ticks, CONVERT(nvarchar(30), SYSDATETIME(), 126) AS now,
  DATEDIFF(minute, SYSUTCDATETIME(), SYSDATETIME()) AS offset_minutes, i.scheduler_count, (SELECT cpu_time FROM sys.dm_exec_sessions WHERE session_id = @@SPID) AS own_ms FROM sys.dm_os_sys_info AS i;`;

class Recorder {
  constructor() {
    this.reset();
  }

  reset() {
    this.last = null;
    this.points = [];
    this.leaves = [];
    this.topics = new Map();
    this.panels = [];
    this.now = null;
    this.skew = 0;
  }

  /** The query of a panel that has a kind of its own. */
  query(kind) {
    const panel = this.panels.find(one => one.kind === kind && one.is_system);
    if (!panel) throw new Error(`sys.console_panels has no panel of the kind ${kind}.`);
    return panel.query;
  }

  /** Reads the panels and what the server remembers of the last minutes, in one request: the first picture waits for it. */
  async begin() {
    const [panels, clocks, past] = await read(`SELECT * FROM sys.console_panels ORDER BY screen, position, title; ${CLOCK}
      DECLARE @history nvarchar(max) = (SELECT query FROM sys.console_panels WHERE kind = N'ledger_history' AND is_system = 1); EXEC (@history);`);
    this.panels = panels;
    this.take(clocks[0]);
    const byTime = new Map();
    for (const row of past) {
      const [from, to] = [moment(row.from_time), moment(row.to_time)];
      if (!(to > from)) continue;
      if (!byTime.has(to)) byTime.set(to, {t: to, seconds: (to - from) / 1000, values: CATEGORIES.map(() => 0)});
      const point = byTime.get(to);
      const at = CATEGORIES.indexOf(row.category);
      if (at >= 0) point.values[at] += Number(row.wall_ns) / 1e9 / point.seconds;
    }
    this.points = [...byTime.values()].sort((a, b) => a.t - b.t);
  }

  take(clock) {
    this.now = moment(clock.now);
    state.schedulers = clock.scheduler_count;
    this.own = Number(clock.own_ms);
    this.offset = Number(clock.offset_minutes) * 60000;
    return clock;
  }

  /** Reads the ledger; the difference from the last reading is a point. */
  async tick() {
    const [clocks, rows] = await read(`${CLOCK} ${this.query('ledger')}`);
    const clock = this.take(clocks[0]);
    const reading = {t: this.now, ticks: Number(clock.ms_ticks), start: clock.start_ticks, leaves: new Map()};
    for (const row of rows) reading.leaves.set(`${row.category} ${row.name}`, [row.category, row.name, Number(row.wall_ns), Number(row.occurrences)]);
    const before = this.last;
    this.last = reading;
    if (before && before.start !== reading.start) this.restarted();
    else if (before && reading.ticks > before.ticks) this.push(before, reading);
    const oldest = this.now - KEPT_MS;
    while (this.points.length && this.points[0].t < oldest) this.points.shift();
  }

  push(before, after) {
    const seconds = (after.ticks - before.ticks) / 1000;
    // A page that was hidden has read nothing: that time is a gap.
    if (seconds > 30) { this.points.push({t: after.t}); return; }
    const values = CATEGORIES.map(() => 0);
    const leaves = [];
    let idle = 0;
    for (const [key, [category, name, ns, entries]] of after.leaves) {
      const earlier = before.leaves.get(key);
      const active = Math.max(0, ns - (earlier?.[2] ?? 0)) / 1e9 / seconds;
      const at = CATEGORIES.indexOf(category);
      if (at >= 0) values[at] += active; else idle += active;
      if (at >= 0 && active > 0) leaves.push({category, name, active, entries: Math.max(0, entries - (earlier?.[3] ?? 0)) / seconds});
    }
    this.leaves = leaves.sort((a, b) => b.active - a.active);
    this.points.push({t: after.t, seconds, values, idle});
  }

  /** The server was started again: nothing before can be subtracted. */
  restarted() {
    this.points.push({t: this.now});
    this.topics.clear();
  }

  /** The server did not answer. */
  interrupted() {
    if (this.last) this.points.push({t: this.now + 1});
    this.last = null;
  }

  /** Keeps a reading of a topic. */
  keep(topic, value) {
    if (!this.topics.has(topic)) this.topics.set(topic, []);
    const kept = this.topics.get(topic);
    kept.push({t: this.now, value});
    while (kept.length && kept[0].t < this.now - KEPT_MS) kept.shift();
    if (kept.length > 4000) kept.splice(1, 1);
  }

  /** When a topic was read last. */
  age(topic) {
    const kept = this.topics.get(topic);
    return kept?.length ? this.now - kept[kept.length - 1].t : Infinity;
  }

  all(topic) {
    return this.topics.get(topic) || [];
  }

  /** Two readings of a topic that bound the window, or the last two at least `ms` apart; null if there are none. */
  pair(topic, ms) {
    const kept = this.all(topic);
    if (kept.length < 2) return null;
    if (!state.window) {
      const after = kept[kept.length - 1];
      const before = [...kept].reverse().find(one => one.t <= after.t - ms) || kept[0];
      return before === after ? null : {before, after};
    }
    const nearest = t => kept.reduce((best, one) => (Math.abs(one.t - t) < Math.abs(best.t - t) ? one : best));
    const [before, after] = [nearest(state.window[0]), nearest(state.window[1])];
    return before.t < after.t ? {before, after} : null;
  }

  /** The window, or the last minutes. */
  range(minutes) {
    return [this.now - minutes * 60000, this.now];
  }
}

export const recorder = new Recorder();

/** A time of the server as milliseconds. */
export function moment(text) {
  return Date.parse(String(text).replace(' ', 'T').slice(0, 23) + 'Z');
}

/** A moment as a literal of the server. */
export function literalTime(ms) {
  return `'${new Date(ms).toISOString().slice(0, 23)}'`;
}

/** Declares @from and @to, the window, for a query that uses them. */
export function windowed(query) {
  if (!/@(from|to)\b/i.test(query)) return query;
  const [from, to] = state.window || [recorder.now - 10000, null];
  return `DECLARE @from datetime2(7) = ${literalTime(from)}, @to datetime2(7) = ${to ? literalTime(to) : 'NULL'}; ${query}`;
}
