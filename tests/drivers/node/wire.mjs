// What tedious sends that others do not: bulk loads with options, tables without the name of their type.
//
// It reads where the server is as JSON on standard input and prints one JSON object: a result or an error number by name.
import { readFileSync } from 'node:fs';
import tedious from 'tedious';

const { Connection, Request, TYPES } = tedious;
const work = JSON.parse(readFileSync(0, 'utf8'));

function open() {
  const connection = new Connection({
    server: work.host,
    authentication: { type: 'default', options: { userName: work.user, password: work.password } },
    options: { port: work.port, trustServerCertificate: true },
  });
  return new Promise((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
    connection.on('error', () => {}); // the promise of the running request reports it
  });
}

// Runs a request; resolves to its rows, or to the number of its error.
function ask(start, sql) {
  const rows = [];
  return new Promise((resolve) => {
    const request = new Request(sql, (error) => resolve(error ? error.number : rows));
    request.on('row', (columns) => rows.push(columns.map((c) => c.value)));
    start(request);
  });
}

// Loads rows; resolves to how many, or to the number of the error.
function load(connection, table, options, columns, rows) {
  return new Promise((resolve) => {
    const bulk = connection.newBulkLoad(table, options, (error, count) => resolve(error ? error.number : count));
    for (const [name, type, more] of columns) bulk.addColumn(name, type, { nullable: true, ...more });
    connection.execBulkLoad(bulk, rows);
  });
}

const cn = await open();
const batch = (sql) => ask((request) => cn.execSqlBatch(request), sql);
const table = (columns, rows) =>
  ask((request) => {
    request.addParameter('t', TYPES.TVP, { columns, rows });
    cn.callProcedure(request);
  }, 'tedious_p');
const found = {};

await batch('create type tedious_t as table (a int, d decimal(12, 3))');
await batch('create procedure tedious_p @t tedious_t readonly as select a, d from @t');
const a = { name: 'a', type: TYPES.Int };
const d = { name: 'd', type: TYPES.Decimal, precision: 12, scale: 3 };
found.table = await table([a, d], [[1, 1.5], [2, null]]);
found.nulls = await table([a, { name: 'd', type: TYPES.Decimal }], [[1, null], [2, null]]);

await batch(`create table tedious_b (id int identity primary key, c char(6), t text, n ntext, i image, s datetime2(3),
  f int default 9, x int check (x > 0))`);
const int = (name) => [name, TYPES.Int];
const into = (options, columns, rows) => load(cn, 'tedious_b', options, columns, rows);
found.text = await into({}, [['c', TYPES.Char, { length: 6 }], ['t', TYPES.Text], ['n', TYPES.NText], ['i', TYPES.Image]], [
  ['ab', 'text', 'ntext', Buffer.from([5, 6])],
]);
found.dates = await into({}, [['s', TYPES.VarChar, { length: 30 }]], [['2024-02-29 12:34:56.789']]);
found.identity = await into({}, [int('id'), int('x')], [[50, 1]]);
found.checked = await into({ checkConstraints: true }, [int('x')], [[-1]]);
found.unchecked = await into({}, [int('x')], [[-2]]);
found.kept = await into({ keepNulls: true }, [int('f'), int('x')], [[null, 3]]);
found.filled = await into({ lockTable: true, fireTriggers: true }, [int('f'), int('x')], [[null, 4]]);
found.unsorted = await into({ order: { id: 'ASC' } }, [int('id')], [[301], [300]]);
found.list = await into({}, [int('nowhere')], [[1]]);
found.rows = await batch(`select concat(c, '|', t, '|', n, '|', convert(varchar(9), cast(i as varbinary(9)), 1), '|', s) as v, f, x
  from tedious_b where id not in (50) order by id`);
found.trust = await batch("select is_not_trusted from sys.check_constraints where parent_object_id = object_id('tedious_b')");
console.log(JSON.stringify(found));
cn.close();
