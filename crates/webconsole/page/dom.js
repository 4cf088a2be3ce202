// Elements from calls: h('td', {class: 'n'}, 'text'). Text is always set as text, so that nothing from the server is markup.

/** Makes an element. Attributes that begin with "on" are listeners; `style` is an object. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** As `h`, for SVG. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, to] of Object.entries(value)) element.style.setProperty(key, to);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replaces the children of an element, and keeps the focus on the one with the same `data-key`. */
export function replace(parent, ...children) {
  const active = document.activeElement;
  const key = parent.contains(active) ? active.getAttribute('data-key') : null;
  const scrolls = [...parent.querySelectorAll('.scroll')].map(box => [box.scrollTop, box.scrollLeft]);
  parent.replaceChildren(...children.flat(Infinity).filter(Boolean));
  [...parent.querySelectorAll('.scroll')].forEach((box, at) => { if (scrolls[at]) [box.scrollTop, box.scrollLeft] = scrolls[at]; });
  if (key !== null) parent.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({preventScroll: true});
}

/** The colour of a name in the style sheet. */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A number for people: four digits at most. */
export function number(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return '';
  if (size >= 1e9) return (value / 1e9).toFixed(2) + ' G';
  if (size >= 1e6) return (value / 1e6).toFixed(2) + ' M';
  if (size >= 1e4) return (value / 1e3).toFixed(1) + ' k';
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  if (size >= 1) return value.toFixed(2);
  return size >= 0.0005 || size === 0 ? value.toFixed(3) : value.toExponential(1);
}

/** Bytes for people. */
export function bytes(value) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${unit && Math.abs(value) < 100 ? value.toFixed(1) : value.toFixed(0)} ${units[unit]}`;
}

/** A value in a unit of a panel. */
export function inUnit(value, unit) {
  if (unit === 'bytes') return bytes(value);
  return unit ? `${number(value)} ${unit}` : number(value);
}

/** Milliseconds for people. */
export function duration(ms) {
  if (ms === null || ms === undefined || ms < 0) return '';
  if (ms < 10000) return `${number(ms)} ms`;
  if (ms < 600000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 36000000) return `${(ms / 60000).toFixed(1)} min`;
  return `${(ms / 3600000).toFixed(1)} h`;
}

/** The time of day of a moment of the server. */
export function clock(ms) {
  return new Date(ms).toISOString().slice(11, 19);
}
