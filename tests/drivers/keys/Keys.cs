// Keys of tables through .NET's System.Data.SqlClient, as Mono carries it: a command builder writes the statements
// that change rows from the keys that the server sends. Prints one line for each fact.
//
// Its arguments are a connection string and the name of a table that it may make.
using System;
using System.Data;
using System.Data.SqlClient;

static class Keys {
    static int Main(string[] arguments) {
        string table = arguments[1];
        using (var connection = new SqlConnection(arguments[0])) {
            connection.Open();
            Run(connection, "create table " + table + " (id int not null primary key, name varchar(20), n int)");
            Run(connection, "insert " + table + " values (1, 'one', 10), (2, 'two', 20)");
            Schema(connection, "select name as called, n from " + table);
            Change(connection, table);
            Schema(connection, "select count(*) from " + table);
        }
        return 0;
    }

    static void Run(SqlConnection connection, string text) {
        new SqlCommand(text, connection).ExecuteNonQuery();
    }

    /// <summary>The columns with their tables, as KeyInfo asks for them.</summary>
    static void Schema(SqlConnection connection, string text) {
        var behavior = CommandBehavior.KeyInfo | CommandBehavior.SchemaOnly;
        using (var reader = new SqlCommand(text, connection).ExecuteReader(behavior)) {
            foreach (DataRow row in reader.GetSchemaTable().Rows) {
                Console.WriteLine(string.Join(" ", row["ColumnName"], row["BaseTableName"], row["BaseColumnName"],
                    row["IsKey"], row["IsHidden"]));
            }
        }
    }

    /// <summary>Rows that are changed in memory and sent back by the builder's statements.</summary>
    static void Change(SqlConnection connection, string table) {
        var adapter = new SqlDataAdapter("select id, name, n from " + table + " order by id", connection);
        new SqlCommandBuilder(adapter);
        var rows = new DataTable();
        adapter.Fill(rows);
        rows.Rows[0]["name"] = "ein";
        rows.Rows[1].Delete();
        rows.Rows.Add(3, "drei", 30);
        Console.WriteLine("changed " + adapter.Update(rows));
        using (var reader = new SqlCommand("select id, name, n from " + table + " order by id", connection).ExecuteReader()) {
            while (reader.Read()) Console.WriteLine(reader[0] + " " + reader[1] + " " + reader[2]);
        }
    }
}
