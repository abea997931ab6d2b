package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Tables is a directory, or a prefix of a store, with a part of each table for each object.
type Tables struct {
	store    Store
	root     string // of keys, with a slash
	name     string // as given
	retry    Retry
	format   Format
	manifest *Table
	all      []*Table

	parts map[string][]string // keys of the parts that were there at the start, by object
}

// noDay is the day of objects without a packet, as Hive and DuckDB write NULL.
const noDay = "__HIVE_DEFAULT_PARTITION__"

// errorMark is part of the manifest's key if the object had an error.
const errorMark = ".error"

// OpenTables opens a directory of tables, or makes it, and reads which objects are done. The
// manifest has one row for each object. Each table gets a part without rows, so that it exists.
func OpenTables(ctx context.Context, name string, o Options, manifest *Table, others ...*Table) (*Tables, error) {
	if o.Format == nil {
		return nil, fmt.Errorf("%s: no format to write tables in", name)
	}
	p, err := locate(ctx, name, o)
	if err != nil {
		return nil, err
	}
	t := &Tables{store: p.store, name: name, retry: o.Retry, format: o.Format, manifest: manifest, all: append(others, manifest), parts: map[string][]string{}}
	if t.root = p.key; t.root != "" && !strings.HasSuffix(t.root, "/") {
		t.root += "/"
	}
	for _, table := range t.all {
		if err := t.writeEmpty(ctx, table); err != nil {
			return nil, fmt.Errorf("%s: cannot write there: %w", name, err)
		}
		err := t.store.List(ctx, t.root+table.Name+"/", func(e Entry) {
			if id := idOf(e.Key); id != "" {
				t.parts[id] = append(t.parts[id], e.Key)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return t, nil
}

// writeEmpty writes the part of a table that has no rows.
func (t *Tables) writeEmpty(ctx context.Context, table *Table) error {
	body, err := t.format.NewWriter(table).Close()
	if err != nil {
		return err
	}
	return t.put(ctx, t.root+table.Name+"/day="+noDay+"/empty"+t.format.Extension(), body)
}

// objectID identifies the object by its name. Parts of other versions of it have the same.
func objectID(o *Object) string {
	sum := sha256.Sum256([]byte(o.Name))
	return hex.EncodeToString(sum[:8])
}

// partID is objectID with a hash of size and tag: it identifies a version.
func partID(o *Object) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", o.Size, o.Tag))
	return objectID(o) + "-" + hex.EncodeToString(sum[:4])
}

// idOf returns the objectID in a part's key, "" if there is none. A file that was never finished
// counts, too.
func idOf(key string) string {
	base := path.Base(key)
	id, _, ok := strings.Cut(base, "-")
	if _, err := hex.DecodeString(id); !ok || len(id) != 16 || err != nil {
		return ""
	}
	return id
}

// State is what tables have of an object.
type State uint8

// States of an object.
const (
	Missing State = iota // nothing, or an unfinished attempt, or another version
	Complete
	Failed // its error
)

// State returns what the tables had of the object at the start.
func (t *Tables) State(o *Object) State {
	prefix := t.root + t.manifest.Name + "/"
	for _, key := range t.parts[objectID(o)] {
		switch base, ok := strings.CutPrefix(path.Base(key), partID(o)); {
		case !ok || !strings.HasPrefix(key, prefix):
		case base == t.format.Extension():
			return Complete
		case base == errorMark+t.format.Extension():
			return Failed
		}
	}
	return Missing
}

// Part is what one object adds to the tables. It is in memory until Commit.
type Part struct {
	t       *Tables
	o       *Object
	writers map[*Table]Writer
	row     any
	err     error
}

// Begin begins the part of an object.
func (t *Tables) Begin(o *Object) *Part { return &Part{t: t, o: o, writers: map[*Table]Writer{}} }

// Add adds a row. An error is sticky, and Commit returns it.
func (p *Part) Add(table *Table, record any) {
	if p.err != nil {
		return
	}
	if reflect.TypeOf(record) != table.Record {
		panic(fmt.Sprintf("BUG: a %T in table %s", record, table.Name))
	}
	w := p.writers[table]
	if w == nil {
		w = p.t.format.NewWriter(table)
		p.writers[table] = w
	}
	p.err = w.Add(record)
}

// SetRow sets the object's row of the manifest.
func (p *Part) SetRow(row any) { p.row = row }

// Commit writes the part: first the rows of the other tables, then the object's row of the
// manifest. It replaces what is there of other versions and of unfinished attempts. Day is a time
// of the object's first packet, or the zero time. failed marks an object whose row has an error.
func (p *Part) Commit(ctx context.Context, day time.Time, failed bool) error {
	folder := noDay
	if !day.IsZero() {
		folder = day.UTC().Format(time.DateOnly)
	}
	p.Add(p.t.manifest, p.row)
	if p.err != nil {
		return p.err
	}
	var written []string
	for _, table := range p.t.all { // the manifest is the last
		w := p.writers[table]
		if w == nil {
			continue
		}
		body, err := w.Close()
		if err != nil {
			return err
		}
		name := partID(p.o)
		if failed && table == p.t.manifest {
			name += errorMark
		}
		key := p.t.root + table.Name + "/day=" + folder + "/" + name + p.t.format.Extension()
		if err := p.t.put(ctx, key, body); err != nil {
			return fmt.Errorf("%s: %w", p.t.name, err)
		}
		written = append(written, key)
	}
	return p.t.clean(ctx, p.o, written)
}

// clean removes the parts of an object that were there at the start, but for those to keep.
func (t *Tables) clean(ctx context.Context, o *Object, keep []string) error {
	for _, key := range t.parts[objectID(o)] {
		if slices.Contains(keep, key) {
			continue
		}
		if err := t.retry.Do(ctx, func() error { return t.store.Remove(ctx, key) }); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// Tidy removes what is left of other versions and of unfinished attempts of an object that is done.
func (t *Tables) Tidy(ctx context.Context, o *Object) error {
	var keep []string
	for _, key := range t.parts[objectID(o)] {
		if strings.HasPrefix(path.Base(key), partID(o)+".") && !strings.HasSuffix(key, partSuffix) {
			keep = append(keep, key)
		}
	}
	return t.clean(ctx, o, keep)
}

// put writes a file of the tables. One that exists with the same content is left alone: another
// attempt was here. One with another content is replaced: that attempt did not finish.
func (t *Tables) put(ctx context.Context, key string, body []byte) error {
	write := func(replace bool) error {
		return t.retry.Do(ctx, func() error { return t.store.Put(ctx, key, body, replace) })
	}
	err := write(false)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	var have []byte
	err = t.retry.Do(ctx, func() error {
		r, err := t.store.Open(ctx, key, 0, "")
		if err != nil {
			return err
		}
		defer r.Close()
		have, err = io.ReadAll(r)
		return err
	})
	if err != nil || bytes.Equal(have, body) {
		return err
	}
	return write(true)
}
