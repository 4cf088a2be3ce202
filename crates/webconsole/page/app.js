// The console: login, the frame around the screens, and the loop that reads.
import {h, replace, clock} from './dom.js';
import {me, login, logout, hooks} from './api.js';
import {state, load, link, change, onChange} from './state.js';
import {recorder} from './recorder.js';
import {TimeScreen} from './time.js';
import {NowScreen} from './now.js';
import {StatementsScreen} from './statements.js';
import {StacksScreen} from './stacks.js';
import {PanelScreen} from './panels.js';
import {EventsScreen} from './events.js';
import {VerdictScreen} from './verdict.js';
import {QueryScreen} from './query.js';

const SCREENS = [
  ['time', 'Time', () => new PanelScreen('time', new TimeScreen())], ['now', 'Now', () => new PanelScreen('now', new NowScreen())],
  ['statements', 'Statements', () => new PanelScreen('statements', new StatementsScreen())], ['stacks', 'Stacks', () => new PanelScreen('stacks', new StacksScreen())],
  ['waits', 'Locks and waits', () => new PanelScreen('waits')], ['memory', 'Memory', () => new PanelScreen('memory')],
  ['events', 'Events', () => new PanelScreen('events', new EventsScreen())], ['verdict', 'Verdict', () => new PanelScreen('verdict', new VerdictScreen())],
  ['log', 'Log and recovery', () => new PanelScreen('log')], ['panels', 'Panels', () => new PanelScreen('panels')], ['query', 'Query', () => new QueryScreen()],
];
const STATEMENTS_EVERY_MS = 10000;
const at = id => document.getElementById(id);
const main = at('main');
let shown = null, screens = new Map(), timer = 0, running = false;

function say(text) {
  if (at('status').textContent !== text) at('status').textContent = text;
}

/** Shows the form for a login. */
function askLogin(sentence = '') {
  clearTimeout(timer);
  running = false;
  [at('top').hidden, at('tabs').hidden, at('status').textContent] = [true, true, ''];
  const said = h('p', {class: 'alarm', role: 'alert'}, sentence);
  const user = h('input', {id: 'user', name: 'user', autocomplete: 'username', required: true, value: 'sa'});
  const password = h('input', {id: 'password', name: 'password', type: 'password', autocomplete: 'current-password', required: true});
  const go = h('button', {type: 'submit', class: 'primary'}, 'Log in');
  const form = h('form', {onsubmit: async event => {
    event.preventDefault();
    go.disabled = true;
    said.textContent = '';
    try {
      await enter(await login(user.value, password.value));
    } catch (error) {
      said.textContent = error.message;
      password.value = '';
      password.focus();
    }
    go.disabled = false;
  }}, h('label', {for: 'user'}, 'Login', user), h('label', {for: 'password'}, 'Password', password), go, said);
  replace(main, h('section', {class: 'panel login'}, h('h1', {id: 'login-title'}, h('span', {class: 'brand'}, 'Clearway'), ' console'), h('p', {class: 'dim'}, 'A login of the server with VIEW SERVER STATE.'), form));
  (user.value ? password : user).focus();
}

/** Begins after a login, with what the server said of itself. */
async function enter(who) {
  if (who.user === null) { askLogin(); return; }
  recorder.reset();
  const begun = recorder.begin();
  shown = null;
  screens = new Map();
  // The frame is laid out while the server answers.
  replace(main, h('p', {class: 'dim'}, 'Reading.'));
  at('server').textContent = `${who.server} ${who.version} as ${who.user}`;
  [at('top').hidden, at('tabs').hidden] = [false, false];
  frame();
  await begun;
  running = true;
  route();
  await loop();
}

/** Shows the screen that the address names. */
function route() {
  if (!running) return;
  const entry = SCREENS.find(([name]) => name === state.screen) ?? SCREENS[0];
  state.screen = entry[0];
  if (!screens.has(entry[0])) screens.set(entry[0], entry[2]());
  const screen = screens.get(entry[0]);
  if (shown !== screen) {
    shown = screen;
    replace(main, screen.element);
    document.title = `${entry[1]} - Clearway console`;
    schedule(0);
  }
  frame();
  draw();
}

function frame() {
  replace(at('tabs'), SCREENS.map(([name, title]) => h('a', {href: link(name), 'data-key': name, 'aria-current': name === state.screen ? 'page' : null}, title)));
  const filter = at('filter') || h('input', {id: 'filter', type: 'search', placeholder: 'Filter (/)', 'aria-label': 'Filter', oninput: event => change({filter: event.target.value})});
  if (document.activeElement !== filter) filter.value = state.filter;
  const [from, to] = state.window || [];
  at('window').replaceChildren(...[state.window ? h('button', {type: 'button', id: 'unselect', title: 'Back to now (Escape)', onclick: () => change({window: null})}, `${clock(from)} \u2013 ${clock(to)} \u00d7`) : null, filter].filter(Boolean));
  at('freeze').setAttribute('aria-pressed', String(state.frozen));
}

function draw() {
  if (running && shown) shown.draw();
}

function schedule(ms) {
  clearTimeout(timer);
  timer = setTimeout(loop, ms);
}

let looping = false;

/** Reads and draws, again and again. A page that is hidden or frozen reads nothing. */
async function loop() {
  if (!running || looping) return;
  clearTimeout(timer);
  if (document.hidden || state.frozen) { schedule(500); return; }
  looping = true;
  const began = performance.now();
  const screen = shown;
  try {
    await recorder.tick();
    draw();
    await screen.read();
    if (recorder.age('statements') >= STATEMENTS_EVERY_MS) await StatementsScreen.record();
    say('');
    draw();
  } catch (error) {
    if (running && error.status !== 401) {
      recorder.interrupted();
      say(error instanceof TypeError ? 'The server does not answer. The console tries again.' : error.message);
    }
  }
  looping = false;
  if (running) schedule(screen === shown ? Math.max(50, state.interval - (performance.now() - began)) : 0);
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  at('theme').textContent = {light: 'Light', dark: 'Dark'}[theme] ?? 'Theme';
  try { localStorage.setItem('theme', theme); } catch { /* A browser without storage forgets the choice. */ }
}

function freeze() {
  state.frozen = !state.frozen;
  frame();
  schedule(0);
}

document.addEventListener('keydown', event => {
  const typing = event.target.closest?.('input, textarea, select, dialog');
  if (typing || event.ctrlKey || event.metaKey || event.altKey || at('top').hidden) return;
  if (event.key === '/') { event.preventDefault(); at('filter')?.focus(); }
  else if (event.key === 'f') freeze();
  else if (event.key === 'Escape' && state.window) change({window: null});
  else if (event.key >= '1' && event.key <= '9') location.hash = link(SCREENS[Number(event.key) - 1][0]);
});

at('freeze').addEventListener('click', freeze);
at('interval').addEventListener('change', event => { state.interval = Number(event.target.value); schedule(0); });
at('theme').addEventListener('click', () => setTheme({light: 'dark', dark: ''}[document.documentElement.dataset.theme] ?? 'light'));
at('logout').addEventListener('click', async () => { running = false; await logout().catch(() => {}); askLogin('You have logged out.'); });
hooks.login = () => { if (running) askLogin('The visit has ended; log in again.'); };
onChange(() => { if (running) { route(); schedule(0); } });
load();
try { setTheme(localStorage.getItem('theme') || ''); } catch { /* As above. */ }
me().then(enter).catch(error => (error.status === 401 ? askLogin() : askLogin(error.message)));
