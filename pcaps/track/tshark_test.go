package track

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

// tsharkLabels are those of tshark's TCP analysis that concern retransmissions, the most definite first. "" is none of them.
var tsharkLabels = []string{"fast_retransmission", "spurious_retransmission", "retransmission", "out_of_order", "keep_alive", ""}

// TestAccuracyOfTshark prints what tshark calls the retransmissions of some of the scenarios of TestAccuracy at the sender, beside what
// they are and what is said of them here. It asserts only that the comparison is a fair one: that tshark sees the same packets.
func TestAccuracyOfTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skipf("no tshark: %v", err)
	}
	var table, ours [Kinds][8]int
	none := 0
	for i, policy := range tcptimers.PolicyNames() {
		s := scenario{
			policy: policy, sack: i%2 == 0, stamps: true, rtt: 40 * time.Millisecond, rate: 20_000_000, loss: sim.Losses{sim.Bernoulli{P: 0.06}},
			reorder: 0.01, app: apps[i%2].make, seed: 5000 + uint64(i), span: 5 * time.Minute,
		}
		var b bytes.Buffer
		file, err := sim.NewPcapng(&b, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.AddInterface("", sim.LinkTypeRaw); err != nil {
			t.Fatal(err)
		}
		w := runTo(t, s, file)
		name := filepath.Join(t.TempDir(), "capture.pcapng")
		if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		labels := tsharkSays(t, tshark, name)
		if len(labels) != len(w.packets[atSender]) {
			t.Fatalf("tshark has %d packets, want %d", len(labels), len(w.packets[atSender]))
		}
		for _, e := range w.follow(t, atSender).Episodes {
			for k := range e.Rexmits {
				if tr := w.sent[w.which[atSender][e.Rexmits[k].Packet]]; tr.rexmit {
					ours[tr.kind][e.Rexmits[k].Kind]++
				}
			}
		}
		for number, k := range w.which[atSender] {
			label := labels[number-1]
			if tr := &w.sent[k]; tr.rexmit {
				table[tr.kind][label]++
			} else if tsharkLabels[label] != "" {
				none++
			}
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%8s", "true")
	for _, label := range []string{"fast", "spurious", "generic", "disorder", "keep-al.", "nothing"} {
		fmt.Fprintf(&out, "%9s", label)
	}
	fmt.Fprintf(&out, "  |")
	for kind := range Kinds {
		fmt.Fprintf(&out, "%8s", Kind(kind))
	}
	for kind := range Kinds {
		if table[kind] == [8]int{} {
			continue
		}
		fmt.Fprintf(&out, "\n%8s", Kind(kind))
		for _, n := range table[kind][:len(tsharkLabels)] {
			fmt.Fprintf(&out, "%9d", n)
		}
		fmt.Fprintf(&out, "  |")
		for _, n := range ours[kind][:Kinds] {
			fmt.Fprintf(&out, "%8d", n)
		}
	}
	t.Logf("retransmitted packets by what they are; tshark's labels and those here\n%s\ntshark's labels of first transmissions: %d", &out, none)
}

// tsharkSays returns which label each packet has.
func tsharkSays(t *testing.T, tshark, name string) (labels []int) {
	t.Helper()
	args := []string{"-n", "-r", name, "-T", "fields", "-e", "frame.number"}
	for _, label := range tsharkLabels[:len(tsharkLabels)-1] {
		args = append(args, "-e", "tcp.analysis."+label)
	}
	cmd := exec.Command(tshark, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("tshark: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if n, err := strconv.Atoi(fields[0]); err != nil || n != len(labels)+1 || len(fields) != len(tsharkLabels) {
			t.Fatalf("line %q of tshark", line)
		}
		label := len(tsharkLabels) - 1
		for i, f := range fields[1:] {
			if f != "" {
				label = i
				break
			}
		}
		labels = append(labels, label)
	}
	return labels
}
