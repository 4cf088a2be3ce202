// A table that sorts by its headers and shows the rows that have the filter's text.
import {h, replace, number} from './dom.js';
import {state} from './state.js';

const ROWS_MAX = 300, COLUMNS_MAX = 6;

/** Makes a table: `columns` are {name, title, kind: 'n'|'text'|'wrap'|undefined, class, show, value}; `options` are caption, sort, key, row. */
export class Table {
  constructor(columns, options = {}) {
    this.columns = columns;
    this.options = options;
    this.sort = options.sort ?? null;
    this.descending = options.descending ?? true;
    this.rows = [];
    this.body = h('tbody');
    this.caption = h('span', {}, options.caption || '');
    this.heads = columns.map((column, at) => h('th', {scope: 'col', class: classes(column)},
      column.fixed ? column.title : h('button', {type: 'button', onclick: () => this.sortBy(at)}, column.title ?? column.name)));
    this.element = h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': options.caption || 'Rows'},
      h('table', {}, h('caption', {}, this.caption), h('thead', {}, h('tr', {}, this.heads)), this.body));
  }

  sortBy(at) {
    this.descending = this.sort === at ? !this.descending : this.columns[at].kind === 'n';
    this.sort = at;
    this.draw();
  }

  /** Shows other rows. */
  set(rows) {
    this.rows = rows;
    this.draw();
  }

  value(column, row) {
    return column.value ? column.value(row) : row[column.name];
  }

  draw() {
    const filter = state.filter.toLowerCase();
    const has = row => this.columns.some(column => String(this.value(column, row) ?? '').toLowerCase().includes(filter));
    let rows = filter ? this.rows.filter(has) : this.rows.slice();
    const by = this.columns[this.sort];
    if (by) {
      const sign = this.descending ? -1 : 1;
      const order = by.kind === 'n'
        ? (a, b) => Number(this.value(by, a) ?? -Infinity) - Number(this.value(by, b) ?? -Infinity)
        : (a, b) => String(this.value(by, a) ?? '').localeCompare(String(this.value(by, b) ?? ''));
      rows.sort((a, b) => sign * order(a, b));
    }
    this.heads.forEach((head, at) => {
      if (at === this.sort) head.setAttribute('aria-sort', this.descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    const left = rows.length - ROWS_MAX;
    rows = rows.slice(0, ROWS_MAX);
    this.caption.textContent = [this.options.caption, left > 0 ? `${left} more rows are not shown` : ''].filter(Boolean).join('; ');
    replace(this.body, rows.length ? rows.map(row => this.line(row)) : [h('tr', {}, h('td', {colspan: this.columns.length, class: 'dim'}, this.options.empty || 'No rows.'))]);
  }

  line(row) {
    return h('tr', {class: this.options.row?.(row)}, this.columns.map(column => {
      const value = this.value(column, row);
      const shown = column.show ? column.show(value, row) : value === null || value === undefined ? '' : column.kind === 'n' ? number(Number(value)) : String(value);
      if (column.kind === 'wrap') return h('td', {class: 'wrap'}, shown);
      if (column.kind === 'text') return h('td', {class: 'text'}, h('div', {}, shown));
      return h('td', {class: classes(column)}, shown);
    }));
  }
}

/** The classes of a column's cells; null for none. */
const classes = column => [column.kind === 'n' ? 'n' : null, column.class].filter(Boolean).join(' ') || null;

const NUMBERS = /int|decimal|numeric|float|real|money/;

/** One row of many columns is read from top to bottom. */
function record(row, columns, caption) {
  const lines = columns.map((column, at) => h('tr', {}, h('th', {scope: 'row'}, column.name || `column${at + 1}`), h('td', {class: 'wrap'}, row[column.name || `column${at + 1}`] ?? '')));
  const element = h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption || 'One row'}, h('table', {class: 'narrow'}, caption ? h('caption', {}, h('span', {}, caption)) : null, h('tbody', {}, lines)));
  return {element};
}

/** Makes a table for the rows of any result. */
export function tableOf(rows, caption) {
  if (rows.length === 1 && (rows.columns || []).length > COLUMNS_MAX) return record(rows[0], rows.columns, caption);
  const columns = (rows.columns || []).map((column, at) => {
    const name = column.name || `column${at + 1}`;
    const kind = NUMBERS.test(column.type) ? 'n' : rows.some(row => String(row[name] ?? '').length > 60) ? 'text' : undefined;
    return {name, kind, show: kind === 'n' ? value => (value === null ? '' : String(value)) : undefined};
  });
  const table = new Table(columns, {caption});
  table.set(rows);
  table.element.firstChild.classList.add('narrow');
  return table;
}
