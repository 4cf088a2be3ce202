// TypeORM: tables made from entities, found complete by a second look, and what repositories send.
//
// It reads its work as JSON on standard input and prints one JSON line per check.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import typeorm from 'typeorm';

const { DataSource, EntitySchema, In, Like, MoreThan, IsNull } = typeorm;
const work = JSON.parse(readFileSync(0, 'utf8'));
const DATABASE = 'library_typeorm';

const Maker = new EntitySchema({
  name: 'Maker',
  columns: {
    id: { type: 'int', primary: true, generated: 'increment' },
    name: { type: 'nvarchar', length: 80, unique: true },
    country: { type: 'nchar', length: 2, nullable: true, default: 'SE' },
  },
  relations: { items: { type: 'one-to-many', target: 'Item', inverseSide: 'maker' } },
});

const Item = new EntitySchema({
  name: 'Item',
  columns: {
    id: { type: 'uniqueidentifier', primary: true, generated: 'uuid' },
    title: { type: 'nvarchar', length: 100 },
    price: { type: 'decimal', precision: 10, scale: 2, default: 1.5 },
    weight: { type: 'numeric', precision: 8, scale: 3, nullable: true },
    active: { type: 'bit', default: true },
    made: { type: 'datetime2', createDate: true },
    changed: { type: 'datetime2', updateDate: true },
    gone: { type: 'datetime2', deleteDate: true, nullable: true },
    version: { type: 'int', version: true },
    data: { type: 'simple-json', nullable: true },
    blob: { type: 'varbinary', length: 'max', nullable: true },
    doubled: { type: 'decimal', precision: 12, scale: 2, asExpression: 'price * 2', generatedType: 'STORED', nullable: true, insert: false, update: false },
  },
  relations: {
    maker: { type: 'many-to-one', target: 'Maker', inverseSide: 'items', joinColumn: true, onDelete: 'CASCADE', nullable: false },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: true },
  },
  indices: [{ name: 'item_by_title', columns: ['title', 'price'] }, { name: 'open_items', columns: ['title'], where: 'active = 1' }],
  checks: [{ name: 'price_is_not_negative', expression: 'price >= 0' }],
});

const Tag = new EntitySchema({ name: 'Tag', columns: { word: { type: 'varchar', length: 30, primary: true } } });

const sources = { Maker, Item, Tag };
let source;

async function open(database, entities = Object.values(sources), synchronize = false) {
  const opened = new DataSource({
    type: 'mssql', host: work.host, port: work.port, username: work.user, password: work.password, database,
    entities, synchronize, options: { encrypt: true, trustServerCertificate: true },
  });
  return opened.initialize();
}

function equal(got, want, what) {
  if (!isDeepStrictEqual(got, want)) throw new Error(`${what}: got ${JSON.stringify(got)}, expected ${JSON.stringify(want)}`);
}

async function pending(of) {
  const { upQueries } = await of.driver.createSchemaBuilder().log();
  return upQueries.map((query) => query.query);
}

const checks = {
  async synchronize() {
    const master = await open('master', []);
    await master.query(`DROP DATABASE IF EXISTS ${DATABASE}`);
    await master.query(`CREATE DATABASE ${DATABASE}`);
    await master.destroy();
    source = await open(DATABASE);
    await source.synchronize();
    equal(await pending(source), [], 'what a second synchronize would do');
  },

  async 'save-and-find'() {
    const makers = await source.getRepository('Maker').save([{ name: 'Ada' }, { name: 'Böll', country: null }]);
    equal(makers.map((maker) => [maker.id, maker.country]), [[1, 'SE'], [2, null]], 'keys and defaults');
    const tags = await source.getRepository('Tag').save([{ word: 'red' }, { word: 'new' }]);
    const items = source.getRepository('Item');
    const made = Array.from({ length: 40 }, (_, n) => ({
      title: `item ${n}`, price: n / 4, maker: makers[n % 2], tags: tags.slice(0, n % 3), data: { n, text: 'é' }, blob: Buffer.from([0, n, 255]),
    }));
    await items.save(made);
    const found = await items.findOne({ where: { title: 'item 7' }, relations: { maker: true, tags: true } });
    equal([found.price, found.active, found.version, found.data, [...found.blob], found.doubled], [1.75, true, 1, { n: 7, text: 'é' }, [0, 7, 255], 3.5], 'a row');
    equal([found.maker.name, found.tags.length, found.made instanceof Date], ['Böll', 1, true], 'its relations');
    found.title = 'changed';
    await items.save(found);
    equal((await items.findOneBy({ id: found.id })).version, 2, 'the version after a change');
    await items.softDelete({ title: In(['item 8', 'item 9']) });
    equal([await items.count(), await items.count({ withDeleted: true })], [38, 40], 'rows after softDelete');
    await items.restore({ title: 'item 8' });
  },

  async 'query-builder'() {
    const items = source.getRepository('Item');
    const [page, count] = await items.findAndCount({ where: { title: Like('item 1%'), price: MoreThan(1) }, order: { price: 'DESC' }, skip: 2, take: 3, relations: { tags: true } });
    equal([page.map((item) => item.title), count], [['item 17', 'item 16', 'item 15'], 10], 'a page with its relations');
    const sums = await items.createQueryBuilder('i').innerJoin('i.maker', 'm').select('m.name', 'name').addSelect('SUM(i.price)', 'sum')
      .groupBy('m.name').having('COUNT(*) > :n', { n: 5 }).orderBy('m.name').getRawMany();
    equal(sums, [{ name: 'Ada', sum: 95 }, { name: 'Böll', sum: 97.75 }], 'groups');
    equal(await items.countBy({ weight: IsNull() }), 39, 'IS NULL');
    await items.createQueryBuilder().update().set({ price: () => 'price + 1' }).where('price < :p', { p: 1 }).execute();
    equal(await items.countBy({ price: In([1, 1.25]) }), 4, 'rows after an update by an expression');
    const streamed = await (await items.createQueryBuilder('i').select('i.title').limit(5).stream()).toArray();
    equal(streamed.length, 5, 'a stream');
  },

  async transactions() {
    await source.transaction('SERIALIZABLE', async (manager) => {
      await manager.insert('Tag', [{ word: 'one' }, { word: 'two' }]);
      await manager.transaction(async (inner) => {
        await inner.insert('Tag', { word: 'three' });
        throw new Error('undo');
      }).catch((error) => equal(error.message, 'undo', 'why the inner one ended'));
    });
    equal(await source.getRepository('Tag').count(), 4, 'rows after an inner transaction was rolled back');
    const error = await source.getRepository('Maker').insert({ name: 'Ada' }).catch((raised) => raised);
    equal(error.driverError?.originalError?.info?.number ?? error.number, 2627, 'the error of a duplicate key');
    const upserted = source.createQueryBuilder().delete().from('Tag').where('word = :w', { w: 'one' }).execute();
    equal((await upserted).affected, 1, 'rows of a delete');
  },

  async 'synchronize-changed'() {
    Item.options.columns.stock = { type: 'bigint', default: 3 };
    Item.options.columns.price.default = 2;
    Item.options.indices[0].columns.reverse();
    delete Item.options.columns.weight;
    await source.destroy();
    source = await open(DATABASE, [Maker, Item, Tag], true);
    equal(await pending(source), [], 'what another synchronize would do');
    equal((await source.getRepository('Item').findOneBy({ title: 'item 0' })).stock, '3', 'the default of a new column');
  },

  async drop() {
    await source.dropDatabase();
    equal(await source.query('SELECT name FROM sys.tables'), [], 'tables left');
    await source.destroy();
  },
};

for (const [check, run] of Object.entries(checks)) {
  let detail = '';
  try {
    await run();
  } catch (error) {
    detail = `${error.message} ${error.query ?? ''}`.slice(0, 1500);
    if (process.env.LIBRARY_TRACE) console.error(error);
  }
  console.log(JSON.stringify({ check, ok: !detail, detail }));
}
process.exit(0);
