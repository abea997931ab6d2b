package truth

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Points of capture, as in their file names.
const (
	AtA = iota
	InMiddle
	AtB
)

var pointNames = [3]string{"a", "middle", "b"}

// PointName returns "a", "middle" or "b".
func PointName(point int) string { return pointNames[point] }

// Kernels is the truth about captures of connections between two kernels.
type Kernels struct {
	Release  string        // of the kernel
	Late     time.Duration // of the machine at most, while the connections ran
	Points   []int         // points with a capture
	Flows    map[[2]netip.AddrPort]*Flow
	Counters map[string]map[string]uint64 // by side

	// Unmatched counts retransmissions that the kernel's trace does not explain.
	Unmatched int

	dir fs.FS
}

// fate is a line of a link's log.
type fate struct {
	events.Packet
	Epoch wheel.Time `json:"epoch_ns"` // of the plan
}

// identity identifies a packet of a direction on the next link.
type identity struct {
	src, dst, flags      string
	seq, ack, len, tsval uint32
	window               uint16
}

func (e *fate) identity() identity {
	t := e.TCP
	return identity{e.Src, e.Dst, t.Flags, t.Seq, t.Ack, t.Len, t.TSVal, t.Window}
}

// hop is the log of a link: packets to b, and packets to a.
type hop [2][]*fate

// event is a line of kernel.jsonl.
type event struct {
	Record   string            `json:"record"`
	Release  string            `json:"release"`
	Late     time.Duration     `json:"late_ns"`
	At       wheel.Time        `json:"at_ns"`
	Src      string            `json:"src"`
	Dst      string            `json:"dst"`
	Cause    string            `json:"cause"`
	GoBack   bool              `json:"go_back"`
	Side     string            `json:"side"`
	Counters map[string]uint64 `json:"counters"`
}

var causes = map[string]track.Kind{"syn": track.SYN, "rto": track.RTO, "tlp": track.TLP, "fast": track.Fast}

// Load reads what package tun/kerneltruth has written for one scenario.
func Load(dir fs.FS) (*Kernels, error) {
	k := &Kernels{dir: dir, Flows: map[[2]netip.AddrPort]*Flow{}, Counters: map[string]map[string]uint64{}}
	for point, name := range pointNames {
		if _, err := fs.Stat(dir, name+".pcapng.gz"); err == nil {
			k.Points = append(k.Points, point)
		}
	}
	hops := make([]hop, 1, 2)
	if err := hops[0].load(dir, "fates.jsonl.gz"); err != nil {
		return nil, err
	}
	var far hop
	switch err := far.load(dir, "far-fates.jsonl.gz"); {
	case err == nil:
		hops = append(hops, far)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err := k.follow(hops, 0); err != nil {
		return nil, err
	}
	if err := k.follow(hops, 1); err != nil {
		return nil, err
	}
	if err := k.explain(); err != nil {
		return nil, err
	}
	for _, f := range k.Flows {
		f.settleKernel()
	}
	return k, nil
}

// readLines reads a gzip file of JSON lines.
func readLines[T any](dir fs.FS, name string, each func(T) error) error {
	in, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for d := json.NewDecoder(z); ; {
		var line T
		if err := d.Decode(&line); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := each(line); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// load reads the log of a link and makes its times absolute.
func (h *hop) load(dir fs.FS, name string) error {
	var epoch wheel.Time
	ended := false
	err := readLines(dir, name, func(e *fate) error {
		switch {
		case e.Record == "plan":
			epoch = e.Epoch
		case e.Record == "end":
			ended = true
		case e.Record == "packet" && e.TCP != nil:
			e.Sent += epoch
			for i := range e.Arrived {
				e.Arrived[i] += epoch
			}
			d := 0
			if e.Direction == "b-to-a" {
				d = 1
			}
			h[d] = append(h[d], e)
		}
		return nil
	})
	if err == nil && epoch == 0 {
		err = fmt.Errorf("%s: no plan with epoch_ns, want the log of a link of this version", name)
	}
	if err == nil && !ended {
		err = fmt.Errorf("%s: no end, want the log of a link that was closed", name)
	}
	return err
}

// follow traces the packets of a direction from link to link.
func (k *Kernels) follow(hops []hop, direction int) error {
	order := slices.Clone(hops)
	source, sink := AtA, AtB
	if direction == 1 {
		slices.Reverse(order)
		source, sink = sink, source
	}
	var next map[identity][]*fate
	if len(order) == 2 {
		next = map[identity][]*fate{}
		for _, e := range order[1][direction] {
			next[e.identity()] = append(next[e.identity()], e)
		}
	}
	acks, err := k.acks(order[0][1-direction])
	if err != nil {
		return err
	}
	for _, e := range order[0][direction] {
		f, err := k.flow(e.Src, e.Dst)
		if err != nil {
			return err
		}
		path := []*fate{e}
		if next != nil && e.CorruptBit == nil {
			for range e.Arrived {
				if same := next[e.identity()]; len(same) > 0 {
					path = append(path, same[0])
					next[e.identity()] = same[1:]
				}
			}
		}
		t, ok := f.newSent(e, acks[[2]string{e.Src, e.Dst}])
		if !ok {
			continue
		}
		i := len(f.Sent)
		f.note(source, int64(e.Sent), i)
		last := path
		if next != nil {
			last = path[1:]
		}
		if next != nil && direction == 0 {
			for _, at := range e.Arrived {
				f.note(InMiddle, int64(at), i)
			}
		}
		for _, l := range last {
			if next != nil && direction == 1 {
				f.note(InMiddle, int64(l.Sent), i) // the capture is on a's side
			}
			for _, at := range l.Arrived {
				f.note(sink, int64(at), i)
				t.Arrived = t.Arrived || l.CorruptBit == nil
			}
		}
		f.Sent = append(f.Sent, t)
	}
	for _, f := range k.Flows {
		if a := acks[[2]string{f.Src.String(), f.Dst.String()}]; a != nil && len(f.Sent) > 0 {
			f.measure(a)
			f.reports = *a
		}
	}
	return nil
}

// newSent returns the transmission in a line of the first link's log. ok is false without sequence
// space.
func (f *Flow) newSent(e *fate, acks *ackHistory) (t Sent, ok bool) {
	s := e.TCP
	n := s.Len
	for _, flag := range s.Flags {
		if flag == 'S' || flag == 'F' {
			n++
		}
	}
	t = Sent{At: e.Sent, Seq: tcp.Seq(s.Seq), End: tcp.Seq(s.Seq).Add(n), Retransmission: s.Attempt > 1}
	t.una, t.acked = acks.unaAt(e.Sent, t.Seq)
	if i := len(f.Sent) - 1; i >= 0 {
		t.max, t.newData = f.Sent[i].max, f.Sent[i].newData
		if f.Sent[i].End.After(t.max) {
			t.max, t.newData = f.Sent[i].End, f.Sent[i].At
		}
	} else {
		t.una, t.max = t.Seq, t.Seq
	}
	return t, n > 0
}

// flow returns the flow between two ends.
func (k *Kernels) flow(src, dst string) (*Flow, error) {
	a, err := netip.ParseAddrPort(src)
	if err != nil {
		return nil, err
	}
	b, err := netip.ParseAddrPort(dst)
	if err != nil {
		return nil, err
	}
	f := k.Flows[[2]netip.AddrPort{a, b}]
	if f == nil {
		f = newFlow(a, b)
		k.Flows[[2]netip.AddrPort{a, b}] = f
	}
	return f, nil
}

// ackNews is what an ACK told a sender, and when.
type ackNews struct {
	at  wheel.Time
	una tcp.Seq

	// The range of a DSACK.
	twice     bool
	from, end tcp.Seq
}

// ackHistory is the ACKs that told something new.
type ackHistory []ackNews

// acks returns what the packets of the other direction told each sender.
func (k *Kernels) acks(back []*fate) (map[[2]string]*ackHistory, error) {
	type arrival struct {
		at wheel.Time
		e  *fate
	}
	var all []arrival
	for _, e := range back {
		if e.CorruptBit == nil && len(e.Arrived) > 0 && slices.Contains([]byte(e.TCP.Flags), '.') {
			all = append(all, arrival{e.Arrived[0], e})
		}
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return int(max(min(a.at.Sub(b.at), 1), -1)) })
	out := map[[2]string]*ackHistory{}
	for _, a := range all {
		key := [2]string{a.e.Dst, a.e.Src}
		p := out[key]
		if p == nil {
			p = &ackHistory{}
			out[key] = p
		}
		t := ackNews{at: a.at, una: tcp.Seq(a.e.TCP.Ack)}
		t.dsack(a.e.TCP.SACK)
		switch n := len(*p); {
		case n == 0 || t.una.After((*p)[n-1].una):
			*p = append(*p, t)
		case t.twice:
			t.una = (*p)[n-1].una
			*p = append(*p, t)
		}
	}
	return out, nil
}

// unaAt returns SND.UNA at a time, and since when.
func (p *ackHistory) unaAt(at wheel.Time, none tcp.Seq) (tcp.Seq, wheel.Time) {
	if p == nil {
		return none, 0
	}
	i, _ := slices.BinarySearchFunc(*p, at, func(e ackNews, at wheel.Time) int {
		if e.at <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return none, 0
	}
	una := (*p)[i-1].una
	for i > 1 && (*p)[i-2].una == una {
		i--
	}
	return una, (*p)[i-1].at
}

// dsack reads the first block if it reports a duplicate.
func (t *ackNews) dsack(blocks [][2]uint32) {
	var o tcp.Options
	for _, b := range blocks[:min(len(blocks), len(o.SACK))] {
		o.SACK[o.NumSACK] = tcp.SeqRange{Start: tcp.Seq(b[0]), End: tcp.Seq(b[1])}
		o.NumSACK++
	}
	if b, ok := o.DSACK(t.una); ok {
		t.twice, t.from, t.end = true, b.Start, b.End
	}
}

// matchWithin is the largest distance between a retransmission in the kernel's trace and in the
// link's log.
const matchWithin = 25 * time.Millisecond

// explain takes the cause of each retransmission from the kernel's trace.
func (k *Kernels) explain() error {
	events := map[[2]string][]*event{}
	err := readLines(k.dir, "kernel.jsonl.gz", func(e *event) error {
		switch e.Record {
		case "kernel":
			k.Release, k.Late = e.Release, e.Late
		case "counters":
			k.Counters[e.Side] = e.Counters
		case "retransmission":
			key := [2]string{e.Src, e.Dst}
			events[key] = append(events[key], e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range k.Flows {
		all := events[[2]string{f.Src.String(), f.Dst.String()}]
		for i := range f.Sent {
			t := &f.Sent[i]
			if !t.Retransmission {
				continue
			}
			var best *event
			for _, e := range all {
				if best == nil || e.At.Sub(t.At).Abs() < best.At.Sub(t.At).Abs() {
					best = e
				}
			}
			if best == nil || best.At.Sub(t.At).Abs() > matchWithin {
				k.Unmatched++
				continue
			}
			t.Kind, t.GoBack = causes[best.Cause], best.GoBack
		}
	}
	return nil
}
