import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerCallableStatement;
import com.microsoft.sqlserver.jdbc.SQLServerException;
import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

/**
 * Runs the checks of spec.toml through JDBC: `mssql` is Microsoft's driver, `mssql-old` a version of it that does not tell the
 * line of an error, `jtds` is jTDS.
 *
 * <p>It reads its work as JSON on standard input and prints one JSON line per check.
 */
public class Main {
    static final long CANCEL_MS_MAX = 1000;
    static final long CHECK_MS_MAX = 30_000;
    static JsonObject work;
    static boolean jtds;
    static boolean tellsLines;

    /** A check did not hold. */
    static class Failed extends Exception {
        Failed(String text) {
            super(text);
        }
    }

    public static void main(String[] args) throws Exception {
        jtds = args[0].equals("jtds");
        tellsLines = args[0].equals("mssql");
        if (jtds) Class.forName("net.sourceforge.jtds.jdbc.Driver");
        work = JsonParser.parseReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).getAsJsonObject();
        for (JsonElement element : work.getAsJsonArray("checks")) {
            String check = element.getAsString();
            String[] said = {"it took more than " + CHECK_MS_MAX + " ms"};
            // A check that hangs must not take the others with it.
            Thread thread = new Thread(() -> said[0] = outcome(check));
            thread.start();
            thread.join(CHECK_MS_MAX);
            String detail = said[0];
            JsonObject answer = new JsonObject();
            answer.addProperty("check", check);
            answer.addProperty("ok", detail.isEmpty());
            answer.addProperty("detail", cut(detail, 600));
            System.out.println(new Gson().toJson(answer));
        }
        System.exit(0);
    }

    /** Runs a check; the text says what did not hold. */
    static String outcome(String check) {
        try {
            run(check);
            return "";
        } catch (Failed failed) {
            return failed.getMessage();
        } catch (Throwable raised) {
            return raised + " at " + Arrays.stream(raised.getStackTrace())
                .filter(f -> f.getClassName().startsWith("Main")).findFirst().orElse(null);
        }
    }

    static void run(String check) throws Exception {
        switch (check) {
            case "connect-strict" -> strict();
            case "wrong-password" -> refused(18456, "not it", null);
            case "unknown-database" -> refused(4060, text("password"), "no_such_database");
            case "commit" -> transaction(true, 2);
            case "rollback" -> transaction(false, 0);
            default -> {
                try (Connection cn = open()) {
                    runOn(check, cn);
                }
            }
        }
    }

    static void runOn(String check, Connection cn) throws Exception {
        switch (check) {
            case "connect" -> {
                equal(scalar(cn, "select 1"), "1", "select 1");
                if (!scalar(cn, "select @@version").startsWith("Microsoft SQL Server")) throw new Failed("@@version");
            }
            case "procedure" -> procedure(cn);
            case "two-results" -> twoResults(cn);
            case "error-divide" -> failing(cn, sql(check), 8134, 3, "", 0);
            case "error-duplicate" -> {
                execute(cn, "create table #d (k int not null primary key)");
                execute(cn, "insert into #d values (1)");
                failing(cn, "insert into #d values (1)", 2627, 1, "", 0);
            }
            case "error-object" -> failing(cn, sql(check), 208, 1, "no_such_table", 0);
            case "error-syntax" -> failing(cn, sql(check), 102, 2, "')'", 0);
            case "error-raise" -> failing(cn, sql(check), 50000, 1, "bad luck 13", 3);
            case "messages" -> messages(cn);
            case "counts" -> counts(cn);
            case "cancel-wait", "cancel-loop" -> cancelled(cn, sql(check));
            case "thousand" -> thousand(cn);
            case "prepared" -> prepared(cn);
            case "bulk" -> bulk(cn);
            default -> {
                JsonObject kind = StreamSupport.stream(work.getAsJsonArray("types").spliterator(), false)
                    .map(JsonElement::getAsJsonObject)
                    .filter(k -> check.equals("type-" + k.get("name").getAsString()))
                    .findFirst().orElseThrow(() -> new Failed("this program has no check " + check));
                new Kind(kind).check(cn);
            }
        }
    }

    // ---- connections -------------------------------------------------------------------------

    static Connection open() throws SQLException {
        return open(text("password"), null, "");
    }

    static Connection open(String password, String database, String extra) throws SQLException {
        String where = text("host") + ":" + work.get("port").getAsInt();
        Properties properties = new Properties();
        properties.put("user", text("user"));
        properties.put("password", password);
        if (jtds) {
            if (database != null) properties.put("DATABASENAME", database);
            return DriverManager.getConnection("jdbc:jtds:sqlserver://" + where, properties);
        }
        properties.put("loginTimeout", "10");
        properties.put("sendTimeAsDatetime", "false");
        if (database != null) properties.put("databaseName", database);
        String trust = extra.isEmpty() ? ";trustServerCertificate=true" : extra;
        return DriverManager.getConnection("jdbc:sqlserver://" + where + trust, properties);
    }

    static void strict() throws Exception {
        String extra = ";encrypt=strict;serverCertificate=" + text("cert") + ";hostNameInCertificate=localhost";
        try (Connection cn = open(text("password"), null, extra)) {
            equal(scalar(cn, "select N'strict'"), "strict", "select");
        }
    }

    static void refused(int number, String password, String database) throws Exception {
        try (Connection cn = open(password, database, "")) {
            throw new Failed("the login was accepted");
        } catch (SQLException raised) {
            List<Integer> numbers = new ArrayList<>();
            for (SQLException e = raised; e != null; e = e.getNextException()) numbers.add(e.getErrorCode());
            if (!numbers.contains(number)) throw new Failed("errors " + numbers + ", expected " + number + ": " + raised.getMessage());
        }
    }

    static void execute(Connection cn, String sql) throws SQLException {
        try (Statement statement = cn.createStatement()) {
            statement.execute(sql);
        }
    }

    static String scalar(Connection cn, String sql) throws SQLException {
        try (Statement statement = cn.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    // ---- the checks --------------------------------------------------------------------------

    static void procedure(Connection cn) throws Exception {
        execute(cn, sql("procedure-create"));
        try (CallableStatement call = cn.prepareCall("{? = call p_" + text("mark") + "(?, ?, ?)}")) {
            call.registerOutParameter(1, Types.INTEGER);
            call.setInt(2, 21);
            call.setString(3, "in");
            call.registerOutParameter(3, jtds ? Types.VARCHAR : Types.NVARCHAR);
            call.registerOutParameter(4, Types.INTEGER);
            List<Integer> seen = new ArrayList<>();
            boolean isRows = call.execute();
            while (isRows || call.getUpdateCount() != -1) {
                if (isRows) {
                    try (ResultSet rows = call.getResultSet()) {
                        while (rows.next()) seen.add(rows.getInt(1));
                    }
                }
                isRows = call.getMoreResults();
            }
            equal(seen + " " + call.getString(3) + " " + call.getInt(4) + " " + call.getInt(1), "[21] in! 42 7", "rows, outputs, status");
        } finally {
            execute(cn, sql("procedure-drop"));
        }
    }

    static void twoResults(Connection cn) throws Exception {
        StringBuilder seen = new StringBuilder();
        try (Statement statement = cn.createStatement()) {
            boolean isRows = statement.execute(sql("two-results"));
            while (isRows) {
                ResultSet rows = statement.getResultSet();
                int columns = rows.getMetaData().getColumnCount();
                for (int i = 1; i <= columns; i++) seen.append(rows.getMetaData().getColumnName(i)).append(' ');
                while (rows.next()) for (int i = 1; i <= columns; i++) seen.append(rows.getString(i)).append(' ');
                seen.append("| ");
                isRows = statement.getMoreResults();
            }
        }
        equal(seen.toString(), "a 1 | b c two 3 | ", "result sets");
    }

    static void transaction(boolean commit, int count) throws Exception {
        String table = "tx_" + text("mark");
        try (Connection other = open(); Connection cn = open()) {
            execute(other, "create table " + table + " (k int not null primary key)");
            try {
                cn.setAutoCommit(false);
                execute(cn, "insert into " + table + " values (1)");
                execute(cn, "insert into " + table + " values (2)");
                equal(scalar(cn, "select @@trancount"), "1", "@@trancount inside");
                if (commit) cn.commit();
                else cn.rollback();
                equal(scalar(other, "select count(*) from " + table), "" + count, "rows after");
                cn.rollback();
            } finally {
                execute(other, "drop table " + table);
            }
        }
    }

    static void failing(Connection cn, String sql, int number, int line, String words, int state) throws Exception {
        try (Statement statement = cn.createStatement()) {
            boolean isRows = statement.execute(sql);
            while (isRows || statement.getUpdateCount() != -1) isRows = statement.getMoreResults();
            throw new Failed("no error came");
        } catch (SQLException raised) {
            equal("" + raised.getErrorCode(), "" + number, "error number of " + raised.getMessage());
            if (tellsLines && raised instanceof SQLServerException error) {
                equal("" + error.getSQLServerError().getLineNumber(), "" + line, "line");
                if (state != 0) equal("" + error.getSQLServerError().getErrorState(), "" + state, "state");
            }
            if (!raised.getMessage().contains(words)) throw new Failed("message " + raised.getMessage());
        }
        equal(scalar(cn, "select 5"), "5", "after the error");
    }

    static void messages(Connection cn) throws Exception {
        List<String> seen = new ArrayList<>();
        try (Statement statement = cn.createStatement()) {
            statement.execute(sql("messages"));
            do {
                for (SQLWarning w = statement.getWarnings(); w != null; w = w.getNextWarning()) seen.add(w.getMessage());
                statement.clearWarnings();
            } while (statement.getMoreResults() || statement.getUpdateCount() != -1);
            for (SQLWarning w = statement.getWarnings(); w != null; w = w.getNextWarning()) seen.add(w.getMessage());
        }
        if (!seen.contains("hello print") || !seen.contains("hello info 42")) throw new Failed("messages " + seen);
    }

    /** Both drivers count by the DONE of each statement; Microsoft's knows statements by their numbers there. */
    static void counts(Connection cn) throws Exception {
        execute(cn, "create table #c (a int not null)");
        try (Statement statement = cn.createStatement()) {
            int inserted = statement.executeUpdate("declare @a int = 1 print 'x' set @a = 2 insert #c values (@a), (3)");
            equal("" + inserted, "2", "rows inserted");
            equal("" + statement.executeUpdate("create table #d (a int)"), "0", "count of a definition");
            statement.addBatch("insert #c values (5)");
            statement.addBatch("update #c set a = 7");
            statement.addBatch("create index i on #c (a)");
            statement.addBatch("delete #c where a = 7");
            int[] counts = statement.executeBatch();
            // jTDS says that a definition went well, not how many rows it changed.
            if (jtds && counts[2] == Statement.SUCCESS_NO_INFO) counts[2] = 0;
            equal(Arrays.toString(counts), "[1, 3, 0, 3]", "counts of the batch");
        }
    }

    static void cancelled(Connection cn, String sql) throws Exception {
        long[] at = new long[1];
        try (Statement statement = cn.createStatement()) {
            Thread later = new Thread(() -> {
                try {
                    // The request must have been sent: jTDS forgets a cancel that comes before, as on a busy machine.
                    Thread.sleep(1500);
                    at[0] = System.nanoTime();
                    statement.cancel();
                } catch (Exception ignored) {
                    at[0] = 0; // the check then fails on its time
                }
            });
            later.start();
            try {
                statement.execute(sql);
                throw new Failed("the statement ended by itself");
            } catch (SQLException expected) {
                long took = (System.nanoTime() - at[0]) / 1_000_000;
                if (at[0] == 0 || took > CANCEL_MS_MAX) throw new Failed("the answer came " + took + " ms after the cancel: " + expected);
            }
            later.join();
        }
        equal(scalar(cn, "select 6"), "6", "after the cancel");
    }

    static void thousand(Connection cn) throws Exception {
        for (int n = 0; n < 1000; n++) {
            if (n % 2 == 1) {
                equal(scalar(cn, "select " + n), "" + n, "statement");
                continue;
            }
            try (PreparedStatement statement = cn.prepareStatement("select cast(? as int)")) {
                statement.setInt(1, n);
                ResultSet rows = statement.executeQuery();
                rows.next();
                equal("" + rows.getInt(1), "" + n, "statement");
            }
        }
    }

    static void prepared(Connection cn) throws Exception {
        try (PreparedStatement statement = cn.prepareStatement("select cast(? as int) + 1")) {
            for (int n : new int[] {1, -5, 2147483646, 0, 7, 8, 9}) {
                statement.setInt(1, n);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    equal("" + rows.getInt(1), "" + (n + 1), "prepared");
                }
            }
        }
    }

    static void bulk(Connection cn) throws Exception {
        String table = "bulk_" + text("mark");
        execute(cn, sql("bulk-create"));
        try {
            List<Object[]> source = IntStream.rangeClosed(1, 500).mapToObj(Main::bulkRow).toList();
            BulkRows.copy(cn, table, source);
            try (Statement statement = cn.createStatement();
                ResultSet rows = statement.executeQuery("select id, name, amount, stamp, data from " + table + " order by id")) {
                for (Object[] row : source) {
                    if (!rows.next()) throw new Failed("a row is missing");
                    String got = rows.getInt(1) + " " + rows.getString(2) + " " + rows.getBigDecimal(3) + " "
                        + rows.getObject(4, LocalDateTime.class) + " " + Arrays.toString(rows.getBytes(5));
                    String want = row[0] + " " + row[1] + " " + row[2] + " " + ((Timestamp) row[3]).toLocalDateTime() + " " + Arrays.toString((byte[]) row[4]);
                    equal(got, want, "row");
                }
                if (rows.next()) throw new Failed("a row too many");
            }
        } finally {
            execute(cn, "drop table " + table);
        }
    }

    static Object[] bulkRow(int n) {
        return new Object[] {
            n, n % 7 == 0 ? null : "name " + n + " é", BigDecimal.valueOf(n * 2500L, 4),
            Timestamp.valueOf("2024-02-29 12:34:56.123"), new byte[] {(byte) n, 0, (byte) 255}
        };
    }

    /** The rows of a bulk copy, as Microsoft's driver takes them. Version 6.4 lacks the interface: it never loads this class. */
    static class BulkRows implements ISQLServerBulkData {
        private final List<Object[]> rows;
        private int at = -1;

        BulkRows(List<Object[]> rows) {
            this.rows = rows;
        }

        static void copy(Connection cn, String table, List<Object[]> source) throws SQLException {
            try (SQLServerBulkCopy copy = new SQLServerBulkCopy(cn)) {
                copy.setDestinationTableName(table);
                copy.writeToServer(new BulkRows(source));
            }
        }

        public Set<Integer> getColumnOrdinals() {
            return IntStream.rangeClosed(1, 5).boxed().collect(Collectors.toSet());
        }

        public String getColumnName(int column) {
            return List.of("id", "name", "amount", "stamp", "data").get(column - 1);
        }

        public int getColumnType(int column) {
            return List.of(Types.INTEGER, Types.NVARCHAR, Types.DECIMAL, Types.TIMESTAMP, Types.VARBINARY).get(column - 1);
        }

        public int getPrecision(int column) {
            return List.of(0, 40, 18, 23, 64).get(column - 1);
        }

        public int getScale(int column) {
            return List.of(0, 0, 4, 3, 0).get(column - 1);
        }

        public Object[] getRowData() {
            return rows.get(at);
        }

        public boolean next() {
            return ++at < rows.size();
        }
    }

    // ---- types -------------------------------------------------------------------------------

    /** One type of the spec: how its values are bound, read and spelled. */
    static class Kind {
        static final DateTimeFormatter CLOCK = new DateTimeFormatterBuilder().appendPattern("HH:mm:ss")
            .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true).toFormatter();
        static final DateTimeFormatter STAMP = new DateTimeFormatterBuilder().appendPattern("uuuu-MM-dd ")
            .append(CLOCK).toFormatter();
        static final DateTimeFormatter OFFSET = new DateTimeFormatterBuilder().append(STAMP)
            .appendPattern(" xxx").toFormatter();
        final String name;
        final String base;
        final List<String> sizes;
        final boolean outputs;
        final JsonArray cases;

        Kind(JsonObject kind) {
            name = kind.get("name").getAsString();
            base = kind.get("base").getAsString();
            sizes = StreamSupport.stream(kind.getAsJsonArray("sizes").spliterator(), false).map(JsonElement::getAsString).toList();
            outputs = kind.get("outputs").getAsBoolean();
            cases = kind.getAsJsonArray("cases");
        }

        void check(Connection cn) throws Exception {
            execute(cn, "create table #t (id int not null primary key, v " + name + " null)");
            String echo = "echo_" + text("mark");
            if (outputs) execute(cn, "create procedure " + echo + " @i " + name + ", @o " + name + " output as set @o = @i");
            try {
                for (int n = 0; n < cases.size(); n++) {
                    JsonObject c = cases.get(n).getAsJsonObject();
                    try {
                        oneCase(cn, n, c, echo);
                    } catch (Exception raised) {
                        throw new Failed("case " + c.get("case").getAsString() + ": " + (raised instanceof Failed ? raised.getMessage() : raised));
                    }
                }
            } finally {
                if (outputs) execute(cn, "drop procedure " + echo);
            }
        }

        void oneCase(Connection cn, int n, JsonObject c, String echo) throws Exception {
            String value = caseText(c);
            try (PreparedStatement insert = cn.prepareStatement("insert into #t (id, v) values (?, ?)")) {
                insert.setInt(1, n);
                bind(insert, 2, value);
                insert.executeUpdate();
            }
            try (PreparedStatement select = cn.prepareStatement("select v from #t where id = ?")) {
                select.setInt(1, n);
                ResultSet rows = select.executeQuery();
                rows.next();
                same(c, read(rows), "column");
            }
            String where = c.get("where").getAsString();
            equal(scalar(cn, "select count(*) from #t where id = " + n + " and " + where), "1", "rows where " + cut(where, 80));
            if (!outputs) return;
            try (CallableStatement call = cn.prepareCall("{call " + echo + "(?, ?)}")) {
                bind(call, 1, value);
                if (base.equals("decimal") || base.endsWith("money")) call.registerOutParameter(2, sqlType(), scale());
                else call.registerOutParameter(2, sqlType());
                call.execute();
                same(c, readOutput(call), "OUTPUT");
            }
        }

        static String caseText(JsonObject c) {
            if (c.has("times")) return c.get("repeat").getAsString().repeat(c.get("times").getAsInt());
            return c.get("text").isJsonNull() ? null : c.get("text").getAsString();
        }

        int scale() {
            return base.equals("decimal") ? Integer.parseInt(sizes.get(1)) : 4;
        }

        /** The JDBC type; jTDS, of TDS 7.1, has the newer times as text only. */
        int sqlType() {
            return switch (base) {
                case "bit" -> Types.BIT;
                case "tinyint" -> jtds ? Types.SMALLINT : Types.TINYINT;
                case "smallint" -> Types.SMALLINT;
                case "int" -> Types.INTEGER;
                case "bigint" -> Types.BIGINT;
                case "decimal" -> Types.DECIMAL;
                case "money" -> jtds ? Types.DECIMAL : microsoft.sql.Types.MONEY;
                case "smallmoney" -> jtds ? Types.DECIMAL : microsoft.sql.Types.SMALLMONEY;
                case "real" -> Types.REAL;
                case "float" -> Types.DOUBLE;
                case "date" -> jtds ? Types.VARCHAR : Types.DATE;
                case "time" -> jtds ? Types.VARCHAR : Types.TIME;
                case "datetime" -> jtds ? Types.TIMESTAMP : microsoft.sql.Types.DATETIME;
                case "smalldatetime" -> jtds ? Types.TIMESTAMP : microsoft.sql.Types.SMALLDATETIME;
                case "datetime2" -> jtds ? Types.VARCHAR : Types.TIMESTAMP;
                case "datetimeoffset" -> jtds ? Types.VARCHAR : microsoft.sql.Types.DATETIMEOFFSET;
                case "char" -> Types.CHAR;
                case "nchar" -> jtds ? Types.CHAR : Types.NCHAR;
                case "varchar" -> isMax() ? Types.LONGVARCHAR : Types.VARCHAR;
                case "nvarchar" -> jtds ? Types.VARCHAR : isMax() ? Types.LONGNVARCHAR : Types.NVARCHAR;
                case "binary" -> Types.BINARY;
                case "varbinary" -> isMax() ? Types.LONGVARBINARY : Types.VARBINARY;
                case "uniqueidentifier" -> jtds ? Types.VARCHAR : microsoft.sql.Types.GUID;
                default -> throw new IllegalArgumentException(base);
            };
        }

        boolean isMax() {
            return sizes.contains("max");
        }

        void bind(PreparedStatement on, int at, String value) throws SQLException {
            if (value == null) {
                on.setNull(at, sqlType());
                return;
            }
            switch (base) {
                case "bit" -> on.setBoolean(at, value.equals("1"));
                case "tinyint", "smallint" -> on.setShort(at, Short.parseShort(value));
                case "int" -> on.setInt(at, Integer.parseInt(value));
                case "bigint" -> on.setLong(at, Long.parseLong(value));
                case "decimal", "money", "smallmoney" -> on.setBigDecimal(at, new BigDecimal(value));
                case "real" -> on.setFloat(at, Float.parseFloat(value));
                case "float" -> on.setDouble(at, Double.parseDouble(value));
                case "binary", "varbinary" -> on.setBytes(at, HexFormat.of().parseHex(value));
                case "date", "time", "datetime", "smalldatetime", "datetime2", "datetimeoffset" -> bindTime(on, at, value);
                case "uniqueidentifier" -> {
                    if (jtds) on.setString(at, value);
                    else ((SQLServerPreparedStatement) on).setUniqueIdentifier(at, value);
                }
                case "nchar", "nvarchar" -> {
                    if (jtds) on.setString(at, value);
                    else on.setNString(at, value);
                }
                default -> on.setString(at, value);
            }
        }

        void bindTime(PreparedStatement on, int at, String value) throws SQLException {
            if (base.endsWith("datetime")) {
                Timestamp stamp = Timestamp.valueOf(value);
                if (jtds) on.setTimestamp(at, stamp);
                else if (base.equals("datetime")) ((SQLServerPreparedStatement) on).setDateTime(at, stamp);
                else ((SQLServerPreparedStatement) on).setSmallDateTime(at, stamp);
                return;
            }
            if (jtds) {
                on.setString(at, value);
                return;
            }
            switch (base) {
                case "date" -> on.setObject(at, LocalDate.parse(value));
                case "time" -> on.setObject(at, LocalTime.parse(value, CLOCK));
                case "datetime2" -> on.setObject(at, LocalDateTime.parse(value, STAMP));
                default -> on.setObject(at, OffsetDateTime.parse(value, OFFSET));
            }
        }

        String read(ResultSet rows) throws SQLException {
            if (rows.getObject(1) == null) return null;
            return switch (base) {
                case "bit" -> rows.getBoolean(1) ? "1" : "0";
                case "decimal", "money", "smallmoney" -> rows.getBigDecimal(1).toPlainString();
                case "real" -> "" + rows.getFloat(1);
                case "float" -> "" + rows.getDouble(1);
                case "binary", "varbinary" -> HexFormat.of().withUpperCase().formatHex(rows.getBytes(1));
                case "datetime", "smalldatetime" -> STAMP.format(rounded(rows.getTimestamp(1)));
                case "date" -> jtds ? rows.getString(1) : rows.getObject(1, LocalDate.class).toString();
                case "time" -> jtds ? trimmed(rows.getString(1)) : CLOCK.format(rows.getObject(1, LocalTime.class));
                case "datetime2" -> jtds ? trimmed(rows.getString(1)) : STAMP.format(rows.getObject(1, LocalDateTime.class));
                // Not as an OffsetDateTime, which the driver makes by the calendar of before 1582.
                case "datetimeoffset" -> trimmed(rows.getString(1));
                case "uniqueidentifier" -> rows.getString(1).toUpperCase();
                default -> rows.getString(1);
            };
        }

        String readOutput(CallableStatement call) throws SQLException {
            if (call.getObject(2) == null) return null;
            return switch (base) {
                case "bit" -> call.getBoolean(2) ? "1" : "0";
                case "decimal", "money", "smallmoney" -> call.getBigDecimal(2).toPlainString();
                case "real" -> "" + call.getFloat(2);
                case "float" -> "" + call.getDouble(2);
                case "binary", "varbinary" -> HexFormat.of().withUpperCase().formatHex(call.getBytes(2));
                case "datetime" -> STAMP.format(rounded(jtds ? call.getTimestamp(2) : ((SQLServerCallableStatement) call).getDateTime(2)));
                case "smalldatetime" -> STAMP.format(rounded(jtds ? call.getTimestamp(2) : ((SQLServerCallableStatement) call).getSmallDateTime(2)));
                case "date" -> jtds ? call.getString(2) : call.getObject(2, LocalDate.class).toString();
                case "time" -> jtds ? trimmed(call.getString(2)) : CLOCK.format(call.getObject(2, LocalTime.class));
                case "datetime2" -> jtds ? trimmed(call.getString(2)) : STAMP.format(call.getObject(2, LocalDateTime.class));
                case "datetimeoffset" -> jtds ? trimmed(call.getString(2)) : OFFSET.format(call.getObject(2, OffsetDateTime.class));
                case "uniqueidentifier" -> call.getString(2).toUpperCase();
                default -> call.getString(2);
            };
        }

        /** datetime counts in 1/300 s; drivers show that with more digits or fewer. */
        static LocalDateTime rounded(Timestamp stamp) {
            LocalDateTime at = stamp.toLocalDateTime();
            int ms = Math.min((at.getNano() + 500_000) / 1_000_000, 999);
            return at.withNano(ms * 1_000_000);
        }

        static String trimmed(String text) {
            return text.replaceFirst("(\\.\\d*?)0+( |$)", "$1$2").replaceFirst("\\.( |$)", "$1");
        }

        void same(JsonObject c, String got, String what) throws Failed {
            String want = c.has("times") ? caseText(c) : c.get("text").isJsonNull() ? null : c.get("expect").getAsString();
            if (want != null && base.equals("real")) want = "" + Float.parseFloat(want);
            if (want != null && base.equals("float")) want = "" + Double.parseDouble(want);
            equal(got, want, what);
        }
    }

    // ---- small things ------------------------------------------------------------------------

    static void equal(String got, String want, String what) throws Failed {
        if (got == null ? want != null : !got.equals(want)) throw new Failed(what + ": got " + cut(got, 120) + ", expected " + cut(want, 120));
    }

    static String cut(String text, int most) {
        return text == null || text.length() <= most ? text : text.substring(0, most) + "... (" + text.length() + ")";
    }

    static String text(String name) {
        return work.get(name).getAsString();
    }

    static String sql(String name) {
        return work.getAsJsonObject("sql").get(name).getAsString();
    }
}
