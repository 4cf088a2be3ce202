// MARS through .NET's System.Data.SqlClient, as Mono carries it: prints one line for each fact.
//
// Its arguments are a connection string and the name of a table that it may make.
using System;
using System.Data.SqlClient;

static class Mars {
    static SqlConnection connection;
    static string table;

    static int Main(string[] arguments) {
        table = arguments[1];
        using (connection = new SqlConnection(arguments[0])) {
            connection.Open();
            Interleaved();
            Run("create table " + table + " (a int primary key, b int, c char(200))");
            Run("insert " + table + " select value, 0, 'x' from generate_series(1, 5000)");
            ChangedWhileRead();
            TransactionAcross();
            CancelledAlone();
            Run("create table #z (a int); set datefirst 3");
        }
        // The pool gives the connection to the next, and resets it.
        for (int i = 0; i < 3; i++) {
            using (connection = new SqlConnection(arguments[0])) {
                connection.Open();
                Console.WriteLine("datefirst " + Scalar("select @@datefirst") + " " + Scalar("select object_id('tempdb..#z')"));
                Run("set datefirst 2");
            }
        }
        return 0;
    }

    static SqlCommand Command(string text, SqlTransaction transaction = null) {
        return new SqlCommand(text, connection, transaction);
    }

    static void Run(string text) { Command(text).ExecuteNonQuery(); }

    static object Scalar(string text) { return Command(text).ExecuteScalar(); }

    static int Rest(SqlDataReader reader) {
        int count = 0;
        while (reader.Read()) count++;
        return count;
    }

    static int NumberOf(Action work) {
        try { work(); } catch (SqlException raised) { return raised.Number; }
        return 0;
    }

    /// <summary>Two readers, row by row in turn.</summary>
    static void Interleaved() {
        using (var one = Command("select value, replicate('x', 100) from generate_series(1, 30000)").ExecuteReader())
        using (var other = Command("select value * 2 from generate_series(1, 30000)").ExecuteReader()) {
            int count = 0;
            while (one.Read() && other.Read() && one.GetInt32(0) * 2 == other.GetInt32(0)) count++;
            Console.WriteLine("interleaved " + count + " " + Rest(other));
        }
    }

    /// <summary>Rows are changed while a reader is open; no transaction begins then.</summary>
    static void ChangedWhileRead() {
        using (var reader = Command("select a, c from " + table).ExecuteReader()) {
            for (int i = 0; i < 500 && reader.Read(); i++) {
                var update = Command("update " + table + " set b = @a where a = @a");
                update.Parameters.AddWithValue("@a", reader.GetInt32(0));
                update.ExecuteNonQuery();
            }
            Console.WriteLine("begin " + NumberOf(() => connection.BeginTransaction()));
            Console.WriteLine("rest " + Rest(reader));
        }
        Console.WriteLine("changed " + Scalar("select count(*) from " + table + " where a = b"));
    }

    /// <summary>A reader and a DELETE in one transaction, which is not committed before the reader's end.</summary>
    static void TransactionAcross() {
        using (var transaction = connection.BeginTransaction()) {
            using (var reader = Command("select a, c from " + table, transaction).ExecuteReader()) {
                reader.Read();
                Command("delete " + table + " where a > 10", transaction).ExecuteNonQuery();
                Console.WriteLine("commit " + NumberOf(transaction.Commit));
                Console.WriteLine("read " + Rest(reader));
            }
            Console.WriteLine("left " + Command("select count(*) from " + table, transaction).ExecuteScalar());
            transaction.Rollback();
        }
        Console.WriteLine("back " + Scalar("select count(*) from " + table));
    }

    static void CancelledAlone() {
        var many = Command("select value, replicate('x', 100) from generate_series(1, 3000000)");
        using (var kept = Command("select value, replicate('x', 100) from generate_series(1, 30000)").ExecuteReader())
        using (var reader = many.ExecuteReader()) {
            reader.Read();
            many.Cancel();
            Console.WriteLine("kept " + Rest(kept));
        }
    }
}
