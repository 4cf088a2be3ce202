// Runs the checks of spec.toml through .NET's System.Data.SqlClient, as Mono carries it.
//
// It reads its work as JSON on standard input and prints one JSON line per check.
using System;
using System.Collections.Generic;
using System.Data;
using System.Data.SqlClient;
using System.Data.SqlTypes;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Threading;

using Map = System.Collections.Generic.Dictionary<string, object>;

/// <summary>A check did not hold.</summary>
class Failed : Exception {
    public Failed(string text) : base(text) { }
}

static class Program {
    const int CancelMsMax = 1000;
    const int CheckMsMax = 30000;
    static Map work;

    static int Main() {
        Thread.CurrentThread.CurrentCulture = CultureInfo.InvariantCulture;
        Console.OutputEncoding = new UTF8Encoding(false);
        var input = new System.IO.StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false)).ReadToEnd();
        work = (Map)new Json(input).Value();
        foreach (string check in (List<object>)work["checks"]) {
            string detail = "it took more than " + CheckMsMax + " ms";
            // A check that hangs must not take the others with it.
            var thread = new Thread(() => detail = Outcome(check)) { IsBackground = true };
            thread.Start();
            thread.Join(CheckMsMax);
            Console.WriteLine("{\"check\": " + Json.Quote(check) + ", \"ok\": " + (detail == "" ? "true" : "false")
                + ", \"detail\": " + Json.Quote(Cut(detail, 600)) + "}");
        }
        Environment.Exit(0); // not through Main's end, which would wait for what hangs
        return 0;
    }

    /// <summary>Runs a check; the text says what did not hold.</summary>
    static string Outcome(string check) {
        try {
            Run(check);
            return "";
        } catch (Failed failed) {
            return failed.Message;
        } catch (Exception raised) {
            return raised.GetType().Name + ": " + raised.Message + " " + raised.StackTrace.Split('\n')[0].Trim();
        }
    }

    static void Run(string check) {
        switch (check) {
            case "wrong-password": Refused(18456, "not it", null); return;
            case "unknown-database": Refused(4060, Text("password"), "no_such_database"); return;
            case "commit": Transaction(true, 2); return;
            case "rollback": Transaction(false, 0); return;
            case "pool-reset": PoolReset(); return;
        }
        using (var cn = Open()) RunOn(check, cn);
    }

    static void RunOn(string check, SqlConnection cn) {
        switch (check) {
            case "connect":
                Equal(Scalar(cn, "select 1"), 1, "select 1");
                if (!((string)Scalar(cn, "select @@version")).StartsWith("Microsoft SQL Server")) throw new Failed("@@version");
                return;
            case "procedure": Procedure(cn); return;
            case "two-results": TwoResults(cn); return;
            case "error-divide": Failing(cn, Sql(check), 8134, 3, "", 0); return;
            case "error-duplicate":
                Execute(cn, "create table #d (k int not null primary key)");
                Execute(cn, "insert into #d values (1)");
                Failing(cn, "insert into #d values (1)", 2627, 1, "", 0);
                return;
            case "error-object": Failing(cn, Sql(check), 208, 1, "no_such_table", 0); return;
            case "error-syntax": Failing(cn, Sql(check), 102, 2, "')'", 0); return;
            case "error-raise": Failing(cn, Sql(check), 50000, 1, "bad luck 13", 3); return;
            case "messages": Messages(cn); return;
            case "cancel-wait": case "cancel-loop": Cancelled(cn, Sql(check)); return;
            case "thousand": Thousand(cn); return;
            case "prepared": Prepared(cn); return;
            case "bulk": Bulk(cn); return;
        }
        foreach (Map kind in (List<object>)work["types"])
            if (check == "type-" + kind["name"]) {
                new Kind(kind).Check(cn);
                return;
            }
        throw new Failed("this program has no check " + check);
    }

    // ---- connections -------------------------------------------------------------------------

    static SqlConnection Open(string password = null, string database = null, string extra = "Pooling=false") {
        var text = new SqlConnectionStringBuilder(extra) {
            DataSource = Text("host") + "," + work["port"], UserID = Text("user"),
            Password = password ?? Text("password"), ConnectTimeout = 10,
        };
        if (database != null) text.InitialCatalog = database;
        var cn = new SqlConnection(text.ConnectionString);
        cn.Open();
        return cn;
    }

    static void Refused(int number, string password, string database) {
        try {
            Open(password, database).Dispose();
        } catch (SqlException raised) {
            var numbers = raised.Errors.Cast<SqlError>().Select(e => e.Number).ToList();
            if (!numbers.Contains(number)) throw new Failed("errors " + string.Join(",", numbers) + ", expected " + number + ": " + raised.Message);
            return;
        }
        throw new Failed("the login was accepted");
    }

    public static void Execute(SqlConnection cn, string sql, SqlTransaction tx = null) {
        using (var command = new SqlCommand(sql, cn, tx)) command.ExecuteNonQuery();
    }

    public static object Scalar(SqlConnection cn, string sql, SqlTransaction tx = null) {
        using (var command = new SqlCommand(sql, cn, tx)) return command.ExecuteScalar();
    }

    // ---- the checks --------------------------------------------------------------------------

    static void Procedure(SqlConnection cn) {
        Execute(cn, Sql("procedure-create"));
        try {
            using (var call = new SqlCommand("p_" + Text("mark"), cn) { CommandType = CommandType.StoredProcedure }) {
                // By name, in another order than declared, as providers do.
                var c = call.Parameters.Add("@c", SqlDbType.Int);
                c.Direction = ParameterDirection.Output;
                var b = call.Parameters.Add("@b", SqlDbType.NVarChar, 50);
                b.Direction = ParameterDirection.InputOutput;
                b.Value = "in";
                call.Parameters.AddWithValue("@a", 21);
                var status = call.Parameters.Add("@status", SqlDbType.Int);
                status.Direction = ParameterDirection.ReturnValue;
                var seen = new List<int>();
                using (var reader = call.ExecuteReader())
                    while (reader.Read()) seen.Add(reader.GetInt32(0));
                Equal(string.Join(",", seen) + " " + b.Value + " " + c.Value + " " + status.Value, "21 in! 42 7", "rows, outputs, status");
            }
        } finally {
            Execute(cn, Sql("procedure-drop"));
        }
    }

    static void TwoResults(SqlConnection cn) {
        var seen = new StringBuilder();
        using (var command = new SqlCommand(Sql("two-results"), cn))
        using (var reader = command.ExecuteReader())
            do {
                for (int i = 0; i < reader.FieldCount; i++) seen.Append(reader.GetName(i)).Append(' ');
                while (reader.Read())
                    for (int i = 0; i < reader.FieldCount; i++) seen.Append(reader.GetValue(i)).Append(' ');
                seen.Append("| ");
            } while (reader.NextResult());
        Equal(seen.ToString(), "a 1 | b c two 3 | ", "result sets");
    }

    static void Transaction(bool commit, int count) {
        string table = "tx_" + Text("mark");
        using (var other = Open())
        using (var cn = Open()) {
            Execute(other, "create table " + table + " (k int not null primary key)");
            try {
                using (var tx = cn.BeginTransaction()) {
                    Execute(cn, "insert into " + table + " values (1)", tx);
                    Execute(cn, "insert into " + table + " values (2)", tx);
                    Equal(Scalar(cn, "select @@trancount", tx), 1, "@@trancount inside");
                    if (commit) tx.Commit();
                    else tx.Rollback();
                }
                Equal(Scalar(other, "select count(*) from " + table), count, "rows after");
            } finally {
                Execute(other, "drop table " + table);
            }
        }
    }

    static void Failing(SqlConnection cn, string sql, int number, int line, string words, int state) {
        try {
            Execute(cn, sql);
        } catch (SqlException raised) {
            var error = raised.Errors[0];
            Equal(error.Number + " on " + error.LineNumber, number + " on " + line, "error and line of " + error.Message);
            if (!error.Message.Contains(words)) throw new Failed("message " + error.Message);
            if (state != 0) Equal((int)error.State, state, "state");
            Equal(Scalar(cn, "select 5"), 5, "after the error");
            return;
        }
        throw new Failed("no error came");
    }

    static void Messages(SqlConnection cn) {
        var seen = new List<string>();
        cn.InfoMessage += (sender, info) => {
            foreach (SqlError e in info.Errors) seen.Add(e.Message + " " + e.LineNumber);
        };
        Execute(cn, Sql("messages"));
        Equal(string.Join("|", seen), "hello print 1|hello info 42 2", "messages and lines");
    }

    static void Cancelled(SqlConnection cn, string sql) {
        // Asynchronous, since a synchronous read holds the lock that sending the attention needs.
        using (var command = new SqlCommand(sql, cn) { CommandTimeout = 60 })
        using (var source = new CancellationTokenSource()) {
            var clock = new Stopwatch();
            var running = command.ExecuteNonQueryAsync(source.Token);
            Thread.Sleep(300);
            if (running.IsCompleted) throw new Failed("the statement ended by itself: " + running.Exception);
            clock.Start();
            source.Cancel();
            try {
                running.Wait();
                throw new Failed("the statement ended well");
            } catch (AggregateException) {
                if (clock.ElapsedMilliseconds > CancelMsMax) throw new Failed("the answer came " + clock.ElapsedMilliseconds + " ms after the cancel");
            }
        }
        Equal(Scalar(cn, "select 6"), 6, "after the cancel");
    }

    static void PoolReset() {
        const string pool = "Max Pool Size=1;Pooling=true;Application Name=pooled";
        object spid;
        using (var cn = Open(null, null, pool)) {
            spid = Scalar(cn, "select @@spid");
            Execute(cn, "create table #pooled (a int)");
            Execute(cn, "set lock_timeout 1234");
            Execute(cn, "set transaction isolation level repeatable read");
            Execute(cn, "begin transaction");
        }
        using (var cn = Open(null, null, pool)) {
            Equal(Scalar(cn, "select @@spid"), spid, "@@spid: the pool made a new connection");
            Equal(Scalar(cn, "select @@trancount"), 0, "@@trancount");
            Equal(Scalar(cn, "select object_id('tempdb..#pooled')"), DBNull.Value, "the temp table");
            Equal(Scalar(cn, "select @@lock_timeout"), -1, "@@lock_timeout");
            Equal(Scalar(cn, "select transaction_isolation_level from sys.dm_exec_sessions where session_id = @@spid").ToString(), "3", "isolation level");
        }
    }

    static void Thousand(SqlConnection cn) {
        for (int n = 0; n < 1000; n++)
            using (var command = new SqlCommand(n % 2 == 1 ? "select " + n : "select cast(@n as int)", cn)) {
                if (n % 2 == 0) command.Parameters.AddWithValue("@n", n);
                Equal(command.ExecuteScalar(), n, "statement");
            }
    }

    static void Prepared(SqlConnection cn) {
        using (var command = new SqlCommand("select @n + 1", cn)) {
            var n = command.Parameters.Add("@n", SqlDbType.Int);
            n.Value = 0;
            command.Prepare();
            foreach (int value in new[] { 1, -5, 2147483646, 0, 7, 8, 9 }) {
                n.Value = value;
                Equal(command.ExecuteScalar(), value + 1, "prepared");
            }
        }
    }

    static void Bulk(SqlConnection cn) {
        string table = "bulk_" + Text("mark");
        Execute(cn, Sql("bulk-create"));
        try {
            var rows = new DataTable();
            foreach (var column in new Dictionary<string, Type> {
                { "id", typeof(int) }, { "name", typeof(string) }, { "amount", typeof(decimal) },
                { "stamp", typeof(DateTime) }, { "data", typeof(byte[]) } })
                rows.Columns.Add(column.Key, column.Value);
            var stamp = new DateTime(2024, 2, 29, 12, 34, 56, 123);
            for (int n = 1; n <= 500; n++)
                rows.Rows.Add(n, n % 7 == 0 ? (object)DBNull.Value : "name " + n + " é", n / 4m, stamp, new[] { (byte)n, (byte)0, (byte)255 });
            using (var copy = new SqlBulkCopy(cn) { DestinationTableName = table }) copy.WriteToServer(rows);
            int at = 0;
            using (var command = new SqlCommand("select id, name, amount, stamp, data from " + table + " order by id", cn))
            using (var reader = command.ExecuteReader())
                for (; reader.Read(); at++) {
                    var want = rows.Rows[at].ItemArray;
                    var got = new object[5];
                    reader.GetValues(got);
                    Equal(Row(got), Row(want), "row");
                }
            Equal(at, 500, "rows");
        } finally {
            Execute(cn, "drop table " + table);
        }
    }

    static string Row(object[] row) {
        return row[0] + " " + row[1] + " " + ((decimal)row[2]).ToString("F4") + " " + ((DateTime)row[3]).ToString("o") + " " + BitConverter.ToString((byte[])row[4]);
    }

    // ---- small things ------------------------------------------------------------------------

    public static void Equal(object got, object want, string what) {
        if (!Equals(got, want)) throw new Failed(what + ": got " + Cut("" + got, 120) + ", expected " + Cut("" + want, 120));
    }

    public static string Cut(string text, int most) {
        return text.Length <= most ? text : text.Substring(0, most) + "... (" + text.Length + ")";
    }

    public static string Text(string name) { return (string)work[name]; }

    static string Sql(string name) { return (string)((Map)work["sql"])[name]; }
}
