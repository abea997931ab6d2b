//go:build !js

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/samples"
)

func newSamples() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "samples [DIR]",
		Short: "list the built-in captures and traces, or write them to files",
		Long: `Samples lists the captures and the traces of links that are part of the program, or writes them into DIR. Two kernels made the captures, and for each packet the truth is known: whether it was lost, and why the kernel retransmitted it. Other commands take sample:NAME, or sample:NAME/a.pcapng.gz for one point of capture: a, b or middle.

Traces are rates that vary, in mahimahi's format. Links take --rate trace:sample:NAME, or --rate trace:FILE.`,
		Example: "  tcpwheel samples kernels\n  tcpwheel analyze sample:burst",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, fmt.Errorf("samples: unexpected argument %q", args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case asJSON && len(args) > 0:
				return usage(cmd, errors.New("samples: --json with a directory"))
			case len(args) == 1 && isSample(args[0]):
				return hinted(fmt.Errorf("samples: %q is a sample, want a directory", args[0]),
					fmt.Sprintf("'tcpwheel analyze %s%s' analyzes it, 'tcpwheel samples ./%s' writes all samples there", samplePrefix, args[0], args[0]))
			case len(args) == 1:
				return writeSamples(args[0], cmd.ErrOrStderr())
			}
			return listSamples(cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// isSample reports whether a sample has that name.
func isSample(name string) bool {
	return slices.ContainsFunc(samples.List(), func(s samples.Sample) bool { return s.Name == strings.TrimPrefix(name, samplePrefix) })
}

// sampleRecord is a line of the list of samples.
type sampleRecord struct {
	Type     string   `json:"type"` // "sample"
	Name     string   `json:"name" head:"sample"`
	About    string   `json:"about" head:"what happens"`
	Captures []string `json:"captures"`
	At       string   `json:"-" head:"at"` // the points of capture
}

// traceRecord is a line of the list of links' traces.
type traceRecord struct {
	Type  string `json:"type"` // "trace"
	Name  string `json:"name" head:"trace"`
	About string `json:"about" head:"what it is"`
}

// listSamples prints the samples, and the traces of links.
func listSamples(w io.Writer, asJSON bool) error {
	var all []sampleRecord
	for _, s := range samples.List() {
		var points []string
		for _, name := range s.Captures {
			points = append(points, strings.TrimSuffix(path.Base(name), ".pcapng.gz"))
		}
		all = append(all, sampleRecord{"sample", s.Name, s.About, prefixed(s.Captures), strings.Join(points, " ")})
	}
	if err := list(w, asJSON, "name At about", all); err != nil {
		return err
	}
	if !asJSON {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	var traces []traceRecord
	for _, s := range sim.SampleTraces {
		traces = append(traces, traceRecord{"trace", s.Name, s.About})
	}
	return list(w, asJSON, "name about", traces)
}

// writeTraces writes the traces of links as DIR/traces/NAME.trace.
func writeTraces(dir string) error {
	return makeWhole(filepath.Join(dir, "traces"), func(part string) error {
		if err := os.MkdirAll(part, 0o777); err != nil {
			return err
		}
		for _, s := range sim.SampleTraces {
			t, err := sim.SampleTrace(s.Name)
			if err == nil {
				err = os.WriteFile(filepath.Join(part, s.Name+".trace"), []byte(t.Text()), 0o666)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// writeSamples copies all files of the samples, and says what it wrote.
func writeSamples(dir string, talk io.Writer) error {
	captures := 0
	for _, s := range samples.List() {
		from, err := samples.Dir(s.Name)
		if err == nil {
			err = copyWhole(filepath.Join(dir, s.Name), from)
		}
		if err != nil {
			return err
		}
		captures += len(s.Captures)
	}
	if err := writeTraces(dir); err != nil {
		return err
	}
	fmt.Fprintf(talk, "tcpwheel: wrote %s of %s as %s, with the truth next to them, and %s as %s\n", quantity.Count(captures, "capture"),
		quantity.Count(len(samples.List()), "sample"), filepath.Join(dir, "*", "*.pcapng.gz"), quantity.Count(len(sim.SampleTraces), "trace"),
		filepath.Join(dir, "traces"))
	return nil
}

// copyWhole makes a complete copy of a directory or none.
func copyWhole(name string, from fs.FS) error {
	return makeWhole(name, func(part string) error { return os.CopyFS(part, from) })
}

// makeWhole makes a complete directory or none: fill makes a temporary one, which it then renames.
func makeWhole(name string, fill func(part string) error) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	part := partOf(name)
	err := fill(part)
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		os.RemoveAll(part)
	}
	return err
}
