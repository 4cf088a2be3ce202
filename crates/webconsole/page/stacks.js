// Stacks: a flame graph of CPU time, waits or allocations, from the sampler's views; a difference of two times.
import {h, replace, number, bytes, duration, clock} from './dom.js';
import {read} from './api.js';
import {recorder} from './recorder.js';
import {state} from './state.js';

const KINDS = {
  flame_cpu: {title: 'CPU', show: value => `${number(value)} samples`},
  flame_waits: {title: 'Waits', show: value => duration(value / 1e6)},
  flame_allocations: {title: 'Allocations', show: bytes},
};
const ROW = 20, STACKS_AT_ONCE = 150, SHARE_MIN = 0.002, FRAMES_MAX = 1500;
const texts = new Map();

export class StacksScreen {
  constructor() {
    this.kind = 'flame_cpu';
    this.zoom = null;
    this.base = null;
    this.find = '';
    this.kinds = h('span', {class: 'bar'}, Object.entries(KINDS).map(([kind, {title}]) => h('button', {type: 'button', 'data-kind': kind, onclick: () => { this.kind = kind; this.zoom = this.base = null; this.shown = null; this.read().then(() => this.draw()); }}, title)));
    this.baseButton = h('button', {type: 'button', onclick: () => { this.base = this.base ? null : this.current(); this.shown = null; this.draw(); }});
    this.all = h('button', {type: 'button', 'aria-pressed': 'false', onclick: () => { this.total = !this.total; this.all.setAttribute('aria-pressed', String(this.total)); this.shown = null; this.draw(); }}, 'Since the start');
    this.reset = h('button', {type: 'button', id: 'flame-reset', hidden: true, onclick: () => { this.zoom = null; this.shown = null; this.draw(); this.reset.hidden = true; }}, 'Whole graph');
    this.search = h('input', {type: 'search', 'aria-label': 'Mark functions', placeholder: 'Mark functions', oninput: () => { this.find = this.search.value.toLowerCase(); this.mark(); }});
    this.note = h('p', {class: 'dim'});
    this.flame = h('div', {class: 'flame', role: 'group', 'aria-label': 'Flame graph; arrows move, Enter zooms, Escape goes back', onkeydown: event => this.key(event)});
    this.details = h('p', {role: 'status', class: 'readout'});
    this.element = h('section', {class: 'panel'}, h('div', {class: 'bar'}, h('h2', {}, 'Stacks'), this.kinds, this.all, this.baseButton, this.reset, this.search), this.note, this.details, this.flame);
  }

  async read() {
    const topic = this.kind;
    if (recorder.age(topic) < 4500) return;
    const [rows] = await read(recorder.query(topic));
    recorder.keep(topic, new Map(rows.map(row => [row.stack_id, Number(row.value)])));
    const missing = [...recorder.all(topic).at(-1).value.keys()].filter(id => !texts.has(id));
    for (let at = 0; at < missing.length && at < 1200; at += STACKS_AT_ONCE) {
      const ids = missing.slice(at, at + STACKS_AT_ONCE).map(id => `(${Number(id)})`).join(',');
      const [found] = await read(`SELECT i.id, t.stack_text FROM (VALUES ${ids}) AS i (id) CROSS APPLY sys.fn_stack_text(i.id) AS t;`);
      for (const row of found) texts.set(row.id, frames(row.stack_text));
    }
    this.shown = null;
  }

  /** Weights of stacks: since the start, or between two readings. */
  current() {
    const kept = recorder.all(this.kind);
    const last = kept.at(-1);
    if (!last) return null;
    if (this.total) return {weights: last.value, what: 'since the server started'};
    const pair = recorder.pair(this.kind, 4000);
    if (!pair) return null;
    const weights = new Map();
    const first = state.window ? pair.before : kept[Math.max(0, kept.length - 7)];
    for (const [id, value] of pair.after.value) if (value > (first.value.get(id) ?? 0)) weights.set(id, value - (first.value.get(id) ?? 0));
    return {weights, what: `${clock(first.t)} to ${clock(pair.after.t)}`};
  }

  draw() {
    for (const button of this.kinds.children) button.setAttribute('aria-pressed', String(button.dataset.kind === this.kind));
    this.baseButton.textContent = this.base ? 'Forget the base' : 'Take as base';
    this.baseButton.setAttribute('aria-pressed', String(Boolean(this.base)));
    // A picture that moves under the pointer cannot be read: it changes only when it is not looked into.
    if (this.shown && (this.zoom || this.flame.contains(document.activeElement) || this.shown === recorder.all(this.kind).length)) return;
    const current = this.current();
    if (!current) {
      replace(this.note, state.window ? 'There are no two readings of stacks in the window: they are taken while this screen is open.' : 'The second reading is awaited; "Since the start" shows what there is.');
      replace(this.flame);
      return;
    }
    this.shown = recorder.all(this.kind).length;
    this.root = merge(current.weights);
    this.baseRoot = this.base && merge(this.base.weights);
    replace(this.note, `${KINDS[this.kind].title}, ${current.what}: ${KINDS[this.kind].show(this.root.value)}.${this.base ? ` Against ${this.base.what}: red has a larger share than before, blue a smaller one.` : ''} A box is as wide as its share, below the function that called it.`);
    this.paint();
  }

  paint() {
    const top = this.zoom || this.root;
    const boxes = [];
    let depth = 0;
    // Level by level, so that the limit cuts off depth and not whole branches.
    const open = top.value > 0 ? [[top, 0, 1, 0]] : [];
    for (let next = 0; next < open.length && boxes.length < FRAMES_MAX; next += 1) {
      const [frame, left, width, level] = open[next];
      depth = Math.max(depth, level);
      boxes.push(this.box(frame, left, width, level, this.baseRoot && find(this.baseRoot, frame), top));
      let at = left;
      for (const child of [...frame.children.values()].sort((a, b) => b.value - a.value)) {
        const share = width * child.value / frame.value;
        if (share >= SHARE_MIN) open.push([child, at, share, level + 1]);
        at += share;
      }
    }
    replace(this.flame, boxes);
    this.flame.style.setProperty('height', `${(depth + 1) * ROW}px`);
    if (boxes[0]) boxes[0].tabIndex = 0;
    this.mark();
  }

  box(frame, left, width, level, before, top) {
    const share = 100 * frame.value / this.root.value;
    const label = `${frame.name}: ${KINDS[this.kind].show(frame.value)}, ${share.toFixed(1)} %`;
    const button = h('button', {type: 'button', tabindex: '-1', title: label, 'aria-label': label, 'data-name': frame.name.toLowerCase(),
      style: {left: `${100 * left}%`, width: `${100 * width}%`, top: `${level * ROW}px`, background: this.ink(frame, before)},
      onclick: () => { this.zoom = frame === top && this.zoom ? frame.parent === this.root ? null : frame.parent : frame === this.root ? null : frame; this.reset.hidden = !this.zoom; this.paint(); this.flame.firstChild?.focus(); },
      onfocus: () => { this.details.textContent = label; }, onpointerenter: () => { this.details.textContent = label; }}, width > 0.03 ? frame.name : '');
    button.frame = frame;
    return button;
  }

  ink(frame, before) {
    if (this.base) {
      const change = frame.value / this.root.value - (before && this.baseRoot.value ? before.value / this.baseRoot.value : 0);
      const strength = Math.min(1, Math.abs(change) * 8);
      return change >= 0 ? `hsl(20 90% ${94 - 26 * strength}%)` : `hsl(210 90% ${94 - 22 * strength}%)`;
    }
    let hash = 0;
    for (const letter of frame.name) hash = (hash * 31 + letter.charCodeAt(0)) % 997;
    return `hsl(${28 + hash % 22} ${70 + hash % 20}% ${72 + hash % 9}%)`;
  }

  mark() {
    for (const box of this.flame.children) box.classList.toggle('found', this.find !== '' && box.dataset.name.includes(this.find));
  }

  key(event) {
    if (event.key === 'Escape' && this.zoom) { event.stopPropagation(); this.reset.click(); return; }
    const here = document.activeElement.frame;
    if (!here || !event.key.startsWith('Arrow')) return;
    const of = frame => [...this.flame.children].find(box => box.frame === frame);
    const children = frame => [...frame.children.values()].sort((a, b) => b.value - a.value);
    const siblings = here.parent ? children(here.parent) : [here];
    const at = siblings.indexOf(here);
    const next = {ArrowDown: children(here)[0], ArrowUp: here.parent, ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1]}[event.key];
    const target = next && of(next);
    if (target) { event.preventDefault(); document.activeElement.tabIndex = -1; target.tabIndex = 0; target.focus(); }
  }
}

/** Frames of Rust's runtime, which call every function: they only make the picture deeper. */
const RUNTIME = /^(__rust_try|libc\.so|core::ops::function|<?(core|std)::panic|std::(panic|panicking|sys::backtrace|thread|sys::thread)|<std::sys::thread|<alloc::boxed::Box<.*> as core::ops::function)/;

/** The functions of a stack, outermost first, without module and offset. */
function frames(text) {
  const all = String(text || '').split('\n').map(line => line.trim().replace(/^[^!]*!/, '').replace(/\+0x[0-9a-f]+$/i, '')).filter(Boolean).reverse();
  const own = all.filter(name => !RUNTIME.test(name));
  return own.length ? own : all;
}

/** The frame at the same place of another tree. */
function find(root, frame) {
  if (!frame.parent) return root;
  return find(root, frame.parent)?.children.get(frame.name);
}

/** Stacks with common callers as one tree. */
function merge(weights) {
  const root = {name: 'all', value: 0, children: new Map(), parent: null};
  for (const [id, value] of weights) {
    const names = texts.get(id) || ['(not resolved)'];
    root.value += value;
    let frame = root;
    for (const name of names) {
      if (!frame.children.has(name)) frame.children.set(name, {name, value: 0, children: new Map(), parent: frame});
      frame = frame.children.get(name);
      frame.value += value;
    }
  }
  return root;
}
