// Command driver runs the checks of spec.toml through go-mssqldb and database/sql.
//
// It reads its work as JSON on standard input and prints one JSON line per check.
package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

type testCase struct {
	Case   string  `json:"case"`
	Text   *string `json:"text"`
	Expect string  `json:"expect"`
	Repeat string  `json:"repeat"`
	Times  int     `json:"times"`
	Where  string  `json:"where"`
}

type kind struct {
	Name    string     `json:"name"`
	Base    string     `json:"base"`
	Sizes   []string   `json:"sizes"`
	Outputs bool       `json:"outputs"`
	Cases   []testCase `json:"cases"`
}

type work struct {
	Mark     string            `json:"mark"`
	Host     string            `json:"host"`
	Port     int               `json:"port"`
	User     string            `json:"user"`
	Password string            `json:"password"`
	Cert     string            `json:"cert"`
	Checks   []string          `json:"checks"`
	SQL      map[string]string `json:"sql"`
	Types    []kind            `json:"types"`
}

type answer struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

var (
	job work
	ctx = context.Background()
)

const (
	cancelMax = time.Second
	checkMax  = 30 * time.Second
)

// open makes a pool; options are added to the connection string.
func open(password string, options map[string]string) *sql.DB {
	query := url.Values{}
	for name, value := range options {
		query.Set(name, value)
	}
	where := url.URL{
		Scheme: "sqlserver", User: url.UserPassword(job.User, password),
		Host: fmt.Sprintf("%s:%d", job.Host, job.Port), RawQuery: query.Encode(),
	}
	db, err := sql.Open("sqlserver", where.String())
	if err != nil {
		panic(err)
	}
	return db
}

func main() {
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		panic(err)
	}
	for _, check := range job.Checks {
		result := answer{Check: check, OK: true}
		if err := limited(check); err != nil {
			result.OK, result.Detail = false, short(err.Error(), 600)
		}
		line, _ := json.Marshal(result)
		fmt.Println(string(line))
	}
}

// limited gives a check its time; one that hangs must not take the others with it.
func limited(check string) error {
	ended := make(chan error, 1)
	go func() { ended <- guarded(check) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(checkMax):
		return fmt.Errorf("it took more than %v", checkMax)
	}
}

// guarded runs one check on a pool of its own and turns a panic into an error.
func guarded(check string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	db := open(job.Password, nil)
	defer db.Close()
	conn := func() (*sql.Conn, error) { return db.Conn(ctx) }
	if name, is := strings.CutPrefix(check, "type-"); is {
		for _, k := range job.Types {
			if k.Name == name {
				cn, err := conn()
				if err != nil {
					return err
				}
				defer cn.Close()
				return ofType(cn, k)
			}
		}
		return fmt.Errorf("no such type %s", name)
	}
	return run(check, db, conn)
}

func run(check string, db *sql.DB, conn func() (*sql.Conn, error)) error {
	switch check {
	case "connect":
		return connect(db)
	case "connect-strict":
		strict := open(job.Password, map[string]string{
			"encrypt": "strict", "serverCertificate": job.Cert,
		})
		defer strict.Close()
		return wantScalar(strict, "select N'strict'", "strict")
	case "wrong-password":
		return refused(18456, open("not it", nil))
	case "unknown-database":
		return refused(4060, open(job.Password, map[string]string{"database": "no_such_database"}))
	case "commit":
		return transaction(db, true, 2)
	case "rollback":
		return transaction(db, false, 0)
	case "pool-reset":
		return poolReset(db)
	}
	cn, err := conn()
	if err != nil {
		return err
	}
	defer cn.Close()
	switch check {
	case "procedure":
		return procedure(cn)
	case "two-results":
		return twoResults(cn)
	case "error-divide":
		return failing(cn, job.SQL[check], 8134, 3, "", 0)
	case "error-duplicate":
		for _, text := range []string{"create table #d (k int not null primary key)", "insert into #d values (1)"} {
			if _, err := cn.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return failing(cn, "insert into #d values (1)", 2627, 1, "", 0)
	case "error-object":
		return failing(cn, job.SQL[check], 208, 1, "no_such_table", 0)
	case "error-syntax":
		return failing(cn, job.SQL[check], 102, 2, "')'", 0)
	case "error-raise":
		return failing(cn, job.SQL[check], 50000, 1, "bad luck 13", 3)
	case "messages":
		return messages()
	case "cancel-wait", "cancel-loop":
		return cancelled(cn, job.SQL[check])
	case "thousand":
		return thousand(cn)
	case "prepared":
		return prepared(cn)
	case "bulk":
		return bulk(cn)
	}
	return fmt.Errorf("this program has no check %s", check)
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// wantScalar compares the one value of a query as text.
func wantScalar(on querier, query, want string, args ...any) error {
	var got any
	if err := on.QueryRowContext(ctx, query, args...).Scan(&got); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	if fmt.Sprint(got) != want {
		return fmt.Errorf("%s: got %v, expected %s", short(query, 100), got, want)
	}
	return nil
}

func connect(db *sql.DB) error {
	var version string
	if err := db.QueryRow("select @@version").Scan(&version); err != nil {
		return err
	}
	if !strings.HasPrefix(version, "Microsoft SQL Server") {
		return fmt.Errorf("@@version is %q", version)
	}
	return wantScalar(db, "select 1", "1")
}

func refused(number int32, db *sql.DB) error {
	defer db.Close()
	err := db.Ping()
	if err == nil {
		return errors.New("the login was accepted")
	}
	for _, got := range numbers(err) {
		if got == number {
			return nil
		}
	}
	return fmt.Errorf("errors %v, expected %d: %v", numbers(err), number, err)
}

// numbers lists every server error that came with one.
func numbers(err error) []int32 {
	var server mssql.Error
	if !errors.As(err, &server) {
		return nil
	}
	found := []int32{server.Number}
	for _, e := range server.All {
		found = append(found, e.Number)
	}
	return found
}

func procedure(cn *sql.Conn) error {
	if _, err := cn.ExecContext(ctx, job.SQL["procedure-create"]); err != nil {
		return err
	}
	defer cn.ExecContext(ctx, job.SQL["procedure-drop"])
	b, c := "in", int64(0)
	var status mssql.ReturnStatus
	rows, err := cn.QueryContext(ctx, "p_"+job.Mark, sql.Named("a", 21),
		sql.Named("b", sql.Out{Dest: &b, In: true}), sql.Named("c", sql.Out{Dest: &c}), &status)
	if err != nil {
		return err
	}
	var seen []int
	for rows.Next() {
		var a int
		if err := rows.Scan(&a); err != nil {
			return err
		}
		seen = append(seen, a)
	}
	rows.Close()
	if got := fmt.Sprintf("%v %s %d %d %v", seen, b, c, status, rows.Err()); got != "[21] in! 42 7 <nil>" {
		return fmt.Errorf("got %s", got)
	}
	return nil
}

func twoResults(cn *sql.Conn) error {
	rows, err := cn.QueryContext(ctx, job.SQL["two-results"])
	if err != nil {
		return err
	}
	defer rows.Close()
	var a, c int
	var b string
	columns, _ := rows.Columns()
	if !rows.Next() || rows.Scan(&a) != nil || rows.Next() || !rows.NextResultSet() {
		return fmt.Errorf("the first result is wrong: %v %v", a, rows.Err())
	}
	more, _ := rows.Columns()
	if !rows.Next() || rows.Scan(&b, &c) != nil || rows.Next() || rows.NextResultSet() {
		return fmt.Errorf("the second result is wrong: %v %v %v", b, c, rows.Err())
	}
	if got := fmt.Sprintf("%v %d %v %s %d", columns, a, more, b, c); got != "[a] 1 [b c] two 3" {
		return fmt.Errorf("got %s", got)
	}
	return nil
}

func transaction(db *sql.DB, commit bool, count int) error {
	table := "tx_" + job.Mark
	if _, err := db.Exec("create table " + table + " (k int not null primary key)"); err != nil {
		return err
	}
	defer db.Exec("drop table " + table)
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for k := 1; k <= 2; k++ {
		if _, err := tx.Exec("insert into "+table+" values (@p1)", k); err != nil {
			tx.Rollback()
			return err
		}
	}
	if err := wantScalar(tx, "select @@trancount", "1"); err != nil {
		tx.Rollback()
		return err
	}
	end := tx.Rollback
	if commit {
		end = tx.Commit
	}
	if err := end(); err != nil {
		return err
	}
	return wantScalar(db, "select count(*) from "+table, strconv.Itoa(count))
}

func failing(cn *sql.Conn, text string, number, line int32, words string, state uint8) error {
	_, err := cn.ExecContext(ctx, text)
	var server mssql.Error
	if !errors.As(err, &server) {
		return fmt.Errorf("no server error came: %v", err)
	}
	first := server
	if len(server.All) > 0 {
		first = server.All[0]
	}
	if first.Number != number || first.LineNo != line {
		return fmt.Errorf("error %d on line %d, expected %d on %d: %s", first.Number, first.LineNo, number, line, first.Message)
	}
	if !strings.Contains(first.Message, words) || state != 0 && first.State != state {
		return fmt.Errorf("message %q, state %d", first.Message, first.State)
	}
	return wantScalar(cn, "select 5", "5")
}

// messages reads PRINT and RAISERROR through the driver's logger of messages.
func messages() error {
	config, err := msdsn.Parse(fmt.Sprintf("sqlserver://%s:%s@%s:%d", job.User, url.QueryEscape(job.Password), job.Host, job.Port))
	if err != nil {
		return err
	}
	config.LogFlags = msdsn.LogMessages
	seen := &collector{}
	connector := mssql.NewConnectorConfig(config)
	mssql.SetContextLogger(seen)
	defer mssql.SetContextLogger(nil)
	db := sql.OpenDB(connector)
	defer db.Close()
	if _, err := db.Exec(job.SQL["messages"]); err != nil {
		return err
	}
	all := strings.Join(seen.lines, "|")
	for _, want := range []string{"hello print", "hello info 42"} {
		if !strings.Contains(all, want) {
			return fmt.Errorf("%q is not among %s", want, all)
		}
	}
	return nil
}

type collector struct{ lines []string }

func (c *collector) Log(_ context.Context, _ msdsn.Log, text string) { c.lines = append(c.lines, text) }

func cancelled(cn *sql.Conn, text string) error {
	limited, cancel := context.WithCancel(ctx)
	at := make(chan time.Time, 1)
	time.AfterFunc(300*time.Millisecond, func() { at <- time.Now(); cancel() })
	_, err := cn.ExecContext(limited, text)
	ended := time.Now()
	if err == nil {
		return errors.New("the statement ended by itself")
	}
	if took := ended.Sub(<-at); took > cancelMax || took < 0 {
		return fmt.Errorf("the answer came %v after the cancel: %v", took, err)
	}
	return wantScalar(cn, "select 6", "6")
}

func poolReset(db *sql.DB) error {
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	cn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	var spid int
	if err := cn.QueryRowContext(ctx, "select @@spid").Scan(&spid); err != nil {
		return err
	}
	for _, text := range []string{
		"create table #pooled (a int)", "set lock_timeout 1234",
		"set transaction isolation level repeatable read", "begin transaction",
	} {
		if _, err := cn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	cn.Close()
	if cn, err = db.Conn(ctx); err != nil {
		return err
	}
	defer cn.Close()
	for _, step := range [][2]string{
		{"select @@spid", strconv.Itoa(spid)},
		{"select @@trancount", "0"},
		{"select object_id('tempdb..#pooled')", "<nil>"},
		{"select @@lock_timeout", "-1"},
		{"select transaction_isolation_level from sys.dm_exec_sessions where session_id = @@spid", "3"},
	} {
		if err := wantScalar(cn, step[0], step[1]); err != nil {
			return err
		}
	}
	return nil
}

func thousand(cn *sql.Conn) error {
	for n := 0; n < 1000; n++ {
		var err error
		if n%2 == 0 {
			err = wantScalar(cn, "select cast(@p1 as int)", strconv.Itoa(n), n)
		} else {
			err = wantScalar(cn, fmt.Sprintf("select %d", n), strconv.Itoa(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func prepared(cn *sql.Conn) error {
	statement, err := cn.PrepareContext(ctx, "select cast(@p1 as int) + 1")
	if err != nil {
		return err
	}
	defer statement.Close()
	for _, n := range []int{1, -5, 2147483646, 0, 7, 8, 9} {
		var got int
		if err := statement.QueryRowContext(ctx, n).Scan(&got); err != nil {
			return err
		}
		if got != n+1 {
			return fmt.Errorf("%d gave %d", n, got)
		}
	}
	return nil
}

func bulk(cn *sql.Conn) error {
	table := "bulk_" + job.Mark
	if _, err := cn.ExecContext(ctx, job.SQL["bulk-create"]); err != nil {
		return err
	}
	defer cn.ExecContext(ctx, "drop table "+table)
	stamp := time.Date(2024, 2, 29, 12, 34, 56, 123e6, time.UTC)
	tx, err := cn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	in, err := tx.PrepareContext(ctx, mssql.CopyIn(table, mssql.BulkOptions{}, "id", "name", "amount", "stamp", "data"))
	if err != nil {
		tx.Rollback()
		return err
	}
	for n := 1; n <= 500; n++ {
		if _, err := in.ExecContext(ctx, n, bulkName(n), bulkAmount(n), stamp, []byte{byte(n), 0, 255}); err != nil {
			tx.Rollback()
			return err
		}
	}
	if _, err := in.ExecContext(ctx); err != nil {
		tx.Rollback()
		return err
	}
	in.Close()
	if err := tx.Commit(); err != nil {
		return err
	}
	return bulkReadBack(cn, table, stamp)
}

func bulkName(n int) any {
	if n%7 == 0 {
		return nil
	}
	return fmt.Sprintf("name %d é", n)
}

func bulkAmount(n int) string { return fmt.Sprintf("%d.%02d00", n/4, n%4*25) }

func bulkReadBack(cn *sql.Conn, table string, stamp time.Time) error {
	rows, err := cn.QueryContext(ctx, "select id, name, amount, stamp, data from "+table+" order by id")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
		var id int
		var name, amount, data any
		var at time.Time
		if err := rows.Scan(&id, &name, &amount, &at, &data); err != nil {
			return err
		}
		got := fmt.Sprintf("%d %v %s %v %x", id, name, amount, at.Equal(stamp), data)
		want := fmt.Sprintf("%d %v %s true %02x00ff", n, bulkName(n), bulkAmount(n), n%256)
		if got != want {
			return fmt.Errorf("row %q, expected %q", got, want)
		}
	}
	if n != 500 {
		return fmt.Errorf("%d rows: %v", n, rows.Err())
	}
	return rows.Err()
}

func short(text string, most int) string {
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// ---- types -----------------------------------------------------------------------------------

func (c testCase) text() *string {
	if c.Times > 0 {
		whole := strings.Repeat(c.Repeat, c.Times)
		return &whole
	}
	return c.Text
}

// ofType sends every case as a parameter, reads it as a column and as an OUTPUT parameter, and lets
// the server compare it with the literal.
func ofType(cn *sql.Conn, k kind) error {
	if _, err := cn.ExecContext(ctx, "create table #t (id int not null primary key, v "+k.Name+" null)"); err != nil {
		return err
	}
	for n, c := range k.Cases {
		if err := oneCase(cn, k, n, c); err != nil {
			return fmt.Errorf("case %s: %w", c.Case, err)
		}
	}
	return nil
}

func oneCase(cn *sql.Conn, k kind, n int, c testCase) error {
	value, err := native(k, c.text())
	if err != nil {
		return err
	}
	if _, err := cn.ExecContext(ctx, "insert into #t (id, v) values (@p1, @p2)", n, value); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	var got any
	if err := cn.QueryRowContext(ctx, "select v from #t where id = @p1", n).Scan(&got); err != nil {
		return fmt.Errorf("select: %w", err)
	}
	if err := same(k, c, got); err != nil {
		return fmt.Errorf("column: %w", err)
	}
	if err := wantScalar(cn, fmt.Sprintf("select count(*) from #t where id = %d and %s", n, c.Where), "1"); err != nil {
		return err
	}
	if !k.Outputs {
		return nil
	}
	got, err = output(cn, k, value)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := same(k, c, got); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// native makes the Go value that a program would bind.
func native(k kind, text *string) (any, error) {
	if text == nil {
		return typedNull(k), nil
	}
	switch k.Base {
	case "bit":
		return *text == "1", nil
	case "tinyint", "smallint", "int", "bigint":
		return strconv.ParseInt(*text, 10, 64)
	case "real", "float":
		return strconv.ParseFloat(*text, 64)
	case "date", "time", "datetime", "datetime2", "smalldatetime", "datetimeoffset":
		return moment(k.Base, *text)
	case "binary", "varbinary":
		return hex.DecodeString(*text)
	case "uniqueidentifier":
		var id mssql.UniqueIdentifier
		err := id.Scan(*text)
		return id, err
	case "char", "varchar":
		// The driver sends a VarChar's UTF-8 as it is, whatever the collation: only ASCII may go so.
		if strings.ContainsFunc(*text, func(r rune) bool { return r > 127 }) {
			return *text, nil
		}
		if len(k.Sizes) > 0 && k.Sizes[0] == "max" {
			return mssql.VarCharMax(*text), nil
		}
		return mssql.VarChar(*text), nil
	case "nvarchar":
		if len(k.Sizes) > 0 && k.Sizes[0] == "max" {
			return mssql.NVarCharMax(*text), nil
		}
	}
	return *text, nil
}

// typedNull makes a NULL that the server can convert; the driver's NullUniqueIdentifier is none, since
// it is sent with a length of 0 and 16 bytes all the same.
func typedNull(k kind) any {
	if k.Base == "binary" || k.Base == "varbinary" {
		return []byte(nil)
	}
	return nil
}

func moment(base, text string) (any, error) {
	layout := map[string]string{"date": "2006-01-02", "time": "15:04:05.999999999", "datetimeoffset": "2006-01-02 15:04:05.999999999 -07:00"}[base]
	if layout == "" {
		layout = "2006-01-02 15:04:05.999999999"
	}
	at, err := time.Parse(layout, text)
	switch base {
	case "datetimeoffset":
		return mssql.DateTimeOffset(at), err
	case "datetime", "smalldatetime":
		return mssql.DateTime1(at), err
	case "time":
		return text, err
	}
	return at, err
}

// output sends the value in and takes it back through an OUTPUT parameter.
func output(cn *sql.Conn, k kind, value any) (any, error) {
	var dest any
	var read func() any
	switch k.Base {
	case "bit":
		v := sql.NullBool{}
		dest, read = &v, func() any { return pick(v.Valid, v.Bool) }
	case "tinyint", "smallint", "int", "bigint":
		v := sql.NullInt64{}
		dest, read = &v, func() any { return pick(v.Valid, v.Int64) }
	case "real", "float":
		v := sql.NullFloat64{}
		dest, read = &v, func() any { return pick(v.Valid, v.Float64) }
	case "date", "datetime", "datetime2", "smalldatetime", "datetimeoffset":
		v := sql.NullTime{}
		dest, read = &v, func() any { return pick(v.Valid, v.Time) }
	case "binary", "varbinary":
		v := []byte{}
		dest, read = &v, func() any {
			if v == nil {
				return nil
			}
			return v
		}
	default:
		v := sql.NullString{}
		dest, read = &v, func() any { return pick(v.Valid, v.String) }
	}
	text := fmt.Sprintf("declare @v %s = @i set @o = %s", k.Name, outExpression(k))
	_, err := cn.ExecContext(ctx, text, sql.Named("i", value), sql.Named("o", sql.Out{Dest: dest}))
	return read(), err
}

// outExpression is what fills the OUTPUT parameter: text for what the driver can only take as text.
func outExpression(k kind) string {
	switch k.Base {
	case "decimal", "money", "smallmoney":
		return "convert(nvarchar(60), @v, 2)"
	case "time", "uniqueidentifier":
		return "convert(nvarchar(60), @v)"
	}
	return "@v"
}

func pick(valid bool, value any) any {
	if valid {
		return value
	}
	return nil
}

// same compares a value that came back with the case.
func same(k kind, c testCase, got any) error {
	if c.Times == 0 && c.Text == nil {
		if got != nil {
			return fmt.Errorf("got %v, expected NULL", got)
		}
		return nil
	}
	want := c.Expect
	if c.Times > 0 {
		want = *c.text()
	}
	have := canonical(k, got)
	if k.Base == "real" || k.Base == "float" {
		bits := map[string]int{"real": 32, "float": 64}[k.Base]
		number, err := strconv.ParseFloat(want, bits)
		if err != nil {
			return err
		}
		want = strconv.FormatFloat(number, 'g', -1, bits)
	}
	if have != want {
		return fmt.Errorf("got %s, expected %s", short(have, 100), short(want, 100))
	}
	return nil
}

func canonical(k kind, got any) string {
	switch v := got.(type) {
	case bool:
		if v {
			return "1"
		}
		return "0"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, map[string]int{"real": 32, "float": 64}[k.Base])
	case time.Time:
		return canonicalTime(k.Base, v)
	case []byte:
		switch k.Base {
		case "binary", "varbinary":
			return strings.ToUpper(hex.EncodeToString(v))
		case "uniqueidentifier":
			var id mssql.UniqueIdentifier
			if err := id.Scan(v); err != nil {
				return err.Error()
			}
			return id.String()
		}
		return string(v)
	case string:
		if k.Base == "time" && strings.Contains(v, ".") {
			return strings.TrimSuffix(strings.TrimRight(v, "0"), ".")
		}
		return v
	}
	return fmt.Sprint(got)
}

func canonicalTime(base string, at time.Time) string {
	switch base {
	case "date":
		return at.Format("2006-01-02")
	case "time":
		return at.Format("15:04:05.999999999")
	case "datetime":
		at = at.Round(time.Millisecond)
	case "datetimeoffset":
		return at.Format("2006-01-02 15:04:05.999999999 -07:00")
	}
	return at.Format("2006-01-02 15:04:05.999999999")
}
