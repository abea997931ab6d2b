package track_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truthtest"
	"tcpwheel/wheel"
)

// kernels is the truth about connections between two kernels, as netstack/programs/samples writes
// it: the links' logs have the fate of each packet, and the kernel's trace has the cause of each
// retransmission.
type kernels struct {
	dir       fs.FS
	release   string
	flows     map[[2]string]*truthtest.Flow // by source and destination
	counters  map[string]map[string]uint64  // by side
	unmatched int                           // retransmissions that the kernel's trace does not explain
}

// pointNames are the names of captures by their places from a to b.
var pointNames = [truthtest.Points]string{"a", "middle", "b"}

// passage is a packet on a link.
type passage struct {
	events.Packet
	Epoch time.Time `json:"epoch"` // of the plan
}

// readLines calls each for the lines of a compressed file.
func readLines[T any](t *testing.T, dir fs.FS, name string, each func(T)) {
	t.Helper()
	in, err := dir.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(z); ; {
		var line T
		if err := d.Decode(&line); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		each(line)
	}
}

// link reads the log of a link: the packets with TCP to b, and those to a, with absolute times.
func link(t *testing.T, dir fs.FS, name string) (to [2][]*passage) {
	var epoch events.Seconds // since 1970
	ended := false
	readLines(t, dir, name, func(p *passage) {
		if p.Record == "plan" {
			epoch = events.Seconds(p.Epoch.UnixNano())
		}
		ended = ended || p.Record == "end"
		if p.Record != "packet" || p.TCP == nil {
			return
		}
		p.Sent += epoch
		for i := range p.Arrived {
			p.Arrived[i] += epoch
		}
		d := map[string]int{"b-to-a": 1}[p.Direction]
		to[d] = append(to[d], p)
	})
	if epoch == 0 || !ended {
		t.Fatalf("%s has epoch %d, ended %v: want the log of a link that was closed", name, epoch, ended)
	}
	return to
}

// loadKernels reads the truth about a scenario.
func loadKernels(t *testing.T, dir fs.FS) *kernels {
	t.Helper()
	k := &kernels{dir: dir, flows: map[[2]string]*truthtest.Flow{}, counters: map[string]map[string]uint64{}}
	near := link(t, dir, "fates.jsonl.gz")
	hops := [2][][]*passage{{near[0]}, {near[1]}} // by direction, the first link first
	if _, err := fs.Stat(dir, "far-fates.jsonl.gz"); err == nil {
		far := link(t, dir, "far-fates.jsonl.gz")
		hops = [2][][]*passage{{near[0], far[0]}, {far[1], near[1]}}
	}
	for direction := range hops {
		back := hops[1-direction]
		k.follow(direction, hops[direction], back[len(back)-1])
	}
	k.explain(t)
	for _, f := range k.flows {
		f.Settle()
	}
	return k
}

// follow makes the flows of a direction, whose packets pass one or two links. acks are the packets
// that arrive at its source.
func (k *kernels) follow(direction int, hops [][]*passage, acks []*passage) {
	type identity struct {
		src, dst, flags      string
		seq, ack, len, tsval uint32
		window               uint16
	}
	identify := func(p *passage) identity {
		s := p.TCP
		return identity{p.Src, p.Dst, s.Flags, s.Seq, s.Ack, s.Len, s.TSVal, s.Window}
	}
	next := map[identity][]*passage{} // on the last link, unless there is only one
	for _, p := range hops[len(hops)-1] {
		next[identify(p)] = append(next[identify(p)], p)
	}
	source, sink := truthtest.AtSender, truthtest.AtReceiver // by the captures at a and b
	if direction == 1 {
		source, sink = sink, source
	}
	unas := unasOf(acks)
	for _, p := range hops[0] {
		s := p.TCP
		n := s.Len
		for _, flag := range s.Flags {
			if flag == 'S' || flag == 'F' {
				n++
			}
		}
		if n == 0 {
			continue
		}
		key := [2]string{p.Src, p.Dst}
		f := k.flows[key]
		if f == nil {
			f = &truthtest.Flow{Src: netip.MustParseAddrPort(p.Src)}
			k.flows[key] = f
		}
		i, seq := len(f.Sent), tcp.Seq(s.Seq)
		t := truthtest.Sent{At: wheel.Time(p.Sent), Seq: seq, End: seq.Add(n), Una: unas(key, wheel.Time(p.Sent), seq), Max: seq, Retransmission: s.Attempt > 1}
		if i > 0 {
			t.Max = tcp.MaxSeq(f.Sent[i-1].Max, f.Sent[i-1].End)
		}
		// A probe for a lone segment is due after the timeout's least value, as the timeout is.
		t.InPlace = t.Una == t.Seq && t.Max == t.End
		f.Note(source, int64(p.Sent), i)
		last := []*passage{p}
		if len(hops) == 2 {
			last = nil
			for _, at := range p.Arrived {
				if direction == 0 {
					f.Note(truthtest.InMiddle, int64(at), i)
				}
				if same := next[identify(p)]; len(same) > 0 && p.CorruptBit == nil {
					last, next[identify(p)] = append(last, same[0]), same[1:]
				}
			}
		}
		for _, l := range last {
			if len(hops) == 2 && direction == 1 {
				f.Note(truthtest.InMiddle, int64(l.Sent), i) // the capture is on a's side
			}
			for _, at := range l.Arrived {
				f.Note(sink, int64(at), i)
				t.Arrived = t.Arrived || l.CorruptBit == nil
			}
		}
		f.Sent = append(f.Sent, t)
	}
}

// unasOf returns SND.UNA of a flow at a time, by the ACKs that have arrived, or first.
func unasOf(acks []*passage) func(flow [2]string, at wheel.Time, first tcp.Seq) tcp.Seq {
	all := slices.DeleteFunc(slices.Clone(acks), func(p *passage) bool {
		return p.CorruptBit != nil || len(p.Arrived) == 0 || !bytes.ContainsRune([]byte(p.TCP.Flags), '.')
	})
	slices.SortStableFunc(all, func(a, b *passage) int { return cmp.Compare(a.Arrived[0], b.Arrived[0]) })
	return func(flow [2]string, at wheel.Time, first tcp.Seq) tcp.Seq {
		una, any := first, false
		for _, p := range all {
			if wheel.Time(p.Arrived[0]) > at {
				break
			}
			if ack := tcp.Seq(p.TCP.Ack); p.Src == flow[1] && p.Dst == flow[0] && (!any || ack.After(una)) {
				una, any = ack, true
			}
		}
		return una
	}
}

// matchWithin is the largest distance between a retransmission in the kernel's trace and in the
// link's log.
const matchWithin = 25 * time.Millisecond

// explain takes the cause of each retransmission from the kernel's trace.
func (k *kernels) explain(t *testing.T) {
	type event struct {
		Record, Release, Src, Dst, Cause, Side string
		At                                     time.Time
		GoBack                                 bool `json:"go_back"`
		Counters                               map[string]uint64
	}
	all := map[[2]string][]*event{}
	readLines(t, k.dir, "kernel.jsonl.gz", func(e *event) {
		switch e.Record {
		case "kernel":
			k.release = e.Release
		case "counters":
			k.counters[e.Side] = e.Counters
		case "retransmission":
			all[[2]string{e.Src, e.Dst}] = append(all[[2]string{e.Src, e.Dst}], e)
		}
	})
	causes := map[string]track.Kind{"syn": track.SYN, "rto": track.RTO, "tlp": track.TLP, "fast": track.Fast}
	for key, f := range k.flows {
		for i := range f.Sent {
			s := &f.Sent[i]
			if !s.Retransmission {
				continue
			}
			away := func(e *event) time.Duration { return wheel.Time(e.At.UnixNano()).Sub(s.At).Abs() }
			if len(all[key]) == 0 {
				k.unmatched++
				continue
			}
			e := slices.MinFunc(all[key], func(a, b *event) int { return cmp.Compare(away(a), away(b)) })
			if away(e) > matchWithin {
				k.unmatched++
				continue
			}
			s.Kind, s.GoBack = causes[e.Cause], e.GoBack
			s.InPlace = s.InPlace && s.Kind == track.TLP
		}
	}
}

// compare analyses the captures of the scenario, compares them with the truth, and adds what it
// finds by the point as the flow's sender sees it. It leaves out the receiver without timestamps.
func (k *kernels) compare(t *testing.T, sums *[truthtest.Points]tally, note func(string, ...any)) {
	for i, name := range pointNames {
		place := truthtest.Point(i)
		in, err := k.dir.Open(name + ".pcapng.gz")
		if errors.Is(err, fs.ErrNotExist) {
			continue // no router
		} else if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		r, err := capture.NewReader(in, name)
		if err != nil {
			t.Fatal(err)
		}
		stamps := []wheel.Time{0} // by packet number
		found, stamped := map[[2]string]*track.Flow{}, false
		tr := track.New(track.Config{Done: func(c *track.Conn) {
			for i := range c.Flows {
				f := &c.Flows[i]
				found[[2]string{f.Src.String(), f.Dst.String()}] = f
				stamped = c.Flows[0].SYN.HasTimestamps && c.Flows[1].SYN.HasTimestamps
			}
		}})
		for p, err := r.Next(); err != io.EOF; p, err = r.Next() {
			if err != nil {
				t.Fatal(err)
			}
			for int64(len(stamps)) <= p.Number {
				stamps = append(stamps, p.Time)
			}
			tr.Add(p)
		}
		tr.Close()
		for key, f := range k.flows {
			g := cmp.Or(found[key], &track.Flow{})
			seenAs := place
			if addr := netip.MustParseAddrPort(key[1]).Addr(); addr.Less(f.Src.Addr()) { // from b
				seenAs = truthtest.AtReceiver - place
			}
			if seenAs == truthtest.AtReceiver && !stamped {
				continue
			}
			s := compare(f, g, place, func(packet int64) int64 { return int64(stamps[packet]) }, note)
			if seenAs != truthtest.AtSender {
				s.errors = nil
			}
			sums[seenAs].add(s)
		}
	}
}

// judge checks the sums of scenarios between kernels: kinds are right of 99 % at the sender and in
// the middle, and of 97 % at the receiver, with at most one error, and spurious ones of 99 %.
func judge(t *testing.T, sums *[truthtest.Points]tally) {
	for point, want := range []float64{99, 99, 97} {
		s := &sums[point]
		right, all := s.kinds()
		precision, recall := s.spurious()
		about := fmt.Sprintf("captured at the %v: %d of %d kinds right; spurious: precision %.1f %%, recall %.1f %%",
			truthtest.Point(point), right, all, precision, recall)
		t.Log(about)
		if all < 15 || percent(right, all) < want && all-right > 1 || precision < 99 || recall < 99 {
			t.Errorf("%s: want %v %% of 15 at least, and 99 %%", about, want)
		}
	}
}

// TestSamplesTruth compares the analysis of the samples with the link's log and the kernel's trace.
func TestSamplesTruth(t *testing.T) {
	var sums [truthtest.Points]tally
	lost := map[string]int{} // segments of a
	for _, s := range samples.List() {
		dir, err := samples.Dir(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		k := loadKernels(t, dir)
		if k.unmatched > 0 || k.release == "" {
			t.Errorf("%s: Linux %q has no cause of %d retransmissions", s.Name, k.release, k.unmatched)
		}
		k.compare(t, &sums, logger(t, s.Name))
		lost[s.Name] = k.checkCounters(t, s.Name)
	}
	judge(t, &sums)
	for name, want := range map[string]int{"tail-one": 2, "tail-three": 6, "burst": 17, "burst-ipv6": 17, "reorder": 0, "delay-spike": 0} {
		if lost[name] != want {
			t.Errorf("%s: %d segments were lost, want %d", name, lost[name], want)
		}
	}
}

// TestKernelsTruth makes the samples again, as root, and compares the analysis with the truth.
func TestKernelsTruth(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("long: set TCPWHEEL_LONG=1")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scenarios.json"), samples.Scenarios(), 0o666); err != nil {
		t.Fatal(err)
	}
	maker := exec.CommandContext(t.Context(), "go", "run", "-C", "../../netstack/programs", "./samples", dir)
	if out, err := maker.CombinedOutput(); err != nil {
		for _, missing := range []string{"no tracefs", "operation not permitted", "permission denied", "/dev/net/tun"} {
			if strings.Contains(string(out), missing) {
				t.Skipf("needs root, TUN devices and tracefs: %s", out)
			}
		}
		t.Fatalf("%v: %s", err, out)
	}
	var sums [truthtest.Points]tally
	unmatched := 0
	for _, s := range samples.List() {
		k := loadKernels(t, os.DirFS(filepath.Join(dir, s.Name)))
		unmatched += k.unmatched
		k.compare(t, &sums, logger(t, s.Name))
	}
	t.Logf("the kernel's trace does not explain %d retransmissions", unmatched)
	judge(t, &sums)
}

// checkCounters compares retransmissions of a by cause with the kernel's counters, where these are
// of a alone, and returns how many of a's segments were lost. Some probes carry new data.
func (k *kernels) checkCounters(t *testing.T, name string) (lost int) {
	var timeouts, probes, packets uint64
	for key, f := range k.flows {
		if netip.MustParseAddrPort(key[1]).Addr().Less(f.Src.Addr()) {
			continue
		}
		for _, s := range f.Sent {
			if !s.Arrived {
				lost++
			}
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
	c := k.counters["a"]
	if slices.Contains([]string{"outage", "lost-rexmit-tail", "tail-three", "delay-spike", "no-sack", "handshake"}, name) &&
		(c["TCPTimeouts"] != timeouts || c["TCPLossProbes"] < probes || c["RetransSegs"] != packets) {
		t.Errorf("%s: %d timeouts, %d probes, %d packets; the kernel has counted %v", name, timeouts, probes, packets, c)
	}
	return lost
}
