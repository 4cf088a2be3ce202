// Events: what the event sessions with a ring buffer have collected, newest first, as it comes.
import {h, replace, clock} from './dom.js';
import {read, literal} from './api.js';
import {recorder, moment} from './recorder.js';
import {state} from './state.js';
import {parseXml} from './plan.js';

const SHOWN_MAX = 300;

export class EventsScreen {
  constructor() {
    this.session = null;
    this.events = [];
    this.choice = h('select', {onchange: () => { this.session = this.choice.value; this.events = []; this.read(true).then(() => this.draw()); }});
    this.names = h('select', {onchange: () => this.draw()}, h('option', {value: ''}, 'all events'));
    this.note = h('p', {class: 'dim'});
    this.list = h('div', {class: 'scroll', tabindex: '0', role: 'log', 'aria-live': 'off', 'aria-label': 'Events, newest first'});
    this.element = h('section', {class: 'panel'}, h('div', {class: 'bar'}, h('h2', {}, 'Events'), h('label', {}, 'Session ', this.choice), h('label', {}, 'Event ', this.names)), this.note, this.list);
  }

  async read(now) {
    // A large ring buffer takes the server a while: it is read less often.
    if (!now && performance.now() < (this.next ?? 0)) return;
    const began = performance.now();
    await this.readNow();
    this.next = performance.now() + Math.max(1900, 50 * (performance.now() - began));
  }

  async readNow() {
    const [sessions] = await read(recorder.query('event_sessions'));
    this.sessions = sessions;
    const names = sessions.map(row => row.name);
    if (!names.includes(this.session)) this.session = names.find(name => name !== 'system_health') ?? names[0] ?? null;
    if (!this.session) return;
    // The target is read only when it has more events than the last time.
    const {event_count: count} = sessions.find(row => row.name === this.session);
    const key = `${this.session} ${count}`;
    if (key === this.key) return;
    this.key = key;
    const [rows] = await read(`DECLARE @session nvarchar(256) = ${literal(this.session)}; ${recorder.query('events')}`);
    if (rows[0]?.target_data) this.events = [...parseXml(rows[0].target_data).querySelectorAll('RingBufferTarget > event')].map(eventOf).reverse();
  }

  draw() {
    const names = (this.sessions || []).map(row => row.name);
    if (this.choice.dataset.names !== names.join()) {
      this.choice.dataset.names = names.join();
      replace(this.choice, names.map(name => h('option', {value: name}, name)));
    }
    if (this.session) this.choice.value = this.session;
    const kinds = [...new Set(this.events.map(event => event.name))].sort();
    if (this.names.dataset.names !== kinds.join()) {
      const before = this.names.value;
      this.names.dataset.names = kinds.join();
      replace(this.names, h('option', {value: ''}, 'all events'), kinds.map(name => h('option', {value: name}, name)));
      this.names.value = kinds.includes(before) ? before : '';
    }
    const filter = state.filter.toLowerCase();
    const fits = event => (!this.names.value || event.name === this.names.value) && (!filter || event.text.includes(filter) || event.name.includes(filter)) && (!state.window || (event.t >= state.window[0] && event.t <= state.window[1]));
    const shown = this.events.filter(fits);
    replace(this.note, this.session ? `${shown.length} of ${this.events.length} events in the ring buffer of ${this.session}${shown.length > SHOWN_MAX ? `; the newest ${SHOWN_MAX} are shown` : ''}.` : !this.sessions ? 'Reading.' : 'No event session with a ring buffer runs. CREATE EVENT SESSION makes one: docs/investigate.md.');
    const key = `${this.key} ${shown.length} ${this.names.value} ${filter}`;
    if (this.drawn === key) return;
    this.drawn = key;
    replace(this.list, shown.slice(0, SHOWN_MAX).map(event => h('div', {class: 'event'}, h('span', {class: 'dim'}, clock(event.t)), ' ', h('strong', {}, event.name), h('div', {class: 'fields'}, event.fields.map(([name, value]) => `${name}=${value.length > 300 ? `${value.slice(0, 300)}\u2026` : value}`).join('  ')))));
  }
}

function eventOf(element) {
  const fields = [...element.querySelectorAll(':scope > data, :scope > action')].map(part => [part.getAttribute('name'), (part.querySelector('text')?.textContent || part.querySelector('value')?.textContent || '').trim()]);
  // Events have UTC; the console's times are the server's own.
  const t = moment(element.getAttribute('timestamp')) + recorder.offset;
  return {name: element.getAttribute('name'), t, fields, text: fields.map(pair => pair.join('=')).join(' ').toLowerCase()};
}
