package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

const (
	sessionCount = 24 // fewer than clients' wishes, so that they meet
	largeBytes   = 9000
)

// session is the model of one session.
//
// Whoever holds the session's lock is the only one who changes it. What the holder is about to write is
// put into `value` before it is sent: the next holder can only get the lock once that has been applied,
// and must then read exactly it. An absent session has no value; those who try to create it put their
// values into `births`, where each stays until it is refused or found by the first holder.
type session struct {
	mu      sync.Mutex
	id      string
	value   string // what the next holder must read; "" when absent
	births  map[string]bool
	cookie  int64           // of the last holder; the next one gets the following number
	written map[string]bool // every value ever sent
	told    map[string]int  // how many readers were told to fill a value that was started empty
}

type client struct {
	db     *sql.DB
	suffix string
	number int
	made   int
}

// found is what a read or lock brought back.
type found struct {
	exists bool
	held   bool
	age    sql.NullInt64
	cookie int64
	todo   int64
	value  string
	has    bool
}

func runSessions(suffix string) error {
	if err := install("session_state.sql"); err != nil {
		return err
	}
	if suffix != "" {
		if err := install("session_state_retry.sql"); err != nil {
			return err
		}
	}
	db := open("WebSessions")
	defer db.Close()
	db.SetMaxIdleConns(job.Clients + 2)
	if err := applications(db); err != nil {
		return err
	}
	sessions := make([]*session, sessionCount)
	for n := range sessions {
		sessions[n] = &session{
			id: fmt.Sprintf("session-%02d", n), births: map[string]bool{},
			written: map[string]bool{}, told: map[string]int{},
		}
	}
	forAll(func(number int, until time.Time) {
		c := &client{db: db, suffix: suffix, number: number}
		for time.Now().Before(until) && !findings.any() {
			if err := c.step(sessions[rand.IntN(len(sessions))]); err != nil {
				findings.add("client %d: %v", number, describe(err))
			}
		}
	})
	return (&client{db: db, suffix: suffix}).finish(sessions)
}

// step does one of the things that a web server does with a session.
func (c *client) step(s *session) error {
	switch rand.IntN(20) {
	case 0:
		return c.expire()
	case 1:
		return c.stale(s)
	case 2, 3:
		return c.simple("SessionTouch", sql.Named("Id", s.id))
	case 4, 5, 6, 7, 8:
		return c.read(s)
	default:
		return c.hold(s)
	}
}

func (c *client) next() string {
	c.made++
	text := fmt.Sprintf("client %d item %d ", c.number, c.made)
	if c.made%5 == 0 {
		text += strings.Repeat("long ", largeBytes/5)
	}
	return text
}

// simple calls a procedure without results.
func (c *client) simple(procedure string, args ...any) error {
	counts.add(procedure, 1)
	return retried(func() error {
		_, err := c.db.ExecContext(ctx, procedure+c.suffix, args...)
		return err
	})
}

// fetch calls the read or the lock procedure. Its parameters go by name, and not in declared order.
func (c *client) fetch(procedure string, s *session) (found, error) {
	counts.add(procedure, 1)
	var got found
	err := retried(func() error {
		got = found{}
		var held sql.NullBool
		var cookie, todo sql.NullInt64
		var status mssql.ReturnStatus
		rows, err := c.db.QueryContext(ctx, procedure+c.suffix,
			sql.Named("Age", sql.Out{Dest: &got.age}), sql.Named("Held", sql.Out{Dest: &held}),
			sql.Named("Cookie", sql.Out{Dest: &cookie}), sql.Named("Todo", sql.Out{Dest: &todo}),
			sql.Named("Id", s.id), &status)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var item []byte
			if err := rows.Scan(&item); err != nil {
				return err
			}
			got.value, got.has = string(item), true
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
		got.exists, got.held, got.cookie, got.todo = held.Valid, held.Bool, cookie.Int64, todo.Int64
		return nil
	})
	return got, err
}

// read looks at a session without the lock: it may be held, absent, or have any value ever written.
func (c *client) read(s *session) error {
	got, err := c.fetch("SessionRead", s)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !got.exists && got.has:
		findings.add("%s: a value came with a session that is not there", s.id)
	case got.held && got.has:
		findings.add("%s: a value came although the session is held", s.id)
	case got.exists && !got.held && !got.has:
		findings.add("%s: no value came", s.id)
	case got.has && !s.written[got.value]:
		findings.add("%s: read a value that nobody wrote: %.60q", s.id, got.value)
	}
	s.tell(got)
	return nil
}

// tell counts who was told to fill the value: once per started session, never more.
func (s *session) tell(got found) {
	if got.todo == 1 && got.has {
		s.told[got.value]++
		if s.told[got.value] > 1 {
			findings.add("%s: two readers were told to fill %.40q", s.id, got.value)
		}
	}
}

// hold takes the lock and does what its holder may do: save, release or remove. An absent session is
// created.
func (c *client) hold(s *session) error {
	got, err := c.fetch("SessionLock", s)
	if err != nil {
		return err
	}
	if !got.exists {
		return c.create(s)
	}
	if got.held {
		counts.add("met a held session", 1)
		if got.has {
			findings.add("%s: a value came although another holds the session", s.id)
		}
		if !got.age.Valid || got.age.Int64 < 0 || got.age.Int64 > 60 {
			findings.add("%s: the lock's age is %v", s.id, got.age)
		}
		return nil
	}
	s.mu.Lock()
	s.took(got)
	value, cookie := s.value, s.cookie
	s.mu.Unlock()
	if findings.any() {
		return nil
	}
	return c.use(s, value, cookie)
}

// took checks, with the model locked, that the new holder sees what the last one left.
func (s *session) took(got found) {
	s.tell(got)
	switch {
	case s.value == "" && s.births[got.value]:
		s.cookie = 1
	case s.value == "":
		findings.add("%s: got the lock of a session that was removed: %.60q", s.id, got.value)
	case got.value != s.value:
		findings.add("%s: lost update: read %.60q, the last holder wrote %.60q", s.id, got.value, s.value)
	}
	if got.cookie != s.cookie+1 {
		findings.add("%s: cookie %d follows %d", s.id, got.cookie, s.cookie)
	}
	s.value, s.cookie = got.value, got.cookie
	delete(s.births, got.value)
}

func (c *client) use(s *session, value string, cookie int64) error {
	switch rand.IntN(10) {
	case 0:
		s.mu.Lock()
		s.value, s.cookie = "", 0
		s.mu.Unlock()
		return c.simple("SessionRemove", sql.Named("Id", s.id), sql.Named("Cookie", cookie))
	case 1, 2:
		return c.simple("SessionRelease", sql.Named("Id", s.id), sql.Named("Cookie", cookie))
	default:
		next := c.next()
		s.mu.Lock()
		s.value = next
		s.written[next] = true
		s.mu.Unlock()
		return c.simple("SessionSave", sql.Named("Id", s.id), sql.Named("Cookie", cookie),
			sql.Named("Minutes", 20), sql.Named("Item", []byte(next)))
	}
}

// create makes the session that was not there; another client may be first, which is error 2627.
func (c *client) create(s *session) error {
	next := c.next()
	s.mu.Lock()
	s.births[next] = true
	s.written[next] = true
	s.mu.Unlock()
	procedure := "SessionCreate"
	if rand.IntN(2) == 0 {
		procedure = "SessionStart"
	}
	err := c.simple(procedure, sql.Named("Id", s.id), sql.Named("Minutes", 20), sql.Named("Item", []byte(next)))
	if number(err) == 2627 {
		counts.add("met a duplicate", 1)
		s.mu.Lock()
		delete(s.births, next)
		delete(s.written, next)
		s.mu.Unlock()
		return nil
	}
	return err
}

// stale saves and removes with a cookie that was never given: nothing may come of it.
func (c *client) stale(s *session) error {
	item := []byte("stale: nobody may read this")
	err := c.simple("SessionSave", sql.Named("Item", item), sql.Named("Minutes", 20),
		sql.Named("Cookie", 1_000_000), sql.Named("Id", s.id))
	if err != nil {
		return err
	}
	return c.simple("SessionRemove", sql.Named("Id", s.id), sql.Named("Cookie", 1_000_000))
}

// expire creates a session that is over already, and sweeps: it must go, and no other may.
func (c *client) expire() error {
	c.made++
	id := fmt.Sprintf("over-%d-%d", c.number, c.made)
	err := c.simple("SessionCreate", sql.Named("Id", id), sql.Named("Minutes", -5), sql.Named("Item", []byte("over")))
	if err != nil {
		return err
	}
	counts.add("SessionExpire", 1)
	if err := retried(func() error { _, err := c.db.ExecContext(ctx, "SessionExpire"); return err }); err != nil {
		return err
	}
	var left int
	if err := c.db.QueryRowContext(ctx, "select count(*) from dbo.Session where Id = @p1", id).Scan(&left); err != nil {
		return err
	}
	if left != 0 {
		findings.add("%s is still there after the sweep", id)
	}
	return nil
}

// finish compares what is left with the model, one by one.
func (c *client) finish(sessions []*session) error {
	for _, s := range sessions {
		got, err := c.fetch("SessionLock", s)
		if err != nil {
			return err
		}
		switch {
		case got.exists && !got.held:
			s.took(got)
		case got.held:
			findings.add("%s is still held, though every holder let go", s.id)
		case s.value != "":
			findings.add("%s is gone; its last value was %.60q", s.id, s.value)
		}
	}
	var rows int
	if err := c.db.QueryRowContext(ctx, "select count(*) from dbo.Session where Expires < getutcdate()").Scan(&rows); err != nil {
		return err
	}
	if rows != 0 {
		findings.add("%d expired rows are left", rows)
	}
	return nil
}

// applications calls the interpreted procedures around the table once each.
func applications(db *sql.DB) error {
	path := "/LM/W3SVC/1/ROOT"
	hash := uint32(5381)
	for _, b := range []byte(strings.ToLower(path)) {
		hash = hash*33 ^ uint32(b)
	}
	for range 2 {
		var got int64
		_, err := db.ExecContext(ctx, "AppNumber", sql.Named("path", mssql.VarChar(path)), sql.Named("number", sql.Out{Dest: &got}))
		if err != nil {
			return fmt.Errorf("AppNumber: %w", describe(err))
		}
		if got != int64(int32(hash)) {
			findings.add("AppNumber gave %d, expected %d", got, int32(hash))
		}
	}
	var major int64
	// The driver can't name a parameter @@major, so a batch calls.
	call := "declare @m int exec ServerMajor @m output select @m"
	if err := db.QueryRowContext(ctx, call).Scan(&major); err != nil {
		return fmt.Errorf("ServerMajor: %w", describe(err))
	}
	if major < 13 {
		findings.add("ServerMajor gave %d", major)
	}
	if _, err := db.ExecContext(ctx, "MakeTables"); number(err) != 2714 {
		findings.add("MakeTables on a database that has them: expected error 2714, got %v", err)
	}
	return nil
}
