// Runs the checks of spec.toml through tedious; an argument names the package of an older version.
//
// It reads its work as JSON on standard input and prints one JSON line per check.
import { readFileSync } from 'node:fs';

const { default: tedious } = await import(process.argv[2] ?? 'tedious');
const { Connection, Request, TYPES, ISOLATION_LEVEL } = tedious;
const work = JSON.parse(readFileSync(0, 'utf8'));
const CANCEL_MS_MAX = 1000;
const CHECK_MS_MAX = 30000;

// ---- promises around the driver's callbacks ---------------------------------------------------

function open({ password = work.password, database, strict = false, extra = {} } = {}) {
  const encryption = strict
    ? { encrypt: 'strict', cryptoCredentialsDetails: { ca: readFileSync(work.cert) }, serverName: 'localhost' }
    : { trustServerCertificate: true };
  const connection = new Connection({
    server: work.host,
    authentication: { type: 'default', options: { userName: work.user, password } },
    options: { port: work.port, database, requestTimeout: 60000, connectTimeout: 10000, ...encryption, ...extra },
  });
  return new Promise((resolve, reject) => {
    const tokens = [];
    connection.on('errorMessage', (token) => tokens.push(token.number));
    connection.connect((error) => (error ? reject(Object.assign(error, { tokens })) : resolve(connection)));
    connection.on('error', () => {}); // the promise of the running request reports it
  });
}

function close(connection) {
  return new Promise((resolve) => {
    connection.on('end', resolve);
    connection.close();
  });
}

// Runs a request; resolves to its result sets, OUTPUT values, return status and messages.
function run(connection, sql, { params = [], outputs = [], how = 'auto', start, prepared, values } = {}) {
  const sets = [];
  const out = {};
  let status;
  const messages = [];
  return new Promise((resolve, reject) => {
    const request = prepared ?? new Request(sql, () => {});
    request.userCallback = (error) => {
      connection.off('infoMessage', hear);
      if (error) reject(error);
      else resolve({ sets, out, status, messages });
    };
    const hear = (info) => messages.push(info);
    connection.on('infoMessage', hear);
    if (!prepared) {
      for (const [name, type, value, options] of params) request.addParameter(name, type, value, options);
      for (const [name, type, value, options] of outputs) request.addOutputParameter(name, type, value, options);
    }
    request.removeAllListeners('columnMetadata');
    request.on('columnMetadata', (columns) => sets.push({ columns: columns.map((c) => c.colName), rows: [] }));
    request.on('row', (columns) => sets.at(-1).rows.push(columns.map((c) => c.value)));
    request.on('returnValue', (name, value) => (out[name] = value));
    request.on('doneProc', (rows, more, returned) => (status = returned));
    if (prepared) connection.execute(request, values);
    else if (how === 'procedure') connection.callProcedure(request);
    else if (how === 'batch' || (params.length === 0 && outputs.length === 0)) connection.execSqlBatch(request);
    else connection.execSql(request);
    if (start) start(request);
  });
}

async function scalar(connection, sql, params) {
  const { sets } = await run(connection, sql, { params });
  return sets[0].rows[0][0];
}

class Failed extends Error {}

function equal(got, want, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) throw new Failed(`${what}: got ${a?.slice(0, 120)}, expected ${b?.slice(0, 120)}`);
}

// ---- the checks ------------------------------------------------------------------------------

const alone = {
  'connect-strict': async () => {
    const cn = await open({ strict: true });
    equal(await scalar(cn, "select N'strict'"), 'strict', 'select');
    await close(cn);
  },
  'wrong-password': () => refused(18456, { password: 'not it' }),
  'unknown-database': () => refused(4060, { database: 'no_such_database' }),
  commit: () => transaction('commitTransaction', 2),
  rollback: () => transaction('rollbackTransaction', 0),
};

const checks = {
  connect: async (cn) => {
    equal(await scalar(cn, 'select 1'), 1, 'select 1');
    const version = await scalar(cn, 'select @@version');
    if (!version.startsWith('Microsoft SQL Server')) throw new Failed(`@@version is ${version}`);
  },
  procedure: async (cn) => {
    await run(cn, work.sql['procedure-create'], { how: 'batch' });
    const { sets, out, status } = await run(cn, `p_${work.mark}`, {
      how: 'procedure',
      params: [['a', TYPES.Int, 21]],
      outputs: [['b', TYPES.NVarChar, 'in', { length: 50 }], ['c', TYPES.Int]],
    });
    await run(cn, work.sql['procedure-drop']);
    equal([sets.map((s) => s.rows), out, status], [[[[21]]], { b: 'in!', c: 42 }, 7], 'rows, outputs, status');
  },
  'two-results': async (cn) => {
    const { sets } = await run(cn, work.sql['two-results'], { how: 'batch' });
    equal(sets, [{ columns: ['a'], rows: [[1]] }, { columns: ['b', 'c'], rows: [['two', 3]] }], 'result sets');
  },
  'error-divide': (cn) => failing(cn, work.sql['error-divide'], 8134, 3),
  'error-duplicate': async (cn) => {
    await run(cn, 'create table #d (k int not null primary key)', { how: 'batch' });
    await run(cn, 'insert into #d values (1)', { how: 'batch' });
    await failing(cn, 'insert into #d values (1)', 2627, 1);
  },
  'error-object': (cn) => failing(cn, work.sql['error-object'], 208, 1, 'no_such_table'),
  'error-syntax': (cn) => failing(cn, work.sql['error-syntax'], 102, 2, "')'"),
  'error-raise': (cn) => failing(cn, work.sql['error-raise'], 50000, 1, 'bad luck 13', 3),
  messages: async (cn) => {
    const { messages } = await run(cn, work.sql.messages, { how: 'batch' });
    equal(messages.map((m) => [m.message, m.lineNumber]), [['hello print', 1], ['hello info 42', 2]], 'messages');
  },
  'cancel-wait': (cn) => cancelled(cn, work.sql['cancel-wait']),
  'cancel-loop': (cn) => cancelled(cn, work.sql['cancel-loop']),
  'pool-reset': async (cn) => {
    const spid = await scalar(cn, 'select @@spid');
    await run(cn, 'create table #pooled (a int)', { how: 'batch' });
    await run(cn, 'set lock_timeout 1234', { how: 'batch' });
    await run(cn, 'begin transaction', { how: 'batch' });
    await new Promise((resolve, reject) => cn.reset((error) => (error ? reject(error) : resolve())));
    equal(await scalar(cn, 'select @@spid'), spid, '@@spid');
    equal(await scalar(cn, 'select @@trancount'), 0, '@@trancount');
    equal(await scalar(cn, "select object_id('tempdb..#pooled')"), null, 'the temp table');
    equal(await scalar(cn, 'select @@lock_timeout'), -1, '@@lock_timeout');
    // The driver sends its own SET TRANSACTION ISOLATION LEVEL READ COMMITTED with the reset.
    const level = 'select transaction_isolation_level from sys.dm_exec_sessions where session_id = @@spid';
    equal(await scalar(cn, level), 2, 'isolation level');
  },
  thousand: async (cn) => {
    for (let n = 0; n < 1000; n++) {
      const got = n % 2
        ? await scalar(cn, `select ${n}`)
        : await scalar(cn, 'select cast(@n as int)', [['n', TYPES.Int, n]]);
      equal(got, n, 'statement');
    }
  },
  prepared: async (cn) => {
    const request = new Request('select @n + 1', () => {});
    request.addParameter('n', TYPES.Int);
    await new Promise((resolve, reject) => {
      request.once('prepared', resolve);
      request.userCallback = (error) => error && reject(error);
      cn.prepare(request);
    });
    for (const n of [1, -5, 2147483646, 0, 7, 8, 9]) {
      const { sets } = await run(cn, '', { prepared: request, values: { n } });
      for (const name of ['columnMetadata', 'row', 'returnValue', 'doneProc']) request.removeAllListeners(name);
      equal(sets[0].rows[0][0], n + 1, 'prepared');
    }
    await new Promise((resolve, reject) => {
      request.userCallback = (error) => (error ? reject(error) : resolve());
      cn.unprepare(request);
    });
  },
  bulk: async (cn) => {
    const table = `bulk_${work.mark}`;
    await run(cn, work.sql['bulk-create'], { how: 'batch' });
    try {
      await load(cn, table);
      const { sets } = await run(cn, `select id, name, amount, stamp, data from ${table} order by id`, { how: 'batch' });
      const got = sets[0].rows.map((r) => [r[0], r[1], r[2], r[3].toISOString(), r[4].toString('hex')]);
      equal(got.length, 500, 'rows');
      bulkRows().forEach((row, n) => {
        equal(got[n], [row[0], row[1], row[2], row[3].toISOString(), row[4].toString('hex')], `row ${n}`);
      });
    } finally {
      await run(cn, `drop table ${table}`, { how: 'batch' });
    }
  },
};

async function refused(number, how) {
  let cn;
  try {
    cn = await open(how);
  } catch (error) {
    // The error itself has no number; the tokens that came before it do.
    if (!error.tokens?.includes(number)) throw new Failed(`errors ${error.tokens}, expected ${number}: ${error.message}`);
    return;
  }
  await close(cn);
  throw new Failed('the login was accepted');
}

async function transaction(verb, count) {
  const cn = await open();
  const other = await open();
  const table = `tx_${work.mark}`;
  try {
    await run(cn, `create table ${table} (k int not null primary key)`, { how: 'batch' });
    const call = (name, ...args) =>
      new Promise((resolve, reject) => cn[name]((error) => (error ? reject(error) : resolve()), ...args));
    await call('beginTransaction', 'named', ISOLATION_LEVEL.READ_COMMITTED);
    await run(cn, `insert into ${table} values (1)`, { how: 'batch' });
    await run(cn, `insert into ${table} values (2)`, { how: 'batch' });
    equal(await scalar(cn, 'select @@trancount'), 1, '@@trancount inside');
    await call(verb);
    equal(await scalar(other, `select count(*) from ${table}`), count, 'rows after');
    await run(cn, `drop table ${table}`, { how: 'batch' });
  } finally {
    await close(cn);
    await close(other);
  }
}

async function failing(cn, sql, number, line, words = '', state) {
  try {
    await run(cn, sql, { how: 'batch' });
  } catch (error) {
    equal([error.number, error.lineNumber], [number, line], `number and line of ${error.message}`);
    if (!error.message.includes(words)) throw new Failed(`message ${error.message}`);
    if (state !== undefined) equal(error.state, state, 'state');
    equal(await scalar(cn, 'select 5'), 5, 'after the error');
    return;
  }
  throw new Failed('no error came');
}

async function cancelled(cn, sql) {
  let at;
  try {
    await run(cn, sql, { how: 'batch', start: () => setTimeout(() => { at = Date.now(); cn.cancel(); }, 300) });
  } catch (error) {
    if (at === undefined) throw error;
    equal(error.code, 'ECANCEL', 'error code');
    if (Date.now() - at > CANCEL_MS_MAX) throw new Failed(`the answer came ${Date.now() - at} ms after the cancel`);
    equal(await scalar(cn, 'select 6'), 6, 'after the cancel');
    return;
  }
  throw new Failed('the statement ended by itself');
}

function bulkRows() {
  const rows = [];
  for (let n = 1; n <= 500; n++) {
    const stamp = new Date('2024-02-29T12:34:56.123Z');
    rows.push([n, n % 7 === 0 ? null : `name ${n} é`, n / 4, stamp, Buffer.from([n % 256, 0, 255])]);
  }
  return rows;
}

function load(cn, table) {
  return new Promise((resolve, reject) => {
    const bulk = cn.newBulkLoad(table, (error) => (error ? reject(error) : resolve()));
    bulk.addColumn('id', TYPES.Int, { nullable: false });
    bulk.addColumn('name', TYPES.NVarChar, { length: 40, nullable: true });
    bulk.addColumn('amount', TYPES.Decimal, { precision: 18, scale: 4, nullable: true });
    bulk.addColumn('stamp', TYPES.DateTime2, { scale: 3, nullable: true });
    bulk.addColumn('data', TYPES.VarBinary, { length: 64, nullable: true });
    // Before version 9 rows are added to the load.
    if (cn.execBulkLoad.length < 2) for (const row of bulkRows()) bulk.addRow(...row);
    cn.execBulkLoad(bulk, bulkRows());
  });
}

// ---- types -----------------------------------------------------------------------------------

const NAMES = {
  bit: 'Bit', tinyint: 'TinyInt', smallint: 'SmallInt', int: 'Int', bigint: 'BigInt', decimal: 'Decimal',
  money: 'Money', smallmoney: 'SmallMoney', real: 'Real', float: 'Float', date: 'Date', time: 'Time',
  datetime: 'DateTime', smalldatetime: 'SmallDateTime', datetime2: 'DateTime2', datetimeoffset: 'DateTimeOffset',
  char: 'Char', varchar: 'VarChar', nchar: 'NChar', nvarchar: 'NVarChar', binary: 'Binary', varbinary: 'VarBinary',
  uniqueidentifier: 'UniqueIdentifier',
};

function options(kind, value) {
  const [first, second] = kind.sizes;
  // The driver sends a binary's declared length, whatever the buffer has.
  if (kind.base === 'binary') return { length: value ? value.length : Number(first) };
  if (kind.base === 'decimal') return { precision: Number(first), scale: Number(second) };
  if (['time', 'datetime2', 'datetimeoffset'].includes(kind.base)) return { scale: Number(first) };
  if (first === 'max') return { length: Infinity };
  return first ? { length: Number(first) } : {};
}

const textOf = (c) => (c.times ? c.repeat.repeat(c.times) : c.text);

// A JavaScript date of UTC, with the digits below a millisecond where the driver looks for them.
function moment(base, text) {
  let stamp = text;
  if (base === 'date') stamp += ' 00:00:00';
  if (base === 'time') stamp = `1970-01-01 ${stamp}`;
  let zone = 'Z';
  if (base === 'datetimeoffset') [stamp, zone] = [stamp.slice(0, -7), stamp.slice(-6)];
  const [whole, fraction = ''] = stamp.split('.');
  const digits = fraction.padEnd(7, '0');
  const date = new Date(`${whole.replace(' ', 'T')}.${digits.slice(0, 3)}${zone}`);
  date.nanosecondsDelta = Number(digits.slice(3)) / 1e7;
  date.nanosecondDelta = date.nanosecondsDelta;
  return date;
}

function native(kind, text) {
  if (text === null) return null;
  switch (kind.base) {
    case 'bit': return text === '1';
    case 'bigint': return BigInt(text);
    case 'tinyint': case 'smallint': case 'int': case 'decimal': case 'money': case 'smallmoney': case 'real': case 'float':
      return Number(text);
    case 'date': case 'time': case 'datetime': case 'datetime2': case 'smalldatetime': case 'datetimeoffset':
      return moment(kind.base, text);
    case 'binary': case 'varbinary': return Buffer.from(text, 'hex');
    default: return text;
  }
}

function canonical(kind, value) {
  switch (kind.base) {
    case 'bit': return value ? '1' : '0';
    case 'decimal': return value.toFixed(Number(kind.sizes[1]));
    case 'money': case 'smallmoney': return value.toFixed(4);
    case 'date': case 'time': case 'datetime': case 'datetime2': case 'smalldatetime': case 'datetimeoffset':
      return canonicalTime(kind.base, value);
    case 'binary': case 'varbinary': return value.toString('hex').toUpperCase();
    default: return String(value);
  }
}

function canonicalTime(base, date) {
  const iso = date.toISOString().replace(/^\+0+/, '');
  const [day, clock] = [iso.slice(0, 10), iso.slice(11, 19)];
  const ticks = String(Math.round((date.nanosecondsDelta ?? 0) * 1e7)).padStart(4, '0');
  const fraction = (iso.slice(20, 23) + ticks).replace(/0+$/, '');
  const at = clock + (fraction ? `.${fraction}` : '');
  if (base === 'date') return day;
  if (base === 'time') return at;
  return `${day} ${at}`;
}

function same(kind, c, value, what) {
  if (c.text === null) return equal(value, null, what);
  let want = c.times ? textOf(c) : c.expect;
  if (value === null) throw new Failed(`${what}: got NULL, expected ${want.slice(0, 100)}`);
  if (kind.base === 'real') return equal(Math.fround(value), Math.fround(Number(want)), what);
  if (kind.base === 'float') return equal(value, Number(want), what);
  // The driver gives an instant without the offset: compare instants.
  if (kind.base === 'datetimeoffset') want = canonicalTime('datetime2', moment(kind.base, want));
  return equal(canonical(kind, value), want, what);
}

async function ofType(cn, kind) {
  await run(cn, `create table #t (id int not null primary key, v ${kind.name} null)`, { how: 'batch' });
  const type = TYPES[NAMES[kind.base]];
  for (const [n, c] of kind.cases.entries()) {
    const what = `case ${c.case}`;
    const id = ['id', TYPES.Int, n];
    const value = native(kind, textOf(c));
    await run(cn, 'insert into #t (id, v) values (@id, @v)', { params: [id, ['v', type, value, options(kind, value)]] });
    same(kind, c, await scalar(cn, 'select v from #t where id = @id', [id]), `${what}: column`);
    equal(await scalar(cn, `select count(*) from #t where id = ${n} and ${c.where}`), 1, `${what}: rows where ${c.where.slice(0, 80)}`);
    if (!kind.outputs) continue;
    const { out } = await run(cn, 'set @o = @i', {
      params: [['i', type, value, options(kind, value)]],
      outputs: [['o', type, null, options(kind)]],
    });
    same(kind, c, out.o, `${what}: OUTPUT`);
  }
}

// ---- main ------------------------------------------------------------------------------------

async function answer(check) {
  if (alone[check]) return alone[check]();
  const cn = await open();
  try {
    const kind = check.startsWith('type-') && work.types.find((k) => `type-${k.name}` === check);
    if (kind) await ofType(cn, kind);
    else if (checks[check]) await checks[check](cn);
    else throw new Failed(`this program has no check ${check}`);
  } finally {
    await close(cn);
  }
}

process.on('uncaughtException', () => {}); // a stream of the driver's own; the check that waits for it fails
process.removeAllListeners('warning'); // the server's name is an address, which Node's TLS remarks on

// A check that hangs must not take the others with it.
function tooLong() {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Failed(`it took more than ${CHECK_MS_MAX} ms`)), CHECK_MS_MAX);
  });
}

for (const check of work.checks) {
  const result = { check, ok: true, detail: '' };
  try {
    await Promise.race([answer(check), tooLong()]);
  } catch (error) {
    const where = error instanceof Failed ? '' : ` ${error.stack?.split('\n')[1]?.trim() ?? ''}`;
    Object.assign(result, { ok: false, detail: `${error.message ?? error}${where}`.slice(0, 600) });
  }
  console.log(JSON.stringify(result));
}
process.exit(0);
