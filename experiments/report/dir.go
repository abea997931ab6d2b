package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tcpwheel/experiments"
)

// sumsName is the file that lists the files of a report.
const sumsName = "SHA256SUMS"

// file is a file of a report.
type file struct {
	name string // with slashes
	data []byte
}

// files returns all files of the directory except the sums.
func (r *Report) files() (all []file, err error) {
	add := func(name string, write func(w io.Writer) error) {
		var b bytes.Buffer
		if err == nil {
			if err = write(&b); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, file{name, b.Bytes()})
		}
	}
	add("report.md", r.WritePage)
	add("claims.json", indented(r.claims()))
	for i := range r.Studies {
		s := &r.Studies[i]
		in := s.Job.Study.Name + "/"
		add(in+"plan.yaml", text(s.Job.Plan))
		add(in+"cells.jsonl", s.writeCells(r.Program))
		add(in+"result.json", indented(resultFile{s.record(), s.Job.Quick, s.Outcome}))
		outcomeFiles(add, in, s.Outcome)
		for _, l := range s.Live {
			add(in+"live-"+l.Name+".json", indented(liveFile{s.Job.Study.Name, r.Machine, l}))
			if l.Outcome != nil {
				outcomeFiles(add, in+"live-"+l.Name+"-", l.Outcome)
			}
		}
	}
	return all, err
}

func outcomeFiles(add func(name string, write func(io.Writer) error), prefix string, out *experiments.Outcome) {
	for i := range out.Tables {
		add(prefix+out.Tables[i].Name+".csv", out.Tables[i].WriteCSV)
	}
	if r := out.Records; r != nil {
		add(prefix+"rows.csv", r.CSV)
		add(prefix+"rows.jsonl", r.JSON)
		add(prefix+"columns.csv", r.Columns)
	}
	for i := range out.Figures {
		f := &out.Figures[i]
		add(prefix+"figure-"+f.Name+".svg", text(string(f.File())))
		add(prefix+"figure-"+f.Name+".csv", f.WriteCSV)
	}
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func indented(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		return e.Encode(v)
	}
}

// writeCells writes the results of the study's cells.
func (s *Study) writeCells(program string) func(io.Writer) error {
	return func(w io.Writer) error { return experiments.WriteCells(w, s.Job, program, s.Results) }
}

// tidy removes what a WriteDir that was killed has left next to dir. If it had moved the old report
// away, that comes back.
func tidy(dir string) error {
	parent, prefix := filepath.Dir(dir), "."+filepath.Base(dir)+".part-"
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(parent, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(name, oldSuffix) {
			if err := os.Rename(name, dir); err != nil {
				return err
			}
		} else if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// oldSuffix ends the name of an old report that was moved away.
const oldSuffix = ".old"

// CheckDir returns an error if WriteDir would refuse dir: it is a file, or holds other files than a
// report's. It also clears up after a WriteDir that was killed.
func CheckDir(dir string) error {
	if err := tidy(filepath.Clean(dir)); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: is no directory", dir)
	}
	own, err := listed(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil && !slices.Contains(own, filepath.ToSlash(name)) {
			err = fmt.Errorf("%s: holds %s, which is no file of a report: want a directory that is new, empty or a "+
				"report", dir, filepath.ToSlash(name))
		}
		return err
	})
}

// listed returns the files that the sums of a directory name, and the sums.
func listed(dir string) (names []string, err error) {
	sums, err := os.ReadFile(filepath.Join(dir, sumsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(sums)) {
		if _, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			names = append(names, name)
		}
	}
	return append(names, sumsName), err
}

// WriteDir writes the report to a directory, whole or not at all. The parent must exist. WriteDir
// replaces an old report; anything else in the directory is an error.
func (r *Report) WriteDir(dir string) (err error) {
	if err := CheckDir(dir); err != nil {
		return err
	}
	all, err := r.files()
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range all {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	all = append(all, file{sumsName, []byte(sums.String())})
	dir = filepath.Clean(dir)
	part, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".part-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part) // after a failure
	for _, f := range all {
		name := filepath.Join(part, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.data, 0o666); err != nil {
			return err
		}
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	// Move the old report away first: rename replaces only an empty directory.
	old := part + oldSuffix
	switch err := os.Rename(dir, old); {
	case err == nil:
		if err := os.Rename(part, dir); err != nil {
			return errors.Join(err, os.Rename(old, dir))
		}
		return os.RemoveAll(old)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return os.Rename(part, dir)
}

// Rejudge reads the cells' results from a directory of WriteDir and judges them by the program's
// own claims. open opens the studies. It returns an error if a study's plan has changed since. It
// does not read live parts.
func Rejudge(dir string, open experiments.Open) (*Report, error) {
	names, err := listed(dir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no report: there is no %s in it", dir, sumsName)
	}
	var (
		jobs    []*experiments.Job
		results = experiments.Results{}
		program string
	)
	for _, name := range names {
		if !strings.HasSuffix(name, "/cells.jsonl") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		j, by, cells, err := experiments.ReadCells(bytes.NewReader(data), open)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		program = by
		jobs = append(jobs, j)
		results[j.Study.Name] = cells
	}
	return New(program, jobs, results)
}

// SumsName is the repository's file with the digests of all cells' results.
const SumsName = "experiments/sums.txt"

// digits is the number of hexadecimal digits kept of a cell's digest.
const digits = 6

// perLine is the number of cells on a line.
const perLine = 16

// sums writes the digests of a full run.
func (r *Report) sums() string {
	var b strings.Builder
	b.WriteString("# The first digits of the SHA-256 of each cell's result, in the order of the cells. A test uses " +
		"them to find results that\n" +
		"# this program no longer gives. Written by 'make results'.\n")
	for i := range r.Studies {
		j, results := r.Studies[i].Job, r.Studies[i].Results
		fmt.Fprintf(&b, "\nstudy %s plan %s results %s cells %d\n", j.Study.Name, j.Hash()[:12],
			j.Digest(results)[:12], len(j.Cells))
		for k := range j.Cells {
			switch {
			case k%perLine > 0:
				b.WriteByte(' ')
			case k > 0:
				b.WriteByte('\n')
			}
			b.WriteString(experiments.CellDigest(j.Cells[k].Name, results[k])[:digits])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// SumsDigest returns the first digits of the SHA-256 of the file SumsName.
func SumsDigest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:12] }
