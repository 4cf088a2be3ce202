package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

const (
	entriesPerClient = 3
	bigBytes         = 60_000
)

// entry is the model of one cache key, written by one client and read by all.
//
// Versions count up. A reader that starts after version n was acknowledged must see n or a later one; it
// can't see one that was not sent yet. Odd steps of life write, some delete: then nothing is there.
type entry struct {
	mu    sync.Mutex
	id    string
	sent  int
	acked int
	gone  map[int]bool // versions that are deletions or are over from the start
}

type cache struct {
	db   *sql.DB
	text map[string]string
}

func runCache() error {
	text, err := statements()
	if err != nil {
		return err
	}
	db := open("master")
	defer db.Close()
	db.SetMaxIdleConns(job.Clients + 2)
	c := &cache{db: db, text: text}
	for _, name := range []string{"install-table", "install-index"} {
		if _, err := db.ExecContext(ctx, text[name]); err != nil {
			return fmt.Errorf("%s: %w", name, describe(err))
		}
	}
	defer db.ExecContext(ctx, "drop table [dbo].[CacheEntry]")
	if err := c.look(); err != nil {
		return err
	}
	if err := c.lives(); err != nil {
		return err
	}
	entries := make([]*entry, job.Clients*entriesPerClient)
	for n := range entries {
		entries[n] = &entry{id: fmt.Sprintf("key-%02d", n), gone: map[int]bool{0: true}}
	}
	forAll(func(number int, until time.Time) {
		for time.Now().Before(until) && !findings.any() {
			own := entries[number*entriesPerClient+rand.IntN(entriesPerClient)]
			if err := c.step(own, entries[rand.IntN(len(entries))]); err != nil {
				findings.add("client %d: %v", number, describe(err))
			}
		}
	})
	return c.clear()
}

// statements reads the named statements of cache.sql.
func statements() (map[string]string, error) {
	text, err := os.ReadFile(job.Folder + "/cache.sql")
	if err != nil {
		return nil, err
	}
	named := map[string]string{}
	parts := regexp.MustCompile(`(?m)^-- name: (\S+)$`).FindAllStringSubmatchIndex(string(text), -1)
	for n, part := range parts {
		end := len(text)
		if n+1 < len(parts) {
			end = parts[n+1][0]
		}
		named[string(text[part[2]:part[3]])] = strings.TrimSpace(string(text[part[1]:end]))
	}
	return named, nil
}

func (c *cache) look() error {
	var catalog, schema, table, kind string
	if err := c.db.QueryRowContext(ctx, c.text["look"]).Scan(&catalog, &schema, &table, &kind); err != nil {
		return fmt.Errorf("look: %w", describe(err))
	}
	if got := fmt.Sprint(catalog, schema, table, kind); got != "masterdboCacheEntryBASE TABLE" {
		findings.add("look gave %s", got)
	}
	return nil
}

// set stores a body; slide and last may be nil.
func (c *cache) set(id, body string, now time.Time, slide, last any) error {
	counts.add("set", 1)
	return retried(func() error {
		_, err := c.db.ExecContext(ctx, c.text["set"], sql.Named("Id", id), sql.Named("Body", []byte(body)),
			sql.Named("Slide", slide), sql.Named("Last", last), sql.Named("Now", offset(now)))
		return err
	})
}

func offset(at time.Time) mssql.DateTimeOffset { return mssql.DateTimeOffset(at) }

// get reads a body at a time of the caller's choosing.
func (c *cache) get(id string, now time.Time) (body string, there bool, err error) {
	counts.add("get", 1)
	err = retried(func() error {
		var item []byte
		err := c.db.QueryRowContext(ctx, c.text["get"], sql.Named("Id", id), sql.Named("Now", offset(now))).Scan(&item)
		body, there = string(item), err == nil
		if err == sql.ErrNoRows {
			return nil
		}
		return err
	})
	return body, there, err
}

func (c *cache) other(name string, args ...any) error {
	counts.add(name, 1)
	return retried(func() error {
		_, err := c.db.ExecContext(ctx, c.text[name], args...)
		return err
	})
}

// lives walks through the kinds of expiry with times of its own: sliding, absolute, both.
func (c *cache) lives() error {
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	steps := []func() error{
		func() error { return c.set("slides", "s", at(0), int64(60), nil) },
		func() error { return c.want("slides", at(50), true) }, // now until 110
		func() error { return c.other("slide", sql.Named("Id", "slides"), sql.Named("Now", offset(at(100)))) },
		func() error { return c.want("slides", at(160), true) }, // now until 220
		func() error { return c.want("SLIDES", at(160), false) },
		func() error { return c.want("slides", at(221), false) },
		func() error { return c.set("stays", "s", at(0), nil, offset(at(100))) },
		func() error { return c.want("stays", at(100), true) },
		func() error { return c.want("stays", at(101), false) },
		func() error { return c.set("both", "s", at(0), int64(60), offset(at(90))) },
		func() error { return c.want("both", at(50), true) }, // slides to its last moment
		func() error { return c.want("both", at(90), true) },
		func() error { return c.want("both", at(91), false) },
		func() error { return c.other("sweep", sql.Named("Now", offset(at(95)))) },
		func() error { return c.count(2) }, // both is over, the others are not
		func() error { return c.other("drop", sql.Named("Id", "slides")) },
		func() error { return c.want("slides", at(0), false) },
		func() error { return c.other("sweep", sql.Named("Now", offset(at(10_000)))) },
		func() error { return c.count(0) },
	}
	for n, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("expiry, step %d: %w", n+1, describe(err))
		}
	}
	return nil
}

func (c *cache) want(id string, now time.Time, there bool) error {
	_, got, err := c.get(id, now)
	if err == nil && got != there {
		return fmt.Errorf("%s at %s: there is %v, expected %v", id, now.Format("15:04:05"), got, there)
	}
	return err
}

func (c *cache) count(want int) error {
	var got int
	if err := c.db.QueryRowContext(ctx, c.text["count"]).Scan(&got); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%d entries, expected %d", got, want)
	}
	return nil
}

// step writes an entry of the client's own or reads anyone's.
func (c *cache) step(own, any *entry) error {
	switch rand.IntN(10) {
	case 0:
		return c.write(own, true, func(int) error { return c.other("drop", sql.Named("Id", own.id)) })
	case 1:
		// Over from the start: no reader may see it, and any sweep may take it.
		past := time.Now().Add(-time.Hour)
		return c.write(own, true, func(n int) error { return c.set(own.id, body(own, n), past, nil, offset(past)) })
	case 2:
		return c.other("sweep", sql.Named("Now", offset(time.Now())))
	case 3, 4, 5:
		return c.write(own, false, func(n int) error { return c.set(own.id, body(own, n), time.Now(), int64(1200), nil) })
	default:
		return c.read(any)
	}
}

func (c *cache) write(e *entry, gone bool, send func(version int) error) error {
	e.mu.Lock()
	e.sent++
	version := e.sent
	e.gone[version] = gone
	e.mu.Unlock()
	if err := send(version); err != nil {
		return err
	}
	e.mu.Lock()
	e.acked = version
	e.mu.Unlock()
	return nil
}

func body(e *entry, version int) string {
	text := fmt.Sprintf("%s %d ", e.id, version)
	if version%9 == 0 {
		text += strings.Repeat("0123456789", bigBytes/10)
	}
	return text
}

func (c *cache) read(e *entry) error {
	e.mu.Lock()
	from := e.acked
	e.mu.Unlock()
	got, there, err := c.get(e.id, time.Now())
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for version := from; version <= e.sent; version++ {
		if there && !e.gone[version] && got == body(e, version) || !there && e.gone[version] {
			return nil
		}
	}
	findings.add("%s: versions %d to %d are possible, read %.40q (there: %v)", e.id, from, e.sent, got, there)
	return nil
}

func (c *cache) clear() error {
	if err := c.other("sweep", sql.Named("Now", offset(time.Now().Add(24*time.Hour)))); err != nil {
		return describe(err)
	}
	return c.count(0)
}
