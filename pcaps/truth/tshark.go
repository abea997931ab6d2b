package truth

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// labels are tshark's TCP analysis flags about retransmissions, the most specific first, with their
// names here. The last is for none of them.
var labels = [...]struct{ field, name string }{
	{"fast_retransmission", "fast"}, {"spurious_retransmission", "spurious"}, {"retransmission", "generic"}, {"out_of_order", "disorder"},
	{"keep_alive", "keepalive"}, {"", "none"},
}

// LabelTable counts retransmitted packets by true kind and tshark's label; the last row has labels
// of other packets.
type LabelTable [track.Kinds + 1][len(labels)]int

// LabelVerdicts counts retransmitted packets that arrived, by whether they were spurious and
// whether tshark says so.
type LabelVerdicts [2][2]int

// Labels are tshark's labels.
type Labels struct {
	Kinds    LabelTable
	Verdicts LabelVerdicts
}

// Any reports whether there are any labels.
func (l *Labels) Any() bool { return l.Kinds != LabelTable{} }

func (l *Labels) add(o *Labels) {
	for i := range l.Kinds {
		for k := range l.Kinds[i] {
			l.Kinds[i][k] += o.Kinds[i][k]
		}
	}
	for i := range l.Verdicts {
		for k := range l.Verdicts[i] {
			l.Verdicts[i][k] += o.Verdicts[i][k]
		}
	}
}

// count counts the label of a transmission, nil for another packet.
func (l *Labels) count(t *Sent, label int) {
	if t == nil || !t.Retransmission {
		if label < len(labels)-1 {
			l.Kinds[track.Kinds][label]++
		}
		return
	}
	l.Kinds[t.Kind][label]++
	if !t.Arrived {
		return
	}
	truly, said := 0, 0
	if t.Spurious {
		truly = 1
	}
	if labels[label].name == "spurious" {
		said = 1
	}
	l.Verdicts[truly][said]++
}

func (l *LabelTable) columns() (out []column) {
	for k := range labels {
		c := column{head: labels[k].name}
		for i := range l {
			c.rows = append(c.rows, l[i][k])
		}
		out = append(out, c)
	}
	return out
}

func (v *LabelVerdicts) columns() (out []column) {
	for k, name := range [2]string{"no", "yes"} {
		out = append(out, column{name, []int{v[0][k], v[1][k]}})
	}
	return out
}

// LabelNames returns the column names of a LabelTable.
func LabelNames() (names []string) {
	for _, l := range labels {
		names = append(names, l.name)
	}
	return names
}

// FindTshark returns the path of tshark, "" if it is not installed.
func FindTshark() string {
	name, err := exec.LookPath("tshark")
	if err != nil {
		return ""
	}
	return name
}

// Label runs tshark on the capture at a point and returns tallies with nothing but its labels.
func (k *Kernels) Label(tshark string, point int) (Tallies, error) {
	name := pointNames[point] + ".pcapng.gz"
	in, err := k.dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	file, err := os.CreateTemp("", "tcpwheel-truth-*.pcapng.gz")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, in)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	said, err := tsharkSays(tshark, file.Name())
	if err != nil {
		return nil, err
	}
	found := map[*Flow]*Labels{}
	offers := map[*Flow]tcp.Options{}
	err = k.read(point, func(p *capture.Packet) {
		label, ok := said[p.Number]
		if !ok {
			label = len(labels) - 1
		}
		f := k.Flows[[2]netip.AddrPort{p.Src, p.Dst}]
		if f == nil {
			return
		}
		if p.Header.Flags.Has(tcp.SYN) {
			offers[f] = p.Header.Options
		}
		var t *Sent
		if i, ok := f.transmission(point, int64(p.Time)); ok {
			t = &f.Sent[i]
		}
		if found[f] == nil {
			found[f] = &Labels{}
		}
		found[f].count(t, label)
	})
	if err != nil {
		return nil, err
	}
	out := Tallies{}
	for f, l := range found {
		a, b := offers[f], offers[k.Flows[[2]netip.AddrPort{f.Dst, f.Src}]]
		class := Class{Side: f.side(point), SACK: a.SACKPermitted && b.SACKPermitted, Timestamps: a.HasTimestamps && b.HasTimestamps}
		out.of(class).Labels.add(l)
	}
	return out, nil
}

// tsharkSays returns the labels by packet number.
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
	cmd.Env = append(os.Environ(), "HOME="+home) // no user preferences
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
