// A plan as a picture: operators as boxes, left to right from the result to its sources, made from showplan XML.
import {h, s, number, replace} from './dom.js';
import {read, literal} from './api.js';

const WIDTH = 190, HEIGHT = 62, GAP_X = 46, GAP_Y = 14;
// The page allows only this one use of text as markup; XML that is parsed is never put into the page.
const policy = globalThis.trustedTypes?.createPolicy('xml', {createHTML: text => text});

/** Parses XML into a document that is in no page. */
export function parseXml(text) {
  const xml = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'application/xml');
  if (xml.querySelector('parsererror')) throw new Error('The XML is broken.');
  return xml;
}

/** Shows the plan of a cached statement in a dialog. */
export async function showPlan(handle, start, end) {
  let text, error;
  try {
    const [rows] = await read(`SELECT query_plan FROM sys.dm_exec_text_query_plan(${/^0x[0-9a-f]+$/i.test(handle) ? handle : literal(handle)}, ${Number(start) || 0}, ${Number(end ?? -1)});`);
    text = rows[0]?.query_plan;
  } catch (caught) {
    error = caught.message;
  }
  open(text, error || 'The server does not have the plan any more.');
}

/** Shows showplan XML in a dialog. */
export function open(text, otherwise) {
  const picture = h('div', {});
  const xml = h('pre', {hidden: true, tabindex: '0'}, text || '');
  const close = h('button', {type: 'button', autofocus: true, onclick: () => dialog.close()}, 'Close');
  const dialog = h('dialog', {'aria-labelledby': 'plan-title', id: 'plan'},
    h('div', {class: 'bar'}, h('h2', {id: 'plan-title'}, 'Plan'), text ? h('button', {type: 'button', 'aria-pressed': 'false', onclick: event => {
      xml.hidden = !xml.hidden; picture.hidden = !xml.hidden; event.currentTarget.setAttribute('aria-pressed', String(!xml.hidden));
    }}, 'XML') : null, close), picture, xml);
  if (text) replace(picture, ...draw(text)); else replace(picture, h('p', {}, otherwise));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** The picture of each statement of a plan. */
export function draw(text) {
  const statements = [...parseXml(text).querySelectorAll('[StatementText]')];
  const drawn = statements.map(statement => {
    const head = [...statement.querySelectorAll('RelOp')].find(one => !one.parentElement.closest('RelOp'));
    return [h('pre', {}, (statement.getAttribute('StatementText') || '').trim().slice(0, 400)), head ? picture(node(head)) : h('p', {class: 'dim'}, 'This statement has no operators.')];
  }).flat();
  return drawn.length ? drawn : [h('p', {}, 'The plan has no statements.')];
}

/** An operator and those below it. */
function node(op) {
  const children = [...op.querySelectorAll('RelOp')].filter(one => one.parentElement.closest('RelOp') === op).map(node);
  const own = [...op.querySelectorAll('Object')].find(one => one.closest('RelOp') === op);
  const cost = Number(op.getAttribute('EstimatedTotalSubtreeCost')) || 0;
  const rest = children.reduce((all, child) => all + child.cost, 0);
  const actual = [...op.querySelectorAll('RunTimeCountersPerThread')].filter(one => one.closest('RelOp') === op).reduce((all, one) => all + Number(one.getAttribute('ActualRows') || 0), 0);
  const bare = name => (own?.getAttribute(name) || '').replace(/[[\]]/g, '');
  return {name: op.getAttribute('PhysicalOp') || '', logical: op.getAttribute('LogicalOp') || '', rows: Number(op.getAttribute('EstimateRows')) || 0, actual, cost, own: Math.max(0, cost - rest), children,
    object: [bare('Table'), bare('Index')].filter(Boolean).join('.'), attributes: [...op.attributes].map(one => `${one.name} = ${one.value}`)};
}

function place(item, depth, at) {
  item.depth = depth;
  if (!item.children.length) { item.row = at.row; at.row += 1; return; }
  item.children.forEach(child => place(child, depth + 1, at));
  item.row = item.children[0].row;
}

function picture(root) {
  const at = {row: 0};
  place(root, 0, at);
  const all = [];
  const walk = item => { all.push(item); item.children.forEach(walk); };
  walk(root);
  const total = root.cost || 1;
  const x = item => 4 + item.depth * (WIDTH + GAP_X), y = item => 4 + item.row * (HEIGHT + GAP_Y);
  const details = h('pre', {class: 'dim', role: 'status'}, 'Choose an operator to see its properties.');
  const width = 8 + Math.max(...all.map(x)) + WIDTH, height = 8 + at.row * (HEIGHT + GAP_Y);
  const svg = s('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `Plan of ${all.length} operators`});
  for (const item of all) for (const child of item.children) {
    const [x1, y1, x2, y2] = [x(item) + WIDTH, y(item) + HEIGHT / 2, x(child), y(child) + HEIGHT / 2];
    svg.append(s('path', {d: `M${x2} ${y2}H${(x1 + x2) / 2}V${y1}H${x1}`, 'stroke-width': Math.min(9, 1 + Math.log10(1 + (child.actual || child.rows))).toFixed(1)}));
  }
  for (const item of all) {
    const share = 100 * item.own / total;
    const lines = [[item.name, ''], [cut(item.object || (item.logical !== item.name ? item.logical : ''), 28), 'dim'], [`${share.toFixed(0)} % of cost, ${number(item.rows)} rows${item.actual ? `, ${number(item.actual)} actual` : ''}`, 'dim']];
    const show = () => { details.textContent = [item.name, item.object, ...item.attributes].filter(Boolean).join('\n'); };
    svg.append(s('g', {transform: `translate(${x(item)} ${y(item)})`, tabindex: '0', role: 'button', class: share >= 40 && all.length > 1 ? 'hot' : null,
      'aria-label': `${item.name} ${item.object}, ${share.toFixed(0)} percent of cost, ${number(item.rows)} rows`, onclick: show, onfocus: show},
    s('rect', {width: WIDTH, height: HEIGHT, rx: 5}), lines.map(([line, kind], i) => s('text', {x: 8, y: 18 + 17 * i, class: kind || null, 'font-weight': i ? null : '600'}, line))));
  }
  return h('div', {}, h('div', {class: 'plan', tabindex: '0', role: 'region', 'aria-label': 'Picture of the plan'}, svg), details);
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}\u2026` : text);
