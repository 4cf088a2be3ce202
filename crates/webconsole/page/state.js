// What is shown: the screen, the window of time, the filter. It lives in the address, so that a link keeps it.

export const state = {screen: 'time', window: null, filter: '', query: '', frozen: false, interval: 1000, schedulers: 1};

/** Called when the address changes. */
const listeners = new Set();
export const onChange = listener => listeners.add(listener);

/** Reads the address. */
export function load() {
  const [screen, rest] = location.hash.slice(1).split('?');
  const parts = new URLSearchParams(rest || '');
  state.screen = screen || 'time';
  state.filter = parts.get('filter') || '';
  state.query = parts.get('sql') || '';
  const [from, to] = (parts.get('window') || '').split('-').map(Number);
  state.window = from > 0 && to > from ? [from, to] : null;
}

/** The address of a screen with the present window and filter. */
export function link(screen, more = {}) {
  const parts = new URLSearchParams();
  if (state.window) parts.set('window', state.window.map(Math.round).join('-'));
  if (state.filter) parts.set('filter', state.filter);
  for (const [key, value] of Object.entries(more)) parts.set(key, value);
  const rest = parts.toString();
  return `#${screen}${rest ? `?${rest}` : ''}`;
}

/** Changes window or filter, and the address with them. */
export function change(changes) {
  Object.assign(state, changes);
  history.replaceState(null, '', link(state.screen, state.screen === 'query' && state.query ? {sql: state.query} : {}));
  listeners.forEach(listener => listener());
}

addEventListener('hashchange', () => {
  if (location.hash === '#main') return;
  load();
  listeners.forEach(listener => listener());
});
