// Command workload drives a store with several clients at once and checks what they see against a
// model: the session store of tests/workloads/session_state.sql, or the cache of cache.sql.
//
// It reads its work as JSON on standard input and prints one JSON object: what it did, and the first
// findings that the model does not allow.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

type work struct {
	Workload string  `json:"workload"`
	Host     string  `json:"host"`
	Port     int     `json:"port"`
	User     string  `json:"user"`
	Password string  `json:"password"`
	Folder   string  `json:"folder"`
	Seconds  float64 `json:"seconds"`
	Clients  int     `json:"clients"`
}

type report struct {
	OK       bool             `json:"ok"`
	Findings []string         `json:"findings"`
	Counts   map[string]int64 `json:"counts"`
}

var (
	job      work
	ctx      = context.Background()
	findings = &list{}
	counts   = &counters{of: map[string]*atomic.Int64{}}
)

const findingsMax = 10

// list collects findings of all clients, the first few.
type list struct {
	mu    sync.Mutex
	found []string
}

func (l *list) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.found) < findingsMax {
		l.found = append(l.found, fmt.Sprintf(format, args...))
	}
}

func (l *list) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.found) > 0
}

type counters struct {
	mu sync.Mutex
	of map[string]*atomic.Int64
}

func (c *counters) add(name string, n int64) {
	c.mu.Lock()
	counter, is := c.of[name]
	if !is {
		counter = &atomic.Int64{}
		c.of[name] = counter
	}
	c.mu.Unlock()
	counter.Add(n)
}

func main() {
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		panic(err)
	}
	var err error
	switch job.Workload {
	case "session":
		err = runSessions("")
	case "session-retry":
		err = runSessions("_Retry")
	case "cache":
		err = runCache()
	default:
		err = fmt.Errorf("there is no workload %q", job.Workload)
	}
	if err != nil {
		findings.add("%v", err)
	}
	out := report{OK: !findings.any(), Findings: findings.found, Counts: map[string]int64{}}
	for name, counter := range counts.of {
		out.Counts[name] = counter.Load()
	}
	text, _ := json.Marshal(out)
	fmt.Println(string(text))
}

func open(database string) *sql.DB {
	where := url.URL{
		Scheme: "sqlserver", User: url.UserPassword(job.User, job.Password),
		Host: fmt.Sprintf("%s:%d", job.Host, job.Port), RawQuery: url.Values{"database": {database}}.Encode(),
	}
	db, err := sql.Open("sqlserver", where.String())
	if err != nil {
		panic(err)
	}
	return db
}

// install runs a script batch by batch on one connection, as a terminal does.
func install(script string) error {
	text, err := os.ReadFile(job.Folder + "/" + script)
	if err != nil {
		return err
	}
	db := open("master")
	defer db.Close()
	cn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer cn.Close()
	for n, batch := range regexp.MustCompile(`(?mi)^go\s*$`).Split(string(text), -1) {
		if strings.TrimSpace(batch) == "" {
			continue
		}
		if _, err := cn.ExecContext(ctx, batch); err != nil {
			return fmt.Errorf("%s, batch %d: %w", script, n+1, describe(err))
		}
	}
	return nil
}

// describe adds number and line to a server's error.
func describe(err error) error {
	var server mssql.Error
	if errors.As(err, &server) {
		return fmt.Errorf("error %d on line %d: %s", server.Number, server.LineNo, server.Message)
	}
	return err
}

func number(err error) int32 {
	var server mssql.Error
	if errors.As(err, &server) {
		return server.Number
	}
	return 0
}

// retried runs an operation again when it met a conflict, as the session-state provider does.
func retried(run func() error) error {
	for left := 10; ; left-- {
		err := run()
		switch number(err) {
		case 41302, 41305, 41325, 41301, 41839:
			counts.add("conflicts", 1)
			if left > 1 {
				time.Sleep(time.Millisecond)
				continue
			}
		}
		return err
	}
}

// forAll runs the clients side by side until the time is up or one has a finding.
func forAll(client func(number int, until time.Time)) {
	until := time.Now().Add(time.Duration(job.Seconds * float64(time.Second)))
	var group sync.WaitGroup
	for n := range job.Clients {
		group.Add(1)
		go func() {
			defer group.Done()
			client(n, until)
		}()
	}
	group.Wait()
}
