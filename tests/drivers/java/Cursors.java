import com.microsoft.sqlserver.jdbc.SQLServerResultSet;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Updatable result sets of Microsoft's JDBC driver, which are server cursors. Prints what it has read. */
public class Cursors {
    static final int SENSITIVE = ResultSet.TYPE_SCROLL_SENSITIVE;
    static final int UPDATABLE = ResultSet.CONCUR_UPDATABLE;

    public static void main(String[] args) throws Exception {
        try (Connection cn = DriverManager.getConnection(args[0]); Connection other = DriverManager.getConnection(args[0])) {
            run(cn, "drop table if exists updated");
            run(cn, "create table updated (id int not null primary key, name varchar(20) not null, n int null)");
            run(cn, "insert updated values (1, 'a', 10), (2, 'b', 20), (3, 'c', null)");
            sensitive(cn, other);
            others(cn, other);
            run(cn, "drop table updated");
        }
    }

    static void run(Connection cn, String sql) throws SQLException {
        try (Statement statement = cn.createStatement()) {
            statement.execute(sql);
        }
    }

    static String row(ResultSet rows) throws SQLException {
        return rows.getInt(1) + " " + rows.getString(2) + " " + rows.getString(3);
    }

    static String table(Connection cn) throws SQLException {
        try (Statement statement = cn.createStatement();
                ResultSet rows = statement.executeQuery("select id, name, n from updated order by id")) {
            List<String> all = new ArrayList<>();
            while (rows.next()) all.add(row(rows));
            return String.join(", ", all);
        }
    }

    static void sensitive(Connection cn, Connection other) throws SQLException {
        try (Statement statement = cn.createStatement(SENSITIVE, UPDATABLE);
                ResultSet rows = statement.executeQuery("select id, name, n from updated order by id")) {
            List<String> all = new ArrayList<>();
            while (rows.next()) all.add(row(rows));
            System.out.println("sensitive: " + String.join(", ", all));
            rows.first();
            rows.updateString("name", "changed");
            rows.updateInt(3, 11);
            rows.updateRow();
            rows.absolute(1);
            System.out.println("after updateRow: " + row(rows));
            rows.absolute(2);
            rows.deleteRow();
            rows.moveToInsertRow();
            rows.updateInt("id", 4);
            rows.updateString("name", "four");
            rows.updateInt("n", 40);
            rows.insertRow();
            rows.moveToCurrentRow();
            System.out.println("in the table: " + table(other));
            rows.absolute(2);
            System.out.println("deleted: " + rows.rowDeleted());
            rows.absolute(3);
            run(other, "update updated set n = 33 where id = 3");
            rows.refreshRow();
            System.out.println("refreshed: " + row(rows));
            run(other, "update updated set n = 34 where id = 3");
            rows.updateInt("n", 35);
            System.out.println("conflict: " + errorOf(rows::updateRow));
        }
    }

    static void others(Connection cn, Connection other) throws SQLException {
        cn.setAutoCommit(false);
        try (Statement statement = cn.createStatement(SENSITIVE, SQLServerResultSet.CONCUR_SS_SCROLL_LOCKS);
                ResultSet rows = statement.executeQuery("select id, name, n from updated order by id")) {
            rows.next();
            rows.updateString(2, "locked");
            rows.updateRow();
            rows.refreshRow();
            System.out.println("scroll locks: " + row(rows));
        }
        cn.commit();
        cn.setAutoCommit(true);
        try (Statement statement = cn.createStatement(ResultSet.TYPE_FORWARD_ONLY, UPDATABLE);
                ResultSet rows = statement.executeQuery("select id, name, n from updated where id = 1")) {
            rows.next();
            rows.updateString(2, "forward");
            rows.updateRow();
        }
        System.out.println("forward only: " + table(other).split(", ")[0]);
        try (Statement statement = cn.createStatement(SQLServerResultSet.TYPE_SS_SCROLL_DYNAMIC, UPDATABLE)) {
            statement.setFetchSize(1);
            try (ResultSet rows = statement.executeQuery("select id, name, n from updated")) {
                List<String> ids = new ArrayList<>();
                rows.next();
                run(other, "insert updated values (5, 'five', 50)");
                do ids.add(rows.getString(1)); while (rows.next());
                System.out.println("dynamic: " + String.join(", ", ids));
            }
        }
        try (PreparedStatement statement = cn.prepareStatement("select id, name, n from updated where id = ?", SENSITIVE, UPDATABLE)) {
            statement.setInt(1, 4);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                rows.updateInt("n", rows.getInt("n") + 1);
                rows.updateRow();
                rows.refreshRow();
                System.out.println("prepared: " + row(rows));
            }
        }
        run(cn, "drop table if exists joined");
        run(cn, "create table joined (id int not null primary key, word varchar(20) null)");
        run(cn, "insert joined values (4, 'quatre')");
        try (Statement statement = cn.createStatement(SENSITIVE, UPDATABLE);
                ResultSet rows = statement.executeQuery(
                    "select u.id, u.name, j.word as other_name from updated u join joined j on j.id = u.id")) {
            rows.next();
            rows.updateString("other_name", "vier");
            rows.updateRow();
            rows.refreshRow();
            System.out.println("join: " + row(rows));
        }
        run(cn, "drop table joined");
        try (Statement statement = cn.createStatement(SENSITIVE, UPDATABLE);
                ResultSet rows = statement.executeQuery("select count(*), name from updated group by name")) {
            rows.next();
            rows.updateString(2, "none");
            System.out.println("grouped: " + (errorOf(rows::updateRow) != 0 ? "read only" : "updated"));
        } catch (SQLException refused) {
            System.out.println("grouped: read only");
        }
    }

    interface Action {
        void run() throws SQLException;
    }

    static int errorOf(Action action) {
        try {
            action.run();
            return 0;
        } catch (SQLException refused) {
            return refused.getErrorCode() == 0 ? -1 : refused.getErrorCode();
        }
    }
}
