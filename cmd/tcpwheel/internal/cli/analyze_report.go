package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

// reports are the files that analyze writes in addition to its output.
type reports struct {
	html, annotate string

	page *pages.Page
	read bool // a file could be read
}

// check checks the flags. changed reports whether a flag was given.
func (r *reports) check(changed func(flag string) bool, html string, files []string) error {
	r.html = html
	switch {
	case r.annotate != "" && len(files) != 1:
		return fmt.Errorf("analyze: --annotate copies one file, and %d were given", len(files))
	case r.annotate != "" && files[0] == "-":
		return errors.New("analyze: --annotate reads the file twice, which standard input cannot be")
	case r.annotate != "" && strings.HasPrefix(files[0], samplePrefix):
		return fmt.Errorf("analyze: --annotate copies a file, and %s is in the program, see tcpwheel samples", files[0])
	case r.html != "" && r.html == r.annotate:
		return errors.New("analyze: --html and --annotate name the same file")
	}
	for _, out := range []struct{ flag, name string }{{"html", r.html}, {"annotate", r.annotate}} {
		if changed(out.flag) {
			if err := checkOutFile(out.flag, out.name, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin returns the reports of a file, or nil if none are written.
func (r *reports) begin(file string) *fileReport {
	if r.html == "" && r.annotate == "" {
		return nil
	}
	f := &fileReport{}
	if r.html != "" {
		if r.page == nil {
			r.page = pages.NewPage(pages.Limits{})
		}
		f.section = r.page.Begin(file)
		f.parts = append(f.parts, f.section)
	}
	if r.annotate != "" {
		f.notes = pages.NewNotes()
		f.parts = append(f.parts, f.notes)
	}
	return f
}

// write writes the page, unless it would be empty, and says so.
func (r *reports) write(talk io.Writer) error {
	if r.page == nil || !r.read {
		return nil
	}
	return writeFile(talk, r.html, r.page.Write)
}

// fileReport is the part of the reports for one file. A nil one does nothing.
type fileReport struct {
	section *pages.Section
	notes   *pages.Notes
	parts   []reportPart // these, without those that are nil
}

// reportPart is what a report wants to know of the connections of a file.
type reportPart interface {
	Event(*track.Event)
	Add(c *track.Conn, keep func(*track.Episode) bool)
	Skip(*track.Conn)
}

// event returns track.Config.Event.
func (f *fileReport) event() func(*track.Event) {
	if f == nil {
		return nil
	}
	return func(ev *track.Event) {
		for _, part := range f.parts {
			part.Event(ev)
		}
	}
}

// done adds a connection, if wanted, with the episodes that keep selects.
func (f *fileReport) done(c *track.Conn, wanted bool, keep func(*track.Episode) bool) {
	if f == nil {
		return
	}
	for _, part := range f.parts {
		if wanted {
			part.Add(c, keep)
		} else {
			part.Skip(c)
		}
	}
}

// unread notes that the file could not be read.
func (f *fileReport) unread(err error) {
	if f != nil && f.section != nil {
		f.section.End(pages.Facts{Notes: []string{"This file could not be read: " + err.Error()}})
	}
}

// end completes the file's part and writes its annotated copy. wrong is the error of reading, if
// any.
func (r *reports) end(cmd *cobra.Command, f *fileReport, o *captureFile, s *summary, wrong error) error {
	if f == nil {
		return nil
	}
	r.read = true
	if f.section != nil {
		facts := pages.Facts{First: s.stats.Start, Last: s.stats.Last, Packets: s.stats.Packets, TCP: s.stats.TCP}
		facts.Notes = s.warnings()
		if text := unusedPackets(s.stats); text != "" {
			facts.Notes = append(facts.Notes, "Left out: "+text+".")
		}
		if wrong != nil {
			facts.Notes = append(facts.Notes, "The rest could not be read: "+wrong.Error())
		}
		f.section.End(facts)
		r.describe(cmd, f.section, o)
	}
	if f.notes == nil || wrong != nil {
		return nil
	}
	if n := f.notes.Missed(); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: %d comments are left out, to bound memory\n", n)
	}
	return writeFile(cmd.ErrOrStderr(), r.annotate, func(w io.Writer) error {
		err := capture.Annotate(w, s.file, f.notes.Comment)
		if s.cut && errors.Is(err, capture.ErrCutShort) {
			return nil // it was reported
		}
		return err
	})
}

// describe reads a file again, for the headers of the packets that the page shows under the
// pointer. Standard input is not read twice. An error means fewer of them.
func (r *reports) describe(cmd *cobra.Command, section *pages.Section, o *captureFile) {
	numbers := section.Packets()
	if len(numbers) == 0 || o.Name == "-" {
		return
	}
	in, done, err := openCapture(cmd, o)
	if err != nil {
		return
	}
	defer done()
	headers, _ := in.Describe(numbers...)
	section.Describe(headers)
}
