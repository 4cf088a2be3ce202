// One type of the spec: how SqlClient binds its values, reads them and spells them.
using System;
using System.Collections.Generic;
using System.Data;
using System.Data.SqlClient;
using System.Data.SqlTypes;
using System.Globalization;
using System.Linq;

using Map = System.Collections.Generic.Dictionary<string, object>;

class Kind {
    static readonly CultureInfo Plain = CultureInfo.InvariantCulture;
    readonly string name, type;
    readonly string[] sizes;
    readonly bool outputs;
    readonly List<object> cases;

    public Kind(Map kind) {
        name = (string)kind["name"];
        type = (string)kind["base"];
        sizes = ((List<object>)kind["sizes"]).Cast<string>().ToArray();
        outputs = (bool)kind["outputs"];
        cases = (List<object>)kind["cases"];
    }

    /// <summary>Sends every case as a parameter, reads it as a column and an OUTPUT parameter, and lets
    /// the server compare it with the literal.</summary>
    public void Check(SqlConnection cn) {
        Program.Execute(cn, "create table #t (id int not null primary key, v " + name + " null)");
        for (int n = 0; n < cases.Count; n++) {
            var c = (Map)cases[n];
            try {
                OneCase(cn, n, c);
            } catch (Exception raised) {
                throw new Failed("case " + c["case"] + ": " + raised.Message);
            }
        }
    }

    void OneCase(SqlConnection cn, int n, Map c) {
        string text = Whole(c);
        using (var insert = new SqlCommand("insert into #t (id, v) values (@id, @v)", cn)) {
            insert.Parameters.AddWithValue("@id", n);
            insert.Parameters.Add(Parameter("@v", text));
            insert.ExecuteNonQuery();
        }
        using (var select = new SqlCommand("select v from #t where id = @id", cn)) {
            select.Parameters.AddWithValue("@id", n);
            using (var reader = select.ExecuteReader()) {
                reader.Read();
                Same(c, reader.GetSqlValue(0), "column");
            }
        }
        string where = (string)c["where"];
        var seen = Program.Scalar(cn, "select count(*) from #t where id = " + n + " and " + where);
        Program.Equal(seen, 1, "rows where " + Program.Cut(where, 80));
        if (!outputs) return;
        using (var echo = new SqlCommand("set @o = @i", cn)) {
            echo.Parameters.Add(Parameter("@i", text));
            var output = Parameter("@o", null);
            output.Direction = ParameterDirection.Output;
            echo.Parameters.Add(output);
            echo.ExecuteNonQuery();
            Same(c, output.SqlValue ?? DBNull.Value, "OUTPUT");
        }
    }

    static string Whole(Map c) {
        if (c.ContainsKey("times")) return string.Concat(Enumerable.Repeat((string)c["repeat"], Convert.ToInt32(c["times"])));
        return (string)c["text"];
    }

    SqlParameter Parameter(string parameter, string text) {
        var p = new SqlParameter(parameter, (SqlDbType)Enum.Parse(typeof(SqlDbType), type, true));
        if (sizes.Length > 0 && sizes[0] == "max") p.Size = -1;
        else if (type == "decimal") {
            p.Precision = byte.Parse(sizes[0]);
            p.Scale = byte.Parse(sizes[1]);
        } else if (sizes.Length > 0 && (type == "time" || type.StartsWith("datetime"))) p.Scale = byte.Parse(sizes[0]);
        else if (sizes.Length > 0) p.Size = int.Parse(sizes[0]);
        p.Value = text == null ? DBNull.Value : Native(text);
        return p;
    }

    object Native(string text) {
        switch (type) {
            case "bit": return text == "1";
            case "tinyint": return byte.Parse(text);
            case "smallint": return short.Parse(text);
            case "int": return int.Parse(text);
            case "bigint": return long.Parse(text);
            case "decimal": return SqlDecimal.Parse(text);
            case "money": case "smallmoney": return decimal.Parse(text, Plain);
            case "real": return float.Parse(text, Plain);
            case "float": return double.Parse(text, Plain);
            case "date": case "datetime": case "datetime2": case "smalldatetime": return DateTime.Parse(text, Plain);
            case "time": return TimeSpan.Parse(text, Plain);
            case "datetimeoffset": return DateTimeOffset.Parse(text, Plain);
            case "binary": case "varbinary":
                return Enumerable.Range(0, text.Length / 2).Select(i => (byte)(Digit(text[2 * i]) << 4 | Digit(text[2 * i + 1]))).ToArray();
            case "uniqueidentifier": return Guid.Parse(text);
            default: return text;
        }
    }

    static int Digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

    void Same(Map c, object value, string what) {
        bool isNull = value == null || value == DBNull.Value || (value is INullable && ((INullable)value).IsNull);
        string want = c.ContainsKey("times") ? Whole(c) : c["text"] == null ? null : (string)c["expect"];
        if (isNull || want == null) {
            Program.Equal(isNull ? null : value, want, what);
            return;
        }
        if (type == "real") Program.Equal(value is SqlSingle ? ((SqlSingle)value).Value : (float)value, float.Parse(want, Plain), what);
        else if (type == "float") Program.Equal(value is SqlDouble ? ((SqlDouble)value).Value : (double)value, double.Parse(want, Plain), what);
        else Program.Equal(Spell(value), want, what);
    }

    string Spell(object value) {
        if (value is SqlBoolean) return ((SqlBoolean)value).Value ? "1" : "0";
        if (value is SqlMoney) return ((SqlMoney)value).ToDecimal().ToString("F4", Plain);
        if (value is SqlBinary) value = ((SqlBinary)value).Value;
        if (value is SqlBytes) value = ((SqlBytes)value).Value;
        if (value is SqlChars) return new string(((SqlChars)value).Value);
        if (value is SqlDateTime) value = ((SqlDateTime)value).Value;
        if (value is SqlGuid) value = ((SqlGuid)value).Value;
        if (value is byte[]) return Hex((byte[])value);
        if (value is Guid) return value.ToString().ToUpperInvariant();
        if (value is DateTimeOffset) return Clock(((DateTimeOffset)value).DateTime) + ((DateTimeOffset)value).ToString(" zzz", Plain);
        if (value is TimeSpan) return Trim(((TimeSpan)value).ToString(@"hh\:mm\:ss\.fffffff", Plain));
        if (value is DateTime) return type == "date" ? ((DateTime)value).ToString("yyyy-MM-dd", Plain) : Clock((DateTime)value);
        return value.ToString();
    }

    string Clock(DateTime at) {
        if (type == "datetime") at = new DateTime((at.Ticks + 5000) / 10000 * 10000);
        return Trim(at.ToString("yyyy-MM-dd HH:mm:ss.fffffff", Plain));
    }

    static string Trim(string text) { return text.TrimEnd('0').TrimEnd('.'); }

    static string Hex(byte[] bytes) {
        const string digits = "0123456789ABCDEF";
        var text = new char[bytes.Length * 2];
        for (int i = 0; i < bytes.Length; i++) {
            text[2 * i] = digits[bytes[i] >> 4];
            text[2 * i + 1] = digits[bytes[i] & 15];
        }
        return new string(text);
    }
}
