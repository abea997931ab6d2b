package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/experiments/spelling"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
)

// readCapture passes each TCP segment of a capture to use, which must not keep its payload, and
// with failed ICMP errors about segments, in file order. It shows the progress of a file that is read
// alone on a terminal. On capture.ErrCutShort, use has had all segments before the cut.
func readCapture(cmd *cobra.Command, o *captureFile, alone bool, failed func(capture.ICMPError), use func(*capture.Packet) error) (capture.Stats, error) {
	r, done, err := openCapture(cmd, o)
	if err != nil {
		return capture.Stats{}, err
	}
	defer done()
	if alone {
		status := statusLine{w: cmd.ErrOrStderr()}
		status.start(func(time.Duration) string {
			read, size := r.Progress()
			return r.Name() + ": " + readingLine(read, size)
		})
		defer status.stop()
	}
	// Stop also between two segments: there may be gigabytes of other packets.
	defer context.AfterFunc(cmd.Context(), r.Stop)()
	r.OnICMPError(failed)
	for err == nil {
		var p *capture.Packet
		if p, err = r.Next(); err == nil {
			err = use(p)
		}
	}
	switch {
	case err == io.EOF:
		err = nil
	case errors.Is(err, capture.ErrStopped):
		err = cmd.Context().Err()
	}
	return r.Stats(), err
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

// openCapture opens a capture. done closes it.
func openCapture(cmd *cobra.Command, o *captureFile) (r *capture.Reader, done func(), err error) {
	var in io.ReadCloser
	name := o.Name
	switch {
	case name == "-":
		in, name = io.NopCloser(cmd.InOrStdin()), "standard input"
	case strings.HasPrefix(name, samplePrefix):
		in, err = openSample(name)
	default:
		in, err = os.Open(name)
	}
	if err != nil {
		return nil, nil, err
	}
	if r, err = capture.NewReader(in, name); err != nil {
		in.Close()
		return nil, nil, err
	}
	return r, func() { r.Close(); in.Close() }, nil
}

func sampleNames() (names []string) {
	for _, s := range samples.List() {
		names = append(names, s.Name)
	}
	return names
}

// prefixed returns samples' file names as commands take them.
func prefixed(names []string) (all []string) {
	for _, name := range names {
		all = append(all, samplePrefix+name)
	}
	return all
}

func openSample(name string) (io.ReadCloser, error) {
	sample := strings.TrimPrefix(name, samplePrefix)
	if i := slices.IndexFunc(samples.List(), func(s samples.Sample) bool { return s.Name == sample }); i >= 0 {
		sample = samples.List()[i].Captures[0]
	}
	f, err := samples.Open(sample)
	if errors.Is(err, fs.ErrNotExist) {
		if likely, ok := spelling.Nearest(strings.Split(sample, "/")[0], sampleNames()); ok {
			return nil, fmt.Errorf("%s: no such sample, did you mean %s%s?", name, samplePrefix, likely)
		}
		return nil, fmt.Errorf("%s: no such sample, see tcpwheel samples", name)
	}
	return f, err
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
