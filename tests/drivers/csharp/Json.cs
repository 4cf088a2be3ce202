// As much JSON as the harness sends; Mono's own parsers would each pull in another Debian package.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

class Json {
    readonly string text;
    int at;

    public Json(string source) { text = source; }

    public object Value() {
        Skip();
        switch (text[at]) {
            case '{': return Object();
            case '[': return Array();
            case '"': return String();
            case 't': at += 4; return true;
            case 'f': at += 5; return false;
            case 'n': at += 4; return null;
            default: return Number();
        }
    }

    Dictionary<string, object> Object() {
        var map = new Dictionary<string, object>();
        for (at++, Skip(); text[at] != '}'; Skip()) {
            if (text[at] == ',') at++;
            Skip();
            string key = String();
            Skip();
            at++; // the colon
            map[key] = Value();
        }
        at++;
        return map;
    }

    List<object> Array() {
        var list = new List<object>();
        for (at++, Skip(); text[at] != ']'; Skip()) {
            if (text[at] == ',') at++;
            list.Add(Value());
        }
        at++;
        return list;
    }

    string String() {
        var made = new StringBuilder();
        for (at++; text[at] != '"'; at++) {
            if (text[at] != '\\') {
                made.Append(text[at]);
                continue;
            }
            at++;
            switch (text[at]) {
                case 'n': made.Append('\n'); break;
                case 't': made.Append('\t'); break;
                case 'r': made.Append('\r'); break;
                case 'u':
                    made.Append((char)int.Parse(text.Substring(at + 1, 4), NumberStyles.HexNumber));
                    at += 4;
                    break;
                default: made.Append(text[at]); break;
            }
        }
        at++;
        return made.ToString();
    }

    object Number() {
        int start = at;
        while (at < text.Length && "+-.eE0123456789".IndexOf(text[at]) >= 0) at++;
        return long.Parse(text.Substring(start, at - start), CultureInfo.InvariantCulture);
    }

    void Skip() {
        while (char.IsWhiteSpace(text[at])) at++;
    }

    public static string Quote(string plain) {
        var made = new StringBuilder("\"");
        foreach (char c in plain)
            if (c == '"' || c == '\\') made.Append('\\').Append(c);
            else if (c < ' ') made.AppendFormat("\\u{0:x4}", (int)c);
            else made.Append(c);
        return made.Append('"').ToString();
    }
}
