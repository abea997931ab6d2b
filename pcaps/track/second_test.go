package track

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// secondCaptures are forty more public captures with known recoveries.
const secondCaptures = captures + "/second"

// followed is what a tracker found in a file.
type followed struct {
	byPacket map[int64]*Episode // by the packet of any retransmission
	flows    map[*Episode]*Flow
	kinds    map[int64]EventKind
	stamps   map[int64]wheel.Time
}

func followSecond(t *testing.T, name string) *followed {
	t.Helper()
	r, err := capture.Open(filepath.Join(secondCaptures, name))
	if err != nil {
		t.Logf("%s: %v", name, err)
		return &followed{}
	}
	defer r.Close()
	f := &followed{map[int64]*Episode{}, map[*Episode]*Flow{}, map[int64]EventKind{}, map[int64]wheel.Time{}}
	tr := New(Config{
		Event: func(ev *Event) {
			if ev.Kind != Acked && ev.Kind != RTTSample {
				f.kinds[ev.Packet] = ev.Kind
			}
		},
		Done: func(c *Conn) {
			for i := range c.Flows {
				for _, e := range c.Flows[i].Episodes {
					f.flows[e] = &c.Flows[i]
					for _, rx := range e.Retransmissions {
						f.byPacket[rx.Packet] = e
					}
				}
			}
		},
	})
	for {
		p, err := r.Next()
		if err != nil {
			break
		}
		f.stamps[p.Number] = p.Time
		tr.Add(p)
	}
	tr.Close()
	return f
}

// reason compares a known recovery with what was found: "" if it is within 1 %, else why it is not.
func (f *followed) reason(row map[string]string) string {
	packet, _ := strconv.ParseInt(row["start_frame"], 10, 64)
	e := f.byPacket[packet]
	if e == nil {
		switch f.kinds[packet] {
		case Copy:
			return "copy"
		case Late:
			return "overtaken"
		case SentNew, Keepalive, WindowProbe:
			return "no retransmission"
		}
		return "not used"
	}
	if row["closed"] != "1" {
		return "not repaired in the capture"
	}
	want, _ := strconv.ParseFloat(row["recovery_from_first_tx_s"], 64)
	near := func(got time.Duration) bool { return math.Abs(got.Seconds()-want) <= max(0.01*want, 1e-5) }
	end, _ := strconv.ParseInt(row["end_frame"], 10, 64)
	first, _ := strconv.ParseInt(row["first_tx_frame"], 10, 64)
	byCapture := f.stamps[end].Sub(f.stamps[first])
	switch {
	case near(e.TRec) || near(e.Length):
		return ""
	case e.DetectedPacket != packet:
		return "part of a longer episode"
	case row["view"] != "at_retransmitter" || f.flows[e].Lag() > 0:
		return "sender's clock"
	case e.FirstPacket != first:
		return "another first transmission"
	case !near(byCapture):
		return "ends elsewhere"
	case e.EndedPacket != end && e.AckedPacket != end:
		return "ends with another packet"
	}
	return "unexplained"
}

// TestSecondCaptures reads forty public captures: no panic, at most 128 MB for each, and each known
// recovery within 1 % or different for a reason that this test names.
func TestSecondCaptures(t *testing.T) {
	in, err := os.Open(filepath.Join(secondCaptures, "recovery_events.tsv"))
	if err != nil {
		t.Skipf("no public captures: %v", err)
	}
	defer in.Close()
	table := csv.NewReader(in)
	table.Comma = '\t'
	rows, err := table.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]map[string]string{}
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		known[m["file"]] = append(known[m["file"]], m)
	}
	files, err := os.ReadDir(secondCaptures)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, file := range files {
		name := file.Name()
		if !strings.HasPrefix(name, "h") && !strings.HasPrefix(name, "m") {
			continue
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		f := followSecond(t, name)
		runtime.ReadMemStats(&after)
		if mb := int64(after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc)) >> 20; mb > 128 {
			t.Errorf("%s takes %d MB, want at most 128", name, mb)
		}
		for _, row := range known[name] {
			why := f.reason(row)
			counts[why]++
			if why == "unexplained" {
				e := f.byPacket[must(strconv.ParseInt(row["start_frame"], 10, 64))]
				t.Errorf("%s, packet %s: T_rec %v, episode %v, want %s s", name, row["start_frame"], e.TRec, e.Length, row["recovery_from_first_tx_s"])
			}
		}
	}
	t.Logf("known recoveries: %v", counts)
	if counts[""] < 90 {
		t.Errorf("%d recoveries are within 1 %%, want at least 90", counts[""])
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
