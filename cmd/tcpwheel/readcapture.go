package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
)

// readCapture passes each TCP segment of a capture to use, which must not keep its payload. The
// name "-" is standard input; "sample:" is the prefix of samples. It shows the progress on a
// terminal. On capture.ErrCutShort, use has had all segments before the cut.
func readCapture(cmd *cobra.Command, name string, use func(*capture.Packet) error) (capture.Stats, error) {
	return readCaptureAndICMP(cmd, name, nil, use)
}

// readCaptureAndICMP is readCapture that also calls tooBig, in file order, for ICMP errors about
// the MTU.
func readCaptureAndICMP(cmd *cobra.Command, name string, tooBig func(capture.TooBig), use func(*capture.Packet) error) (capture.Stats, error) {
	r, err := openCapture(cmd, name)
	if err != nil {
		return capture.Stats{}, err
	}
	defer r.Close()
	r.OnTooBig(tooBig)
	if talk := cmd.ErrOrStderr(); isTerminal(talk) {
		defer showReading(talk, r)()
	}
	// Stop also between two segments: there may be gigabytes of other packets.
	defer context.AfterFunc(cmd.Context(), r.Stop)()
	for {
		p, err := r.Next()
		switch {
		case err == io.EOF:
			return r.Stats(), nil
		case errors.Is(err, capture.ErrStopped):
			return r.Stats(), cmd.Context().Err()
		case err == nil:
			err = use(p)
		}
		if err != nil {
			return r.Stats(), err
		}
	}
}

// samplePrefix begins the names of samples.
const samplePrefix = "sample:"

// sampleCaptures returns one capture of each sample: the sending host's.
func sampleCaptures() (names []string) {
	for _, s := range samples.List() {
		names = append(names, samplePrefix+s.Captures[0])
	}
	return names
}

func openCapture(cmd *cobra.Command, name string) (*capture.Reader, error) {
	if name == "-" {
		return capture.NewReader(cmd.InOrStdin(), "standard input")
	}
	if sample, ok := strings.CutPrefix(name, samplePrefix); ok {
		if i := slices.IndexFunc(samples.List(), func(s samples.Sample) bool { return s.Name == sample }); i >= 0 {
			sample = samples.List()[i].Captures[0]
		}
		f, err := samples.Open(sample)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such sample, see tcpwheel samples", name)
		}
		if err != nil {
			return nil, err
		}
		return capture.NewReader(f, name)
	}
	return capture.Open(name)
}

// showReading updates a progress line until stop, which erases it.
func showReading(w io.Writer, r *capture.Reader) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(500 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-end:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-t.C:
				read, size := r.Progress()
				fmt.Fprintf(w, "\r\x1b[K%s: %s", r.Name(), readingLine(read, size))
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// readingLine shows how much of a file of size bytes is read. A size of -1 is unknown.
func readingLine(read, size int64) string {
	if size <= 0 {
		return fmt.Sprintf("%.1f MB read", float64(read)/1e6)
	}
	return fmt.Sprintf("%d %% of %.1f MB read", 100*read/size, float64(size)/1e6)
}

// unusedPackets lists what a capture has besides TCP, and what it lacks; "" is nothing.
func unusedPackets(s capture.Stats) string {
	var parts []string
	if n := s.Packets - s.TCP; n > 0 {
		var kinds []string
		for _, reason := range capture.Reasons() {
			if n := s.Skipped[reason]; n > 0 {
				kinds = append(kinds, fmt.Sprintf("%d %v", n, reason))
			}
		}
		parts = append(parts, fmt.Sprintf("%d of %d packets are not TCP (%s)", n, s.Packets, strings.Join(kinds, ", ")))
	}
	if s.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("the capture missed %d packets by its own account", s.Dropped))
	}
	return strings.Join(parts, "; ")
}
