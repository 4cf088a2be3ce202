// Hibernate and Flyway: tables made from entities and found valid by a second look, HQL, locks and
// versions; migrations in batches, repeated, checked and taken away.
//
// It reads where the server is from its arguments (host, port, user, password, an empty folder) and prints
// one JSON line per check.
import jakarta.persistence.*;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.flywaydb.core.Flyway;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

public class Libraries {
    @Entity(name = "Maker")
    public static class Maker {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Integer id;
        @Column(length = 80, unique = true, nullable = false) public String name;
        @OneToMany(mappedBy = "maker", cascade = CascadeType.ALL, orphanRemoval = true) public List<Item> items = new ArrayList<>();
    }

    public enum State { OPEN, SOLD }

    @Entity(name = "Item")
    @Table(indexes = @Index(name = "item_by_title", columnList = "title, price desc"))
    public static class Item {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "items")
        @SequenceGenerator(name = "items", sequenceName = "item_seq", allocationSize = 20) public Long id;
        @Version public int version;
        @ManyToOne(optional = false, fetch = FetchType.LAZY) public Maker maker;
        @Column(length = 100) public String title;
        @Column(precision = 10, scale = 2) public BigDecimal price;
        @Enumerated(EnumType.STRING) public State state = State.OPEN;
        public LocalDate day;
        public LocalDateTime made;
        public OffsetDateTime seen;
        public UUID mark;
        public boolean active = true;
        public Double weight;
        @Lob public String note;
        @Lob public byte[] blob;
        @ElementCollection @Column(name = "word", length = 30) public Set<String> words = new HashSet<>();
    }

    static String server;
    static String user;
    static String password;
    static Path folder;
    static SessionFactory sessions;

    interface Check { void run() throws Exception; }

    static void check(String name, Check check) {
        String detail = "";
        try {
            check.run();
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause.getCause() != null) cause = cause.getCause();
            detail = thrown + (cause == thrown ? "" : " / " + cause);
            if (System.getenv("LIBRARY_TRACE") != null) thrown.printStackTrace();
        }
        String escaped = detail.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("[\\x00-\\x1f]+", " ");
        System.out.println("{\"check\": \"" + name + "\", \"ok\": " + detail.isEmpty() + ", \"detail\": \"" + escaped + "\"}");
    }

    static void equal(Object got, Object want, String what) {
        if (!Objects.equals(got, want)) throw new AssertionError(what + ": got " + got + ", expected " + want);
    }

    static String url(String database) {
        return server + ";databaseName=" + database + ";encrypt=true;trustServerCertificate=true";
    }

    static void run(String database, String... statements) throws Exception {
        try (Connection connection = DriverManager.getConnection(url(database), user, password)) {
            for (String statement : statements) connection.createStatement().execute(statement);
        }
    }

    static Object value(String database, String query) throws Exception {
        try (Connection connection = DriverManager.getConnection(url(database), user, password);
                ResultSet rows = connection.createStatement().executeQuery(query)) {
            return rows.next() ? rows.getObject(1) : null;
        }
    }

    // ---- Hibernate -----------------------------------------------------------------------------

    static SessionFactory open(String schema) {
        Configuration configuration = new Configuration();
        configuration.setProperty("hibernate.connection.url", url("library_hibernate"));
        configuration.setProperty("hibernate.connection.username", user);
        configuration.setProperty("hibernate.connection.password", password);
        configuration.setProperty("hibernate.hbm2ddl.auto", schema);
        configuration.setProperty("hibernate.jdbc.batch_size", "25");
        configuration.setProperty("hibernate.order_inserts", "true");
        configuration.setProperty("hibernate.show_sql", String.valueOf(System.getenv("LIBRARY_TRACE") != null));
        configuration.addAnnotatedClass(Maker.class).addAnnotatedClass(Item.class);
        return configuration.buildSessionFactory();
    }

    static void schema() throws Exception {
        run("master", "DROP DATABASE IF EXISTS library_hibernate", "CREATE DATABASE library_hibernate");
        open("update").close();
        Object made = value("library_hibernate", "SELECT COUNT(*) FROM sys.objects WHERE is_ms_shipped = 0");
        open("update").close();
        equal(value("library_hibernate", "SELECT COUNT(*) FROM sys.objects WHERE is_ms_shipped = 0"), made, "objects after a second update");
        sessions = open("validate");
    }

    static final OffsetDateTime SEEN = OffsetDateTime.parse("2024-02-29T12:30:15.123456+05:30");
    static final UUID MARK = UUID.fromString("01234567-89ab-cdef-0123-456789abcdef");

    static void persist() {
        sessions.inTransaction(session -> {
            for (String name : List.of("Ada", "Böll")) {
                Maker maker = new Maker();
                maker.name = name;
                for (int n = 0; n < 50; n++) {
                    Item item = new Item();
                    item.maker = maker;
                    item.title = "item " + n;
                    item.price = new BigDecimal(n).divide(new BigDecimal(4));
                    item.day = LocalDate.of(2024, 1, 1).plusDays(n);
                    item.made = LocalDateTime.of(2024, 2, 29, 12, 30, 15, 123456000);
                    item.seen = SEEN;
                    item.mark = MARK;
                    item.weight = n % 2 == 0 ? null : n / 8.0;
                    item.note = "日本 " + "x".repeat(n * 200);
                    item.blob = new byte[] {0, (byte) n, -1};
                    item.words.addAll(List.of("red", "w" + n % 5));
                    maker.items.add(item);
                }
                session.persist(maker);
            }
        });
        sessions.inTransaction(session -> {
            Item item = session.createSelectionQuery("from Item where title = 'item 7' and maker.name = 'Ada'", Item.class).getSingleResult();
            equal(List.of(item.price, item.day, item.made, item.mark, item.active, item.weight, item.note.length(), item.blob[1], item.words, item.state),
                List.of(new BigDecimal("1.75"), LocalDate.of(2024, 1, 8), LocalDateTime.of(2024, 2, 29, 12, 30, 15, 123456000), MARK, true, 0.875, 1403, (byte) 7, Set.of("red", "w2"), State.OPEN), "a row");
            equal(item.seen.toInstant(), SEEN.toInstant(), "a time with an offset");
            item.price = item.price.add(BigDecimal.ONE);
        });
    }

    static void queries() {
        sessions.inTransaction(session -> {
            List<String> page = session.createSelectionQuery("select title from Item where maker.name = 'Ada' order by price desc, id", String.class).setFirstResult(3).setMaxResults(2).getResultList();
            equal(page, List.of("item 46", "item 45"), "a page");
            Object[] sums = session.createSelectionQuery("select m.name, count(i), sum(i.price), max(i.day) from Maker m join m.items i group by m.name having count(i) > 9 order by m.name", Object[].class).getResultList().get(1);
            equal(List.of(sums), List.of("Böll", 50L, new BigDecimal("306.25"), LocalDate.of(2024, 2, 19)), "groups");
            equal(session.createSelectionQuery("select count(*) from Item i where 'w3' member of i.words and exists (select 1 from Item o where o.price > i.price + 10)", Long.class).getSingleResult(), 4L, "member of, exists");
            List<Long> ranks = session.createSelectionQuery("select rank() over (partition by maker.id order by price desc) as r from Item order by 1 fetch first 4 rows only", Long.class).getResultList();
            equal(ranks, List.of(1L, 1L, 2L, 2L), "a window");
            List<String> text = session.createSelectionQuery("select concat(upper(substring(title, 1, 4)), '-', cast(extract(month from day) as string), '-', listagg(w, ',') within group (order by w)) from Item i join i.words w where title = 'item 40' and maker.name = 'Ada' group by title, day", String.class).getResultList();
            equal(text, List.of("ITEM-2-red,w0"), "functions");
            equal(session.createMutationQuery("update Item set state = :s, version = version + 1 where price >= :p").setParameter("s", State.SOLD).setParameter("p", new BigDecimal(12)).executeUpdate(), 4, "rows of an update");
            session.createMutationQuery("insert into Item (id, version, maker, title, price, active) select i.id + 1000, 0, i.maker, 'copy', i.price, true from Item i where i.state = :s").setParameter("s", State.SOLD).executeUpdate();
            equal(session.createMutationQuery("delete from Item where title = 'copy'").executeUpdate(), 4, "rows of a delete");
        });
    }

    static void locks() {
        try (Session one = sessions.openSession(); Session two = sessions.openSession()) {
            one.beginTransaction();
            two.beginTransaction();
            Item mine = one.createSelectionQuery("from Item where title = 'item 3' and maker.name = 'Ada'", Item.class).getSingleResult();
            Item theirs = two.find(Item.class, mine.id);
            mine.title = "mine";
            one.getTransaction().commit();
            theirs.title = "theirs";
            boolean refused = false;
            try {
                two.getTransaction().commit();
            } catch (OptimisticLockException e) {
                refused = true;
            } catch (RuntimeException e) {
                refused = e.getCause() instanceof OptimisticLockException;
                if (!refused) throw e;
            }
            equal(refused, true, "the second change of one version is refused");
        }
        sessions.inTransaction(session -> {
            List<Item> held = session.createSelectionQuery("from Item where state = :s order by id", Item.class).setParameter("s", State.SOLD).setLockMode(LockModeType.PESSIMISTIC_WRITE).setMaxResults(2).getResultList();
            equal(held.size(), 2, "rows under UPDLOCK");
            session.remove(session.createSelectionQuery("from Maker where name = 'Böll'", Maker.class).getSingleResult());
        });
        sessions.inTransaction(session -> equal(session.createSelectionQuery("select count(*) from Item", Long.class).getSingleResult(), 50L, "rows after a cascade"));
    }

    static void drop() throws Exception {
        sessions.getSchemaManager().truncateMappedObjects();
        sessions.inTransaction(session -> equal(session.createSelectionQuery("select count(*) from Maker", Long.class).getSingleResult(), 0L, "rows after truncate"));
        sessions.getSchemaManager().dropMappedObjects(false);
        sessions.close();
        equal(value("library_hibernate", "SELECT COUNT(*) FROM sys.tables"), 0, "tables left");
    }

    // ---- Flyway --------------------------------------------------------------------------------

    static Flyway flyway() {
        return Flyway.configure().dataSource(url("library_flyway"), user, password).locations("filesystem:" + folder).cleanDisabled(false).schemas("shop").load();
    }

    static void migrate() throws Exception {
        run("master", "DROP DATABASE IF EXISTS library_flyway", "CREATE DATABASE library_flyway");
        Files.writeString(folder.resolve("V1__tables.sql"), "CREATE TABLE shop.item (id int IDENTITY PRIMARY KEY, name nvarchar(50) NOT NULL)\nGO\nINSERT shop.item (name) VALUES (N'é'), (N'b')\nGO\nINSERT shop.item (name) SELECT name FROM shop.item\nGO\n");
        Files.writeString(folder.resolve("V2__procedure.sql"), "CREATE PROCEDURE shop.count_items AS\nBEGIN\n  SELECT COUNT(*) AS n FROM shop.item;\nEND\nGO\nCREATE VIEW shop.names AS SELECT name FROM shop.item\nGO\nCREATE TYPE shop.ids AS TABLE (id int)\n");
        Files.writeString(folder.resolve("R__view.sql"), "CREATE OR ALTER VIEW shop.repeated AS SELECT COUNT(*) AS n FROM shop.item");
        equal(flyway().migrate().migrationsExecuted, 3, "migrations");
        equal(flyway().migrate().migrationsExecuted, 0, "migrations of a second run");
        equal(value("library_flyway", "EXEC shop.count_items"), 4, "rows");
        Files.writeString(folder.resolve("V3__more.sql"), "ALTER TABLE shop.item ADD price decimal(9, 2) NOT NULL CONSTRAINT df_price DEFAULT 1;\nEXEC sp_rename 'shop.item.name', 'title', 'COLUMN';\n");
        Files.writeString(folder.resolve("R__view.sql"), "CREATE OR ALTER VIEW shop.repeated AS SELECT SUM(price) AS n FROM shop.item");
        equal(flyway().migrate().migrationsExecuted, 2, "migrations of a third run");
        equal(value("library_flyway", "SELECT n FROM shop.repeated"), new BigDecimal("4.00"), "a view");
    }

    static void failing() throws Exception {
        Files.writeString(folder.resolve("V4__wrong.sql"), "CREATE TABLE shop.half (id int)\nGO\nINSERT shop.nothing VALUES (1)\n");
        boolean failed = false;
        try {
            flyway().migrate();
        } catch (RuntimeException e) {
            failed = e.getMessage().contains("208");
            if (!failed) throw e;
        }
        equal(failed, true, "a wrong migration fails with 208");
        equal(value("library_flyway", "SELECT OBJECT_ID('shop.half')"), null, "what a failed migration left");
        Files.delete(folder.resolve("V4__wrong.sql"));
        flyway().repair();
        flyway().validate();
        equal(flyway().info().applied().length, 6, "migrations applied, the schema's own line among them");
        flyway().clean();
        equal(value("library_flyway", "SELECT COUNT(*) FROM sys.objects WHERE is_ms_shipped = 0"), 0, "objects after clean");
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        server = "jdbc:sqlserver://" + arguments[0] + ":" + arguments[1];
        user = arguments[2];
        password = arguments[3];
        folder = Path.of(arguments[4]);
        for (Path old : Files.list(folder).toList()) Files.delete(old);
        check("hibernate-schema", Libraries::schema);
        check("hibernate-persist", Libraries::persist);
        check("hibernate-queries", Libraries::queries);
        check("hibernate-locks", Libraries::locks);
        check("hibernate-drop", Libraries::drop);
        check("flyway-migrate", Libraries::migrate);
        check("flyway-failing", Libraries::failing);
    }
}
