package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/corpus"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/pcaps/track"
)

// The tables of analyze --parquet.
var (
	fileTable       = corpus.NewTable[fileRow]("files")
	connectionTable = corpus.NewTable[flowRow]("connections")
	episodeTable    = corpus.NewTable[track.EpisodeRecord]("episodes")
)

// objectFields are the columns about an object in the first table.
type objectFields struct {
	Size    int64  `json:"size_bytes" help:"of the object, as stored"`
	Tag     string `json:"tag" help:"of this version: the etag, or a file's modification time in ns since 1970"`
	Program string `json:"program" help:"the build that read it"`
	First   string `json:"first,omitempty" help:"stamp of the first packet"`
	Last    string `json:"last,omitempty" help:"stamp of the last packet"`
	Dropped uint64 `json:"dropped" help:"packets that the capture missed, as it reports"`
}

func objectFieldsOf(o *corpus.Object, s *capture.Stats) objectFields {
	f := objectFields{Size: o.Size, Tag: o.Tag, Program: programVersion(), Dropped: s.Dropped}
	if s.Packets > 0 {
		f.First, f.Last = record.Stamp(s.First), record.Stamp(s.Last)
	}
	return f
}

// fileRow is a row of the table files.
type fileRow struct {
	fileRecord
	objectFields
}

// tables analyses the captures that the tables lack.
func (a *analysis) tables(cmd *cobra.Command, objects []corpus.Object) error {
	t := tableRun{f: &a.corpus, stdout: a.stdout, stderr: a.stderr, tables: []*corpus.Table{fileTable, connectionTable, episodeTable}}
	return t.run(cmd, objects, func(o *corpus.Object, part *corpus.Part, p *corpus.Progress) (*capture.Stats, error) {
		one := *a
		one.progress, one.part = p, part
		s := newSummary(o.Name, &one)
		err := track.Guard(func() error { return one.read(cmd, o, s, nil) })
		if s.cut = errors.Is(err, capture.ErrCutShort); s.cut {
			err = nil
		}
		if err != nil {
			s.err = err.Error()
		}
		part.SetRow(fileRow{s.record(), objectFieldsOf(o, &s.stats)})
		return &s.stats, err
	})
}

// tableRun reads the captures of a corpus that tables lack.
type tableRun struct {
	f              *corpusFlags
	stdout, stderr io.Writer
	tables         []*corpus.Table // the first one has a row for each capture

	reading chan struct{} // has a place for each capture that is read at a time

	mu      sync.Mutex
	read    int
	packets int64
	bytes   int64
	bad     []string // the errors of captures that could be reached
	failed  []error  // of others, which get no row
	others  notCaptures
}

// run calls read for each capture that the tables lack. It adds rows to the part, sets its row of
// the first table, and returns what it counted and why the capture could not be read to its end.
func (t *tableRun) run(cmd *cobra.Command, objects []corpus.Object, read func(*corpus.Object, *corpus.Part, *corpus.Progress) (*capture.Stats, error)) error {
	out, err := corpus.OpenTables(cmd.Context(), t.f.parquet, t.f.options(), t.tables[0], t.tables[1:]...)
	if err != nil {
		return err
	}
	var todo []corpus.Object
	before := map[corpus.State]int{}
	for i := range objects {
		state := out.State(&objects[i])
		if state == corpus.Missing || state == corpus.Failed && t.f.retry {
			todo = append(todo, objects[i])
			continue
		}
		before[state]++
		if err := out.Tidy(cmd.Context(), &objects[i]); err != nil {
			return err
		}
	}
	progress := &corpus.Progress{}
	progress.Start(todo)
	stop := showProgress(t.stderr, progress)
	begun := time.Now()
	t.reading = make(chan struct{}, t.f.workers())
	err = tasks.Each(cmd.Context(), len(todo), perReader*t.f.workers(), func(ctx context.Context, i int) error {
		defer progress.Done()
		return t.object(ctx, out, &todo[i], progress, read)
	})
	stop()
	if ctx := cmd.Context().Err(); ctx != nil {
		return ctx
	}
	return cmp.Or(t.report(before, time.Since(begun)), err, errors.Join(t.failed...))
}

// perReader is how many captures are at work for each one that is read: the others wait for the
// disk or the store to take their parts.
const perReader = 4

// object reads one capture, and commits its part unless it could not be reached.
func (t *tableRun) object(ctx context.Context, out *corpus.Tables, o *corpus.Object, progress *corpus.Progress, read func(*corpus.Object, *corpus.Part, *corpus.Progress) (*capture.Stats, error)) error {
	t.reading <- struct{}{}
	part := out.Begin(o)
	stats, err := read(o, part, progress)
	<-t.reading
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.mu.Lock()
	var p *track.PanicError
	if errors.As(err, &p) {
		fmt.Fprintf(t.stderr, "tcpwheel: %s: %v\n%s", o.Name, p, p.Stack)
	}
	switch {
	case err != nil && unreached(err):
		t.failed = append(t.failed, err)
		t.mu.Unlock()
		return nil
	case err != nil && !t.others.has(o, err):
		t.bad = append(t.bad, err.Error())
	}
	if stats.Packets > 0 || err == nil {
		t.read++
	}
	t.packets += stats.Packets
	t.bytes += max(o.Size, 0)
	t.mu.Unlock()
	var day time.Time
	if stats.Packets > 0 {
		day = time.Unix(0, int64(stats.Start))
	}
	return part.Commit(ctx, day, err != nil)
}

// mostErrors is how many errors of captures are printed.
const mostErrors = 10

// report prints what was done.
func (t *tableRun) report(before map[corpus.State]int, took time.Duration) error {
	if t.others.n == 1 {
		fmt.Fprintf(t.stderr, "tcpwheel: 1 file in the directories is no capture: %s\n", t.others.first)
	} else if t.others.n > 1 {
		fmt.Fprintf(t.stderr, "tcpwheel: %s in the directories are no captures, such as %s\n", quantity.Count(t.others.n, "file"), t.others.first)
	}
	slices.Sort(t.bad)
	for i, text := range t.bad {
		if i == mostErrors {
			fmt.Fprintf(t.stderr, "tcpwheel: and %d more errors: column error of table %s has all\n", len(t.bad)-i, t.tables[0].Name)
			break
		}
		fmt.Fprintf(t.stderr, "tcpwheel: %s\n", text)
	}
	text := fmt.Sprintf("%s read in %s: %s, %s", quantity.Count(t.read, "capture"), track.SpanText(took), byteText(t.bytes), quantity.Count(t.packets, "packet"))
	if t.read > 0 {
		text += ", " + perSecond(uint64(t.bytes), took)
	}
	text += "."
	if len(t.bad) > 0 {
		text += fmt.Sprintf(" %s with an error.", quantity.Count(len(t.bad), "capture"))
	}
	if n := before[corpus.Complete] + before[corpus.Failed]; n > 0 {
		text += fmt.Sprintf(" %s already in the tables", quantity.Count(n, "file"))
		if bad := before[corpus.Failed]; bad > 0 {
			text += fmt.Sprintf(", %d with an error (--retry reads them again)", bad)
		}
		text += "."
	}
	_, err := io.WriteString(t.stdout, paragraph(text)+"Tables: "+t.f.parquet+"\n")
	return err
}
