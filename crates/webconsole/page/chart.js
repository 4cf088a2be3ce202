// Charts on a canvas: areas that are stacked, or lines. A drag selects a window of time.
import {h, color, number, inUnit, clock} from './dom.js';

const LEFT = 52, RIGHT = 8, TOP = 8, BOTTOM = 20;

/** A chart. `options`: series [{name, color, hatch}], stacked, unit, limit() (a line), onSelect(window), low, label. */
export class Chart {
  constructor(options) {
    this.options = options;
    this.points = [];
    this.range = null;
    this.selection = null;
    this.cursor = null;
    this.drag = null;
    this.canvas = h('canvas', {'aria-hidden': 'true'});
    this.readout = h('div', {class: 'readout'});
    const keys = options.onSelect ? ' Left and right move, with Shift they select, Escape clears.' : ' Left and right move.';
    this.box = h('div', {class: options.low ? 'chart low' : 'chart', tabindex: '0', role: 'group', 'aria-label': options.label + '.' + keys,
      onkeydown: event => this.key(event)}, this.canvas);
    this.element = h('div', {}, this.box, this.readout);
    this.canvas.addEventListener('pointermove', event => this.move(event));
    this.canvas.addEventListener('pointerleave', () => { if (!this.drag) this.point(null); });
    if (options.onSelect) {
      this.canvas.addEventListener('pointerdown', event => this.down(event));
      this.canvas.addEventListener('pointerup', event => this.up(event));
      this.canvas.addEventListener('pointercancel', () => { this.drag = null; });
    }
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.box);
  }

  /** Shows other points: {t, values} oldest first; a point without values is a gap. */
  set(points, range, selection) {
    [this.points, this.range, this.selection] = [points, range, selection];
    this.draw();
  }

  x(t) { return LEFT + (t - this.range[0]) / (this.range[1] - this.range[0]) * (this.width - LEFT - RIGHT); }
  t(x) { return this.range[0] + (x - LEFT) / (this.width - LEFT - RIGHT) * (this.range[1] - this.range[0]); }
  y(value) { return this.height - BOTTOM - value / this.top * (this.height - TOP - BOTTOM); }

  nearest(t) {
    let best = null;
    for (const point of this.points) if (point.values && (!best || Math.abs(point.t - t) < Math.abs(best.t - t))) best = point;
    return best;
  }

  point(at) {
    this.cursor = at;
    const values = at?.values;
    this.readout.textContent = values
      ? `${clock(at.t)}  ` + this.options.series.map((line, i) => [line.name, values[i]]).filter(pair => pair[1] > 0.0005).map(([name, value]) => `${name} ${inUnit(value, this.options.unit)}`).join('   ')
      : '';
    this.draw();
  }

  down(event) {
    if (event.button !== 0 || !this.range) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = [event.offsetX, event.offsetX];
  }

  move(event) {
    if (!this.range) return;
    if (this.drag) this.drag[1] = event.offsetX;
    this.point(this.nearest(this.t(event.offsetX)));
  }

  up() {
    if (!this.drag) return;
    const [from, to] = this.drag.slice().sort((a, b) => a - b);
    this.drag = null;
    if (to - from > 4) this.options.onSelect([Math.max(this.range[0], this.t(from)), Math.min(this.range[1], this.t(to))]);
    else this.options.onSelect(null);
  }

  key(event) {
    const known = this.points.filter(point => point.values);
    if (event.key === 'Escape') this.options.onSelect?.(null);
    if (!['ArrowLeft', 'ArrowRight'].includes(event.key) || !known.length) return;
    event.preventDefault();
    const at = this.cursor ? known.indexOf(this.nearest(this.cursor.t)) : known.length - 1;
    const next = known[Math.max(0, Math.min(known.length - 1, at + (event.key === 'ArrowLeft' ? -1 : 1)))];
    if (event.shiftKey && this.options.onSelect) {
      this.anchor ??= known[at].t;
      if (this.anchor !== next.t) this.options.onSelect([Math.min(this.anchor, next.t), Math.max(this.anchor, next.t)]);
    } else this.anchor = null;
    this.point(next);
  }

  draw() {
    const ratio = devicePixelRatio || 1;
    [this.width, this.height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!this.width || !this.range) return;
    [this.canvas.width, this.canvas.height] = [this.width * ratio, this.height * ratio];
    const g = this.canvas.getContext('2d');
    g.scale(ratio, ratio);
    const limit = this.options.limit?.();
    this.top = niceTop(Math.max(limit ?? 0, ...this.points.filter(p => p.values && p.t >= this.range[0]).map(p => this.options.stacked ? sum(p.values) : Math.max(...p.values)), this.options.unit === 'bytes' ? 1024 : 0.01), this.options.unit);
    this.axes(g);
    if (this.options.stacked) this.areas(g); else this.lines(g);
    if (limit) this.limit(g, limit);
    this.marks(g);
  }

  axes(g) {
    g.font = '11px system-ui, sans-serif';
    g.strokeStyle = color('--grid');
    g.fillStyle = color('--dim');
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    for (let step = 0; step <= 4; step += 1) {
      const value = this.top * step / 4, y = Math.round(this.y(value)) + .5;
      g.beginPath(); g.moveTo(LEFT, y); g.lineTo(this.width - RIGHT, y); g.stroke();
      g.fillText(this.options.unit === 'bytes' ? inUnit(value, 'bytes') : number(value), LEFT - 5, y);
    }
    g.textAlign = 'center';
    const count = Math.max(2, Math.floor((this.width - LEFT) / 110));
    for (let step = 0; step <= count; step += 1) {
      const t = this.range[0] + (this.range[1] - this.range[0]) * step / count;
      g.textAlign = step === 0 ? 'left' : step === count ? 'right' : 'center';
      g.fillText(clock(t), this.x(t), this.height - 8);
    }
  }

  /** The runs of points without a gap. */
  runs() {
    const runs = [[]];
    for (const point of this.points) {
      if (point.values && point.t >= this.range[0] - 30000 && point.t <= this.range[1] + 1) runs[runs.length - 1].push(point);
      else if (runs[runs.length - 1].length) runs.push([]);
    }
    return runs.filter(run => run.length);
  }

  clip(g) {
    g.save();
    g.beginPath(); g.rect(LEFT, TOP - 4, this.width - LEFT - RIGHT, this.height - TOP - BOTTOM + 5); g.clip();
  }

  areas(g) {
    this.clip(g);
    for (const run of this.runs()) {
      const base = run.map(() => 0);
      this.options.series.forEach((line, at) => {
        const above = run.map((point, i) => base[i] + (point.values[at] || 0));
        g.beginPath();
        run.forEach((point, i) => { const before = i ? run[i - 1].t : point.t - (point.seconds || 1) * 1000; g.lineTo(this.x(before), this.y(above[i])); g.lineTo(this.x(point.t), this.y(above[i])); });
        for (let i = run.length - 1; i >= 0; i -= 1) { const before = i ? run[i - 1].t : run[i].t - (run[i].seconds || 1) * 1000; g.lineTo(this.x(run[i].t), this.y(base[i])); g.lineTo(this.x(before), this.y(base[i])); }
        g.closePath();
        g.fillStyle = line.hatch ? hatch(g, color(line.color)) : color(line.color);
        g.fill();
        above.forEach((value, i) => { base[i] = value; });
      });
    }
    g.restore();
  }

  lines(g) {
    this.clip(g);
    g.lineWidth = 1.6;
    for (const run of this.runs()) {
      this.options.series.forEach((line, at) => {
        g.strokeStyle = color(line.color);
        g.setLineDash(line.hatch ? [5, 3] : []);
        g.beginPath();
        run.forEach(point => { g.lineTo(this.x(point.t), this.y(point.values[at] || 0)); });
        g.stroke();
        if (run.length === 1) { g.fillStyle = color(line.color); g.fillRect(this.x(run[0].t) - 1.5, this.y(run[0].values[at] || 0) - 1.5, 3, 3); }
      });
    }
    g.setLineDash([]);
    g.restore();
  }

  limit(g, value) {
    const y = Math.round(this.y(value)) + .5;
    g.strokeStyle = g.fillStyle = color('--limit');
    g.setLineDash([7, 4]);
    g.lineWidth = 1.5;
    g.beginPath(); g.moveTo(LEFT, y); g.lineTo(this.width - RIGHT, y); g.stroke();
    g.setLineDash([]);
    g.textAlign = 'left';
    g.fillText(this.options.limitName(value), LEFT + 4, y - 8);
  }

  marks(g) {
    const chosen = this.drag && Math.abs(this.drag[1] - this.drag[0]) > 4 ? this.drag : this.selection?.map(t => this.x(t));
    if (chosen) {
      g.fillStyle = color('--sel');
      g.strokeStyle = color('--accent');
      const [from, to] = [Math.max(LEFT, Math.min(...chosen)), Math.min(this.width - RIGHT, Math.max(...chosen))];
      g.fillRect(from, TOP, to - from, this.height - TOP - BOTTOM);
      g.strokeRect(from + .5, TOP + .5, to - from, this.height - TOP - BOTTOM);
    }
    if (this.cursor?.values && this.cursor.t >= this.range[0]) {
      g.strokeStyle = color('--dim');
      const x = Math.round(this.x(this.cursor.t)) + .5;
      g.beginPath(); g.moveTo(x, TOP); g.lineTo(x, this.height - BOTTOM); g.stroke();
    }
  }
}

const sum = values => values.reduce((all, value) => all + (value || 0), 0);

/** The end of an axis of four parts, each of which is a short number. */
function niceTop(value, unit) {
  const scale = unit === 'bytes' ? 1024 ** Math.floor(Math.log2(value) / 10) : 1;
  const power = 10 ** Math.floor(Math.log10(value / scale));
  return scale * ([1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].map(step => step * power).find(step => step >= value / scale * 1.02) ?? 12 * power);
}

const patterns = new Map();

/** Stripes, so that a category can be told without its colour. */
function hatch(g, ink) {
  if (!patterns.has(ink)) {
    const tile = h('canvas', {width: 6, height: 6});
    const t = tile.getContext('2d');
    t.fillStyle = ink; t.globalAlpha = .45; t.fillRect(0, 0, 6, 6); t.globalAlpha = 1;
    t.strokeStyle = ink; t.lineWidth = 2;
    t.beginPath(); t.moveTo(-1, 7); t.lineTo(7, -1); t.moveTo(-1, 1); t.lineTo(1, -1); t.moveTo(5, 7); t.lineTo(7, 5); t.stroke();
    patterns.set(ink, g.createPattern(tile, 'repeat'));
  }
  return patterns.get(ink);
}

/** The order of colours for lines that have none of their own; they differ for the colour-blind. */
export const LINE_COLORS = ['--c-user', '--c-signal', '--c-foreign', '--c-wait', '--c-kernel', '--c-spin', '--c-runnable', '--c-dark'];
