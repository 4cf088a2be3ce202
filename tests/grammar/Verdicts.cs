// Says of each batch on its standard input whether Microsoft's parser accepts it: the other half of this test.
//
// A batch is its length in bytes, as four bytes with the least significant first, and its text in UTF-8. The
// answer is a line: "ok", or the error's number, line, column and text, with tabs between them. A text with more
// than one batch (a GO line) is refused as such: the server knows no GO.
using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using Microsoft.SqlServer.TransactSql.ScriptDom;

static class Verdicts
{
    static void Main()
    {
        var parser = new TSql150Parser(true);
        var input = new BinaryReader(Console.OpenStandardInput());
        var output = new StreamWriter(Console.OpenStandardOutput());
        for (byte[] head = input.ReadBytes(4); head.Length == 4; head = input.ReadBytes(4))
        {
            string text = Encoding.UTF8.GetString(input.ReadBytes(BitConverter.ToInt32(head, 0)));
            output.Write(Of(parser, text) + "\n");
        }
        output.Flush();
    }

    static string Of(TSqlParser parser, string text)
    {
        IList<ParseError> errors;
        TSqlFragment tree = parser.Parse(new StringReader(text), out errors);
        if (errors.Count > 0)
        {
            ParseError first = errors[0];
            string message = first.Message.Replace('\n', ' ').Replace('\r', ' ').Replace('\t', ' ');
            return first.Number + "\t" + first.Line + "\t" + first.Column + "\t" + message;
        }
        var script = tree as TSqlScript;
        return script != null && script.Batches.Count > 1 ? "0\t1\t1\tmore than one batch" : "ok";
    }
}
