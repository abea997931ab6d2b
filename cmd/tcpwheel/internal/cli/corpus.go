package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/corpus"
)

// corpusFlags are the flags of analyze and replay for many captures.
type corpusFlags struct {
	jobs             int
	parquet, shard   string
	retry, anonymous bool
}

// corpora has the object stores and the format of tables of a program that has them.
var corpora corpus.Options

// UseCorpora gives analyze and replay object stores, by the scheme of their URLs, and tables. It is
// called before Main or Run.
func UseCorpora(stores map[string]corpus.OpenStore, format corpus.Format) {
	corpora.Stores, corpora.Format = stores, format
}

// corpusHelp describes what both commands take.
func corpusHelp() string {
	if corpora.Format == nil {
		return "A FILE may also be a directory, or a pattern such as 'logs/**/*.pcap.gz'. For object\n" +
			"stores, tables of Parquet and many machines there is tcpwheel-corpus: docs/corpora.md."
	}
	return "A FILE may also be a directory, a pattern such as 'logs/**/*.pcap.gz', or in an\n" +
		"object store: s3://BUCKET/KEY, gs://BUCKET/KEY or azblob://CONTAINER/KEY. With\n" +
		"--parquet it writes tables instead of printing, and skips what they have.\n" +
		"docs/corpora.md has the columns, queries, and how to use many machines."
}

// errElsewhere is the error of a call that needs the other command.
func errElsewhere(what string) error {
	return &usageError{err: fmt.Errorf("%s needs tcpwheel-corpus, the same commands with object stores, tables and shards: "+
		"go -C cmd/tcpwheel/tcpwheel-corpus build", what)}
}

// corpusOnly are the flags that only a program with corpora has.
var corpusOnly = []string{"parquet", "retry", "shard", "anonymous"}

func (f *corpusFlags) register(fs *pflag.FlagSet) {
	defer func() {
		for _, name := range corpusOnly {
			fs.Lookup(name).Hidden = corpora.Format == nil
		}
	}()
	fs.IntVarP(&f.jobs, "jobs", "j", 0, "captures at a time; 0 is the number of processors. analyze spreads the connections of fewer over them")
	fs.StringVar(&f.parquet, "parquet", "", "write tables to this `dir`, also in a store, and skip captures that they have")
	fs.BoolVar(&f.retry, "retry", false, "with --parquet: read captures with errors again")
	fs.StringVar(&f.shard, "shard", "", "only a part of the captures: `i/n`, auto or auto/n")
	fs.BoolVar(&f.anonymous, "anonymous", false, "read public object stores without credentials")
}

// check returns what is wrong with the flags. others are flags that exclude --parquet.
func (f *corpusFlags) check(changed func(flag string) bool, others ...string) error {
	for _, name := range corpusOnly {
		if corpora.Format == nil && changed(name) {
			return errElsewhere("--" + name)
		}
	}
	switch {
	case f.jobs < 0 || f.jobs > 4096:
		return fmt.Errorf("jobs %d, want 0 to 4096", f.jobs)
	case changed("parquet") && f.parquet == "":
		return errors.New(`parquet "", want the name of a directory`)
	case f.retry && f.parquet == "":
		return errors.New("--retry without --parquet")
	}
	for _, other := range others {
		if f.parquet != "" && changed(other) {
			return fmt.Errorf("--parquet and --%s, want one of them", other)
		}
	}
	return nil
}

func (f *corpusFlags) options() corpus.Options {
	return corpus.Options{Stores: corpora.Stores, Format: corpora.Format, Anonymous: f.anonymous, Env: os.Getenv}
}

// workers returns how many captures to read at a time.
func (f *corpusFlags) workers() int {
	if f.jobs == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return f.jobs
}

// objects returns the captures that the arguments name, those of the shard if one is given.
func (f *corpusFlags) objects(cmd *cobra.Command, args []string) (all []corpus.Object, err error) {
	share, err := shareOf(f.shard)
	if err != nil {
		return nil, usage(cmd, fmt.Errorf("shard %s: %w", f.shard, err))
	}
	if err := f.checkPlace(args); err != nil {
		return nil, usage(cmd, err)
	}
	seen := map[string]bool{}
	for _, arg := range args {
		if scheme, _, ok := strings.Cut(arg, "://"); ok && corpora.Stores == nil && slices.Contains(storeSchemes, scheme) {
			return nil, errElsewhere(arg)
		}
		some := []corpus.Object{{Name: arg, Size: -1}}
		if arg != "-" && !strings.HasPrefix(arg, samplePrefix) {
			if some, err = corpus.List(cmd.Context(), []string{arg}, f.options()); err != nil {
				return nil, err
			}
		}
		for _, o := range some {
			if !seen[o.Name] {
				all = append(all, o)
			}
			seen[o.Name] = true
		}
	}
	if f.shard == "" {
		return all, nil
	}
	costs := make([]float64, len(all))
	for i := range all {
		costs[i] = float64(max(all[i].Size, 0)) + perCapture
	}
	var mine []corpus.Object
	for _, i := range share(costs) {
		mine = append(mine, all[i])
	}
	return mine, nil
}

// storeSchemes are the schemes of object stores.
var storeSchemes = []string{"s3", "gs", "azblob"}

// perCapture is what an empty capture costs, in bytes: its share of the tables is a few files.
const perCapture = 1 << 20

// checkPlace refuses tables inside a directory that is read: another run would read them.
func (f *corpusFlags) checkPlace(args []string) error {
	if f.parquet == "" || strings.Contains(f.parquet, "://") {
		return nil
	}
	out, err := filepath.Abs(f.parquet)
	if err != nil {
		return err
	}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return fmt.Errorf("parquet %s: not a directory", f.parquet)
	}
	for _, arg := range args {
		if arg == "-" {
			return errors.New("--parquet and standard input, which has no name: want files")
		}
		in, err := filepath.Abs(arg)
		if err != nil {
			return err
		}
		if inside, err := filepath.Rel(in, out); err == nil && filepath.IsLocal(inside) {
			return fmt.Errorf("parquet %s is in %s, which is read", f.parquet, arg)
		}
	}
	return nil
}

// showProgress shows the progress of a run on a terminal until stop.
func showProgress(w io.Writer, p *corpus.Progress) (stop func()) {
	line := statusLine{w: w}
	line.start(func(time.Duration) string { return corpusLine(p) })
	return line.stop
}

// corpusLine shows files, bytes, rate and the time left.
func corpusLine(p *corpus.Progress) string {
	_, _, _, _, spent := p.Now()
	return progressAfter(p, spent)
}

// progressAfter is corpusLine after some time.
func progressAfter(p *corpus.Progress, spent time.Duration) string {
	files, ofFiles, read, of, _ := p.Now()
	text := fmt.Sprintf("%d of %d files, %s of %s, %s", files, ofFiles, byteText(read), byteText(of), perSecond(uint64(read), spent))
	if read > 0 && spent > 2*time.Second {
		left := time.Duration(float64(spent) * float64(max(of-read, 0)) / float64(read))
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// unreached reports whether an error says nothing about the content of a capture: it could not be
// reached, and another run may succeed.
func unreached(err error) bool {
	var (
		store *corpus.StoreError
		path  *fs.PathError
	)
	return errors.As(err, &store) || errors.As(err, &path)
}

// notCaptures counts files found in directories that are no captures.
type notCaptures struct {
	mu    sync.Mutex
	first string
	n     int
}

// has counts the object and returns true if it is such a file.
func (c *notCaptures) has(o *corpus.Object, err error) bool {
	if !o.Listed || !errors.Is(err, capture.ErrNotCapture) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == 1 || o.Name < c.first {
		c.first = o.Name
	}
	return true
}

// end says how many there were. It is an error if all files are such ones.
func (c *notCaptures) end(w io.Writer, files int) error {
	switch {
	case c.n > 0 && c.n == files:
		return fmt.Errorf("no capture in %s, such as %s", quantity.Count(files, "file"), quantity.Printable(c.first))
	case c.n == 1:
		fmt.Fprintf(w, "tcpwheel: left out %s, which is no capture\n", quantity.Printable(c.first))
	case c.n > 1:
		fmt.Fprintf(w, "tcpwheel: left out %d files that are no captures, such as %s\n", c.n, quantity.Printable(c.first))
	}
	return nil
}
