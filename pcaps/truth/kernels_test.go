package truth

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
)

// load returns the truth about a sample.
func load(t *testing.T, name string) *Kernels {
	t.Helper()
	dir, err := samples.Dir(name)
	if err != nil {
		t.Fatal(err)
	}
	k, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestKernelsAccuracy checks the accuracy on all samples: kinds right at the sender and in the
// middle 99 %, at the receiver 97 %, with at most one error.
func TestKernelsAccuracy(t *testing.T) {
	sum := Tallies{}
	for _, s := range samples.List() {
		k := load(t, s.Name)
		if k.Unmatched > 0 || k.Release == "" {
			t.Errorf("%s: Linux %q has no cause of %d retransmissions", s.Name, k.Release, k.Unmatched)
		}
		for _, point := range k.Points {
			got, err := k.Compare(point, func(format string, args ...any) { t.Logf(s.Name+": "+format, args...) })
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(got)
		}
	}
	for side, want := range [Sides]float64{99, 99, 97} {
		s := sum.Sum(func(c Class) bool { return c.Side == Side(side) && (c.Side != ReceiverSide || c.Timestamps) })
		// One error is more than 1 %.
		if right, all := s.Episodes.Right(); all < 15 || s.Kinds() < want && all-right > 1 {
			t.Errorf("%v: %d of %d episodes are of the right kind, want %v %%", Side(side), right, all, want)
		}
		if v := &s.Verdicts; v.Precision() < 99 || v.Recall() < 99 {
			t.Errorf("%v: spurious: precision %.2f %%, recall %.2f %%, want 99 %%", Side(side), v.Precision(), v.Recall())
		}
	}
}

// TestCountersAgree compares retransmissions by cause with the kernel's counters. Some probes carry
// new data.
func TestCountersAgree(t *testing.T) {
	for _, name := range []string{"outage", "lost-rexmit-tail", "tail-three", "delay-spike", "no-sack", "handshake"} {
		k := load(t, name)
		var timeouts, probes, packets uint64
		for _, f := range k.Flows {
			if !f.Src.Addr().Less(f.Dst.Addr()) {
				continue
			}
			for _, s := range f.Sent {
				switch {
				case !s.Retransmission:
					continue
				case s.Kind == track.RTO && !s.GoBack, s.Kind == track.SYN:
					timeouts++
				case s.Kind == track.TLP:
					probes++
				}
				packets++
			}
		}
		c := k.Counters["a"]
		if c["TCPTimeouts"] != timeouts || c["TCPLossProbes"] < probes || c["RetransSegs"] != packets {
			t.Errorf("%s: %d timeouts, %d probes, %d packets; the kernel has counted %v", name, timeouts, probes, packets, c)
		}
	}
}

// TestLossesOfSamples expects the losses that the scenarios describe.
func TestLossesOfSamples(t *testing.T) {
	for _, test := range []struct {
		name string
		lost int // sent by a
	}{{"tail-one", 2}, {"tail-three", 6}, {"burst", 17}, {"burst-ipv6", 17}, {"reorder", 0}, {"delay-spike", 0}} {
		lost := 0
		for _, f := range load(t, test.name).Flows {
			for _, s := range f.Sent {
				if !s.Arrived {
					lost++
				}
			}
		}
		if lost != test.lost {
			t.Errorf("%s: %d segments were lost, want %d", test.name, lost, test.lost)
		}
	}
}

// zipped returns a gzip file.
func zipped(t *testing.T, text string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func TestLoadErrors(t *testing.T) {
	const plan, end = `{"record":"plan","epoch_ns":5}`, `{"record":"end"}`
	for _, test := range []struct {
		dir  fs.FS
		want string
	}{
		{fstest.MapFS{}, "not exist"},
		{fstest.MapFS{"fates.jsonl.gz": {Data: []byte("no compressed file")}}, "gzip"},
		{fstest.MapFS{"fates.jsonl.gz": zipped(t, plan)}, "no end"},
		{fstest.MapFS{"fates.jsonl.gz": zipped(t, `{"record":"plan","epoch":5}`+end)}, "no plan with epoch_ns"},
		{fstest.MapFS{"fates.jsonl.gz": zipped(t, plan+"{")}, "unexpected EOF"},
		{fstest.MapFS{"fates.jsonl.gz": zipped(t, plan+`{"record":"packet","tcp":{},"src":"x"}`+end)}, "not an ip:port"},
		{fstest.MapFS{"fates.jsonl.gz": zipped(t, plan+end)}, "kernel.jsonl.gz"},
	} {
		if _, err := Load(test.dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}
