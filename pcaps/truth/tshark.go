package truth

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// labels are those of tshark's TCP analysis that concern retransmissions, the most definite first, and how they are called here. The last
// is none of them.
var labels = [...]struct{ field, name string }{
	{"fast_retransmission", "fast"}, {"spurious_retransmission", "spurious"}, {"retransmission", "generic"}, {"out_of_order", "disorder"},
	{"keep_alive", "keep-al."}, {"", "nothing"},
}

// LabelTable counts retransmitted packets by what is true and by tshark's label, and the labels of others in the last row.
type LabelTable [track.Kinds + 1][len(labels)]int

// Write writes the table, without the rows of what there is none of.
func (l *LabelTable) Write(w io.Writer) {
	fmt.Fprintf(w, "%14s", "true \\ label")
	for _, label := range labels {
		fmt.Fprintf(w, "%9s", label.name)
	}
	fmt.Fprintln(w)
	for i := range l {
		if l[i] == [len(labels)]int{} {
			continue
		}
		name := "none"
		if i < track.Kinds {
			name = track.Kind(i).String()
		}
		fmt.Fprintf(w, "%14s", name)
		for k, n := range l[i] {
			if i == track.Kinds && labels[k].field == "" {
				break
			}
			fmt.Fprintf(w, "%9d", n)
		}
		fmt.Fprintln(w)
	}
}

// FindTshark returns the program, "" if it is not installed.
func FindTshark() string {
	name, err := exec.LookPath("tshark")
	if err != nil {
		return ""
	}
	return name
}

// Label has tshark read the capture of a point, and adds its labels to the table.
func (k *Kernels) Label(tshark string, point int, table *LabelTable) error {
	name := pointNames[point] + ".pcapng.gz"
	in, err := k.dir.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := os.CreateTemp("", "tcpwheel-truth-*.pcapng.gz")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, in)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	said, err := tsharkSays(tshark, file.Name())
	if err != nil {
		return err
	}
	r, err := capture.Open(file.Name())
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		label, ok := said[p.Number]
		if !ok {
			label = len(labels) - 1
		}
		kind := track.Kinds
		if f, err := k.flow(p.Src.String(), p.Dst.String()); err == nil {
			if i, ok := f.number(point, p.Time); ok && f.Sent[i].Rexmit {
				kind = int(f.Sent[i].Kind)
			}
		}
		table[kind][label]++
	}
}

// tsharkSays returns the labels by the numbers of the packets, of those that have one.
func tsharkSays(tshark, name string) (map[int64]int, error) {
	args := []string{"-n", "-r", name, "-Y", "tcp.analysis.flags", "-T", "fields", "-e", "frame.number"}
	for _, label := range labels[:len(labels)-1] {
		args = append(args, "-e", "tcp.analysis."+label.field)
	}
	home, err := os.MkdirTemp("", "tcpwheel-truth-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	cmd := exec.Command(tshark, args...)
	cmd.Env = append(os.Environ(), "HOME="+home) // nobody's preferences
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("tshark: %w", err)
	}
	said := map[int64]int{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || len(fields) != len(labels) {
			return nil, fmt.Errorf("tshark: line %q, want %d fields", line, len(labels))
		}
		for i, f := range fields[1:] {
			if f != "" {
				said[n] = i
				break
			}
		}
	}
	return said, nil
}
